"""What a page is made of: exactly what a result folder keeps, so that it can be made again from one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.library.load import UserFile
from biodyn.output.figures.curves import TrialValues, display_table
from biodyn.output.figures.description import Figure
from biodyn.output.figures.svg import picture, svg
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

    `user_files`: the user's own files it was made with, to be copied beside a new result. `model_file`: the .osim file of an
    imported model, `motion_file`: its coordinates (.mot) where they were estimated. See `store.view.view_of`.
    """

    record: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    arrays: Mapping[str, np.ndarray]
    replay: ReplayView | None = None
    user_files: tuple[UserFile, ...] = ()
    model_file: bytes | None = None
    motion_file: bytes | None = None

    @cached_property
    def values(self) -> TrialValues:
        """What the figures are made of."""
        return TrialValues(self.record, self.tables, self.arrays)

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Descriptions of all figures by name, in the order of the report."""
        return trial_figures(self.values)

    def figures_svg(self) -> dict[str, Markup]:
        """All figures as they stand in a page, those that a replay left after the others.

        Figures over the cycle are not among them: the page has the standard grid and further panels instead.
        """
        replayed = {} if self.replay is None else self.replay.figures
        instead = {figure["name"] for figure in display_table()["figure"]} if self.values.curves else set()
        drawn = {name: svg(figure) for name, figure in self.figures.items() if name not in instead}
        return drawn | {f"replay_{name}": picture(png, f"Forward replay, {name}") for name, png in replayed.items()}

    def figures_png(self, dpi: int) -> dict[str, bytes]:
        """All figures as PNG."""
        from biodyn.output.figures.png import png

        return {name: png(figure, dpi) for name, figure in self.figures.items()}
