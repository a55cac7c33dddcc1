"""What leaves biodyn: tables, figures, pages and result folders, made of finished values.

In comes a `TrialAnalysis`; out go pandas tables, matplotlib figures, HTML pages and a folder that can be read again.
Nothing here computes biomechanics, and nothing but `store` touches the disk.

Read `tables` (numbers, one function a table), `figures` (drawings of those tables), `report` (a page is a list of
sections, each with its words, tables and figures) and `store` (the result folder: what is written, by which version, and
how older ones are read). Each imports only those named before it; a table, a figure and a section are one file each.
"""
