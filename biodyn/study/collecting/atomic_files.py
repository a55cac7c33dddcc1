"""Files of a study's output folder take their names when all of them are whole."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from biodyn.errors import ResultError


@contextmanager
def written_beside(out: Path, names: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Yield temporary siblings by name; they take their names at the end, and a name that was not written is removed.

    On an error they are removed and older files stay. Raises ResultError where the disk does not take them.
    """
    parts = {name: out / f".{name}.part" for name in names}
    try:
        for part in parts.values():
            part.unlink(missing_ok=True)  # of a run that was killed
        yield parts
        for name, part in parts.items():
            if part.exists():
                os.replace(part, out / name)
            else:
                (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise ResultError(
            f"The results in '{out}' cannot be written: {error.strerror or error}.",
            "Make room or choose another --out, and run the study again: trials that are done are kept.",
        ) from error
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
