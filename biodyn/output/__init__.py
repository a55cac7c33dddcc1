"""Output of an analysis: tables, figures, reports and result folders.

In: a `TrialAnalysis`. Out: pandas tables, matplotlib figures, HTML pages and a result folder that can be read again. No
biomechanics is computed here, and only `store` writes to disk.

Read `tables` (one function a table), `figures` (descriptions of drawings made from these tables), `report` (pages made of
sections, each with text, tables and figures), then `store` (the files of a result folder, and the readers of older
versions). Each package imports only those before it. A table, a figure and a section are one function each.
"""
