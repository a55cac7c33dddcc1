"""What all benchmarks share: arguments, data, simulated sessions, turns, tables, other trees, and the record of the numbers.

A benchmark asks (`arguments`), finds recordings (`data`) or simulates a session (`sessions`), measures (`timing`), prints
(`tables`), and adds each headline number to a `Record`. Its `close` prints the machine and every number beside that of the
last run that was asked for the same on the same kind of machine, and keeps them as JSON in benchmarks/results/. What is held
against an older version runs in a process of its own with that tree on the path (`trees`). `coverage` counts how often the
bands of simulated people hold.

Read in this order: record, timing, data, sessions, people, arguments, tables, trees, coverage.
"""

import sys

from common.arguments import ask, parser_of
from common.data import (
    REPOSITORY,
    files_below,
    real_recordings,
    recordings_at_hand,
    reference_vectors,
    sample_walks,
    walks_below,
)
from common.people import someone
from common.record import Record, environment, environment_line
from common.sessions import RECORDED, Walker, analyse_session, record_session, recorded_sessions, write_session
from common.tables import Table, markdown_row, per_cent, tell
from common.timing import Stopwatch, Timing, take_turns
from common.trees import commit_tree, environment_of, in_tree

# What tests share (tests/support) serves benchmarks too: `from support import ...` behind `from common import ...`.
sys.path.append(str(REPOSITORY / "tests"))

__all__ = [
    "RECORDED",
    "REPOSITORY",
    "Record",
    "Stopwatch",
    "Table",
    "Timing",
    "Walker",
    "analyse_session",
    "ask",
    "commit_tree",
    "environment",
    "environment_line",
    "environment_of",
    "files_below",
    "in_tree",
    "markdown_row",
    "parser_of",
    "per_cent",
    "real_recordings",
    "record_session",
    "recorded_sessions",
    "recordings_at_hand",
    "reference_vectors",
    "sample_walks",
    "someone",
    "take_turns",
    "tell",
    "walks_below",
    "write_session",
]
