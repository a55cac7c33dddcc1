"""Output of an analysis: tables, figures, reports and result folders.

In: a `TrialAnalysis`. Out: pandas tables, matplotlib figures, HTML pages and a result folder that can be read again. No
biomechanics is computed here, and only `store` writes to disk.

Read `tables` (one function per table), `figures` (descriptions of drawings of these tables), `report` (pages that consist of
sections with text, tables and figures), then `store` (files of a result folder, and readers of older versions). Each package
imports only the preceding ones. Each table, figure and section is one function.
"""
