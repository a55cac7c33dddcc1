"""Parameters of the strides of one trial, as its table `spatiotemporal` has them: text, or packed where it is long."""

from __future__ import annotations

from pathlib import Path

from biodyn.errors import ResultError
from biodyn.output.store.read import TABLE_READERS

STRIDES_NAME = "tables/spatiotemporal.csv"  # in the folder of a trial
_TIMES = ("start_s", "foot_off_s", "end_s")  # within the trial: no parameters of the stride


def read_strides(path: Path) -> dict[tuple[str, int], dict[str, float]]:
    """Read spatiotemporal.csv of a trial, or its packed form: (side, cycle) -> parameters of the stride.

    Nothing where there is no file. Raises ResultError where it is no such table.
    """
    try:
        for suffix, read in TABLE_READERS.items():
            if path.with_suffix(suffix).is_file():
                rows = read(path.with_suffix(suffix).read_bytes()).to_dict("records")
                return {
                    (str(row["side"]), int(row["cycle"])): {
                        str(name): float(value) for name, value in row.items() if name not in ("side", "cycle", *_TIMES)
                    }
                    for row in rows
                }
    except (OSError, KeyError, ValueError, TypeError) as error:
        folder = path.parent.parent
        raise ResultError(
            f"'{STRIDES_NAME}' of trial '{folder.name}' cannot be read.",
            f"Remove the folder '{folder.name}' and run the study again.",
        ) from error
    return {}
