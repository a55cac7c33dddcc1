"""What a page is made of: exactly what a result folder keeps, so that it can be made again from one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from biodyn.library.load import UserFile
from biodyn.output.figures.style import figure_png
from biodyn.output.figures.trial import trial_figures


@dataclass(frozen=True)
class ReplayView:
    """What `biodyn replay` left in a result folder.

    Attributes:
        record: the values of `replay.json`.
        drift, feedback: its tables.
        figures: PNGs by name (drift, feedback, convergence).
        animation: path of the animation from the report, "" if none was made.
    """

    record: Mapping[str, Any]
    drift: pd.DataFrame
    feedback: pd.DataFrame
    figures: Mapping[str, bytes]
    animation: str


@dataclass(frozen=True)
class TrialView:
    """Record (`run.json`), tables by name and arrays (`result.npz`) of a trial; `replay` where it was replayed.

    `user_files`: the user's own files it was made with, to be copied beside a new result. See `store.view.view_of`.
    """

    record: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    arrays: Mapping[str, np.ndarray]
    replay: ReplayView | None = None
    user_files: tuple[UserFile, ...] = ()

    def figures(self) -> dict[str, Callable[[], Figure]]:
        """Makers of all figures by name, see `figures.trial.trial_figures`."""
        return trial_figures(self.record, self.tables, self.arrays)

    def figures_png(self, dpi: int) -> dict[str, bytes]:
        """All figures as PNG, drawn one after the other."""
        return {name: figure_png(make(), dpi) for name, make in self.figures().items()}
