"""The tables of a trial: numbers as pandas, one function a table; nothing here touches disk but `write_csv`.

In comes a `TrialAnalysis`, out goes a DataFrame whose columns say their units; missing is NaN, never zero.
A table is one function marked with `@table` (name, place, description, and for tables on request what they need and how
they are asked for). Modules of this package are looked through for them: a new file with such a function is a new table,
written to `tables/<name>.csv`, read back by `biodyn.load` and an attribute of every result.

Read `registry.py` (what a table is, and their list), then `time_series.py` (a row a frame), `gait.py` (events, contacts,
cycles, parameters, the estimate), `on_request.py`, `differences.py` (of a comparison and of a forward replay), `lazy.py` (tables
as attributes of a result; meaning, units and signs of columns), `csv.py` (tables as text) and `packed.py` (as Parquet).
`packed_0_2.py` reads the packed tables of version 0.2.
"""

from biodyn.output.tables.csv import write_csv
from biodyn.output.tables.lazy import trial_tables
from biodyn.output.tables.registry import TABLES, Table, table, tables_of

__all__ = ["TABLES", "Table", "table", "tables_of", "trial_tables", "write_csv"]
