"""Where everything lies in a result folder, and which version of it this program writes."""

from __future__ import annotations

# 2: lists the files that were written with it; `verdict` and `verdict_checks` instead of `status`, in today's words
# (output/store/old_words.py).
RECORD_VERSION = 2
RECORD_NAME = "run.json"
#: Where `run.json` lists the files that were written with it.
FILES_ENTRY = "files"
#: Where `run.json` holds the hash of the rest of itself.
DIGEST_ENTRY = "record_sha256"
#: No part of what a record says; version 0.2 wrote the second one.
DIGESTS = (DIGEST_ENTRY, "looked_at_sha256")
TIMINGS_ENTRY = "timings_s"

#: Where `run.json` says what kind of result it is, if not a walk's; and the kind of the torques of an OpenSim model alone.
KIND_ENTRY = "kind"
COORDINATES = "coordinates"

ARRAYS_NAME = "result.npz"
#: The OpenSim model of a trial on one, scaled or estimated where it was.
MODEL_NAME = "model.osim"
#: Its coordinates where they were estimated with it.
MOTION_NAME = "coordinates.mot"
REPORT_NAME = "report.html"
PAPER_NAME = "report.pdf"
TABLES_FOLDER = "tables"
FIGURES_FOLDER = "figures"
#: Copies of the user's own files.
INPUTS_FOLDER = "inputs"

#: Where a replay lies in its result folder, and the names of its files.
REPLAY_FOLDER = "replay"
REPLAY_RECORD = "replay.json"
REPLAY_ANIMATION = "replay.gif"
REPLAY_FIGURES = ("drift", "feedback", "convergence")


CSV_SUFFIX, PACKED_SUFFIX = ".csv", ".parquet"


def table_path(name: str) -> str:
    """Path of a table in the folder, as text."""
    return f"{TABLES_FOLDER}/{name}{CSV_SUFFIX}"


def packed_table_path(name: str) -> str:
    """Path of a table in the folder where it is packed (`output.tables`)."""
    return f"{TABLES_FOLDER}/{name}{PACKED_SUFFIX}"
