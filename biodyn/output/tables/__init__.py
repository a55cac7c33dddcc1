"""Tables of a trial as pandas DataFrames, with one function per table.

In: a `TrialAnalysis`. Out: a DataFrame with units in its column names; missing values are NaN, never zero. A function marked
with `@table` (name, place, description, and a condition for optional tables) is a table. All modules of this package are
searched, so a new file with such a function adds `tables/<name>.csv`, which `biodyn.load` reads, and an attribute of results.

Read `registry.py` (definition and list of tables), `time_series.py` (one row per frame), `gait.py` (events, contacts,
cycles, parameters, estimate), `optional_tables.py` (contributions, uncertainty, sensitivity, comparison, replay),
`table_access.py` (tables as attributes; meaning, units and signs of columns), `csv.py` (CSV files) and
`parquet_tables.py` (Parquet files, and the packed tables of version 0.2).
"""

from biodyn.output.tables.csv import write_csv
from biodyn.output.tables.registry import TABLES, Table, available_tables, table
from biodyn.output.tables.table_access import trial_tables

__all__ = ["TABLES", "Table", "available_tables", "table", "trial_tables", "write_csv"]
