"""What the figures of a trial are made of: what its result folder keeps, and what several figures take from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2
from biodyn.output.figures.cycles import CycleCurves, curves_by_variable
from biodyn.output.figures.uncertainty import Bands, torque_bands
from biodyn.variables import Norms, usual_norms


@dataclass(frozen=True)
class TrialValues:
    """The values of `run.json`, the tables by name, the arrays of `result.npz`."""

    record: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    arrays: Mapping[str, np.ndarray]

    @property
    def mass_kg(self) -> float:
        """Body mass."""
        return float(self.record["subject"]["mass_kg"])

    @property
    def weight_n(self) -> float:
        """Body weight."""
        return self.mass_kg * STANDARD_GRAVITY_M_S2

    @property
    def walking(self) -> bool:
        """Whether the person walks, as those of the norms did; results of versions that did not ask say so too."""
        return bool(self.record.get("activity", {}).get("kind", "walking") == "walking")

    @cached_property
    def curves(self) -> dict[str, dict[str, CycleCurves]]:
        """Cycles by variable and side, in the signs people are shown."""
        return curves_by_variable(self.tables["gait_cycles"])

    @cached_property
    def bands(self) -> Bands:
        """One standard deviation of the torques' input errors by variable and side; empty where it was not computed."""
        if "joint_torques_sd" not in self.tables:
            return {}
        return torque_bands(self.tables["joint_torques_sd"], self.tables["spatiotemporal"], self.mass_kg)

    @cached_property
    def norms(self) -> tuple[Norms, ...]:
        """The published groups drawn behind the curves; none where nobody walks, for theirs are of people who do."""
        return usual_norms() if self.walking else ()

    @cached_property
    def foot_off_percent(self) -> dict[str, float]:
        """Mean foot off of each side in per cent of its cycles, NaN where unknown."""
        table = self.tables["spatiotemporal"]
        sides = table["side"].astype(str)
        return {side: float(table.loc[sides == side, "stance_percent"].mean()) for side in SIDES}
