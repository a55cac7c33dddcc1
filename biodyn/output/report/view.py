"""What a report is made of: exactly what a result folder keeps, so that it can be made again from one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.analysis import TrialAnalysis
from biodyn.library.load import UserFile
from biodyn.output.figures.description import Figure
from biodyn.output.figures.svg import picture, svg
from biodyn.output.figures.trial import trial_figures
from biodyn.output.figures.values import TrialValues
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

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Descriptions of all figures by name, in the order of the report."""
        return trial_figures(TrialValues(self.record, self.tables, self.arrays))

    def figures_svg(self) -> dict[str, Markup]:
        """All figures as they stand in a page, those that a replay left after the others."""
        replayed = {} if self.replay is None else self.replay.figures
        drawn = {name: svg(figure) for name, figure in self.figures.items()}
        return drawn | {f"replay_{name}": picture(png, f"Forward replay, {name}") for name, png in replayed.items()}

    def figures_png(self, dpi: int) -> dict[str, bytes]:
        """All figures as PNG, drawn one after the other."""
        from biodyn.output.figures.matplotlib_backend import png

        return {name: png(figure, dpi) for name, figure in self.figures.items()}
