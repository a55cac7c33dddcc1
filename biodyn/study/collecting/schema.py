"""Columns of the tidy data set."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

SCHEMA_VERSION: Final = 1

#: Texts repeat over thousands of rows: a row holds the number of its word.
WORD: Final = pa.dictionary(pa.int32(), pa.string())

#: What the plan says of a trial; added when the trials are collected, so that a new label needs no new analysis.
LABELS: Final = ("subject", "session", "condition", "group", "site", "trial")
#: Of these, what data sets of earlier versions do not hold: "" in all of their rows.
LATER_LABELS: Final = ("site",)

#: Row for row `TrialResult.gait_cycles`, then whether the value is known and, if not, why.
CYCLE_FIELDS: Final = (
    pa.field("cycle", pa.int32(), nullable=False),
    pa.field("side", WORD, nullable=False),
    pa.field("percent", pa.float32(), nullable=False),  # 0, 1, ... 100: exact in single precision
    pa.field("variable", WORD, nullable=False),
    pa.field("value", pa.float64()),  # missing is null, which every reader understands as missing
    pa.field("unit", WORD, nullable=False),
    pa.field("valid", pa.bool_(), nullable=False),
    pa.field("reason", WORD, nullable=False),  # "" where valid
)
CYCLE_COLUMNS: Final = tuple(field.name for field in CYCLE_FIELDS)

DATA_SET_SCHEMA: Final = pa.schema([*(pa.field(name, WORD, nullable=False) for name in LABELS), *CYCLE_FIELDS])
DATA_SET_COLUMNS: Final = tuple(DATA_SET_SCHEMA.names)
#: Columns of words, in the order of the data set.
WORD_COLUMNS: Final = tuple(field.name for field in DATA_SET_SCHEMA if field.type == WORD)
#: Alike in all rows of a row group, which holds trials of one subject: a reader sees from them what it can skip.
PRUNING_COLUMNS: Final = ("subject", "group")
#: Of these, that whose smallest and largest word each row group's statistics tell: to find them takes longer than to encode it.
STATISTICS_COLUMN: Final = "subject"

UNITS_NOTE: Final = (
    "value is in the unit of its row: angles deg, moments Nm/kg, powers W/kg, ground reaction in body weights (BW); "
    "percent of the gait cycle from foot strike (0) to the next of the same side (100)"
)
