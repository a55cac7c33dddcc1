"""What the figures of a trial are made of: what its result folder keeps, and what several figures take from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, Side
from biodyn.output.figures.cycles import CycleCurves, curves_by_variable
from biodyn.output.figures.uncertainty import TORQUE_SD, Bands, torque_bands
from biodyn.variables import Norms
from biodyn.variables.norm_record import norms_of_record, reasons_of_record


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
    def speed_m_s(self) -> float:
        """Mean walking speed over the cycles of both sides, NaN without one."""
        return float(self.tables["spatiotemporal"]["speed_m_s"].mean())

    @cached_property
    def norms(self) -> tuple[Norms, ...]:
        """The norms that fit the person and the walk; none where none fits, or where the person does not walk."""
        return norms_of_record(self.record, self.speed_m_s)

    @property
    def norm_reasons(self) -> tuple[str, ...]:
        """Why these norms, or none, in sentences."""
        return reasons_of_record(self.record, self.speed_m_s)

    @property
    def walking(self) -> bool:
        """Whether the person walks, as those of the norms did; results of versions that did not ask say so too."""
        return bool(self.record.get("activity", {}).get("kind", "walking") == "walking")

    @property
    def sides(self) -> tuple[Side, ...]:
        """Sides whose ground reaction the tables hold: an imported model may have no foot that is known."""
        return tuple(side for side in SIDES if f"measured_{side}" in self.tables["ground_reaction"])

    def coordinate(self, variable: str, side: str) -> tuple[str, float]:
        """Name of the coordinate that a variable without side is, and the factor to the variable's sign ("" for the middle)."""
        for name, entry in self.record["model"].get("variables", {}).items():
            if entry["variable"] == variable and entry["side"] == side:
                return str(name), float(entry["sign"])
        return f"{variable}_{side}" if side else variable, 1.0

    @cached_property
    def curves(self) -> dict[str, dict[str, CycleCurves]]:
        """Cycles by variable and side, in the signs people are shown."""
        return curves_by_variable(self.tables["gait_cycles"])

    @cached_property
    def bands(self) -> Bands:
        """One standard deviation of the torques' input errors by variable and side; empty where it was not computed."""
        if "joint_torques_sd" not in self.tables:
            return {}
        table = self.tables["joint_torques_sd"]
        for name, entry in self.record["model"].get("variables", {}).items():
            usual = f"{entry['variable']}_{entry['side']}" if entry["side"] else entry["variable"]
            table = table.rename(columns={f"{name}{TORQUE_SD}": f"{usual}{TORQUE_SD}"})
        return torque_bands(table, self.tables["spatiotemporal"], self.mass_kg, self.curves)

    @cached_property
    def foot_off_percent(self) -> dict[str, float]:
        """Mean foot off of each side in per cent of its cycles, NaN where unknown."""
        table = self.tables["spatiotemporal"]
        sides = table["side"].astype(str)
        return {side: float(table.loc[sides == side, "stance_percent"].mean()) for side in SIDES}
