"""A result folder as people use it from Python: what it holds, and what can be made of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from biodyn.output.store.read import StoredResult

if TYPE_CHECKING:
    from biodyn.trial.export import Export


class LoadedResult(StoredResult):
    """A trial's result as it lies in its folder, whatever version wrote it; it is exported as one that was just made."""

    def export(self, to: str, folder: str | Path | None = None, *, convention: str = "", force: bool = False) -> Export:
        """Write it for another program: opensim, c3d, mat or xlsx; see `biodyn.trial.export.export`.

        folder: where to; None = beside the result folder.
        """
        from biodyn.trial.export import export

        return export(self, to, folder, convention=convention, force=force)


def load(result_dir: str | Path) -> LoadedResult:
    """Open a result folder of `biodyn run`, of this or an older version, also of a run on an OpenSim model.

    Returns the result with the same tables as `run_trial`'s: `load(folder).joint_torques`.
    Raises ResultError where the folder is no result, lacks or damaged a file, or was written by a newer biodyn.
    """
    return LoadedResult(result_dir)
