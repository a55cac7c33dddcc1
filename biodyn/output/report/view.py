"""What a report is made of: exactly what a result folder keeps, so that it can be made again from one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from biodyn.analysis import TrialAnalysis
from biodyn.library.load import UserFile
from biodyn.output.figures.style import figure_png
from biodyn.output.figures.trial import trial_figures
from biodyn.output.report.record import result_arrays, run_record
from biodyn.output.report.replay import ReplayView
from biodyn.output.tables import trial_tables


@dataclass(frozen=True)
class TrialView:
    """Record (`run.json`), tables by name and arrays (`result.npz`) of a trial; `replay` where it was replayed.

    `user_files`: the user's own files it was made with, to be copied beside a new result.
    """

    record: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    arrays: Mapping[str, np.ndarray]
    replay: ReplayView | None = None
    user_files: tuple[UserFile, ...] = ()

    @classmethod
    def of(cls, analysis: TrialAnalysis) -> TrialView:
        """Everything of an analysis that is kept."""
        return cls(run_record(analysis), trial_tables(analysis), result_arrays(analysis), None, analysis.user_files)

    def figures(self) -> dict[str, Callable[[], Figure]]:
        """Makers of all figures by name, see `plots.trial.trial_figures`."""
        return trial_figures(self.record, self.tables, self.arrays)

    def figures_png(self, dpi: int) -> dict[str, bytes]:
        """All figures as PNG, drawn one after the other."""
        return {name: figure_png(make(), dpi) for name, make in self.figures().items()}
