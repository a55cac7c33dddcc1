"""A result folder as people use it from Python: what it holds, and what can be made of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from biodyn.output.store.read import StoredResult

if TYPE_CHECKING:
    from biodyn.trial.export import Export


class LoadedResult(StoredResult):
    """A trial's result from its folder, of this or an older version."""

    def export(self, to: str, folder: str | Path | None = None, *, convention: str = "", force: bool = False) -> Export:
        """Write it for another program: opensim, c3d, mat or xlsx; see `biodyn.trial.export.export`.

        folder: where to; None = next to the result folder.
        """
        from biodyn.trial.export import export

        return export(self, to, folder, convention=convention, force=force)
