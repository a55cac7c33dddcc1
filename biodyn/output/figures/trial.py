"""All figures of a trial from its record, tables and arrays: what is in a result folder, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from biodyn.conventions import SIDES
from biodyn.output.figures.contributions import torque_contributions_figure
from biodyn.output.figures.cycles import curves_by_variable, cycle_figure
from biodyn.output.figures.display import display_table
from biodyn.output.figures.ground import centre_of_pressure_figure, ground_reaction_figure
from biodyn.output.figures.overview import whole_trial_figure
from biodyn.output.figures.quality import marker_error_figure, residual_figure
from biodyn.output.figures.sensitivity import sensitivity_figure
from biodyn.output.figures.uncertainty import Bands, torque_bands
from biodyn.variables import usual_norms

Tables = Mapping[str, pd.DataFrame]
Arrays = Mapping[str, np.ndarray]
Record = Mapping[str, Any]
# Tables that not every result has, by the figures drawn from them: older versions wrote fewer, some come on request.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "marker_errors": ("marker_errors",),
    "torque_parts": ("joint_torque_parts",),
    "sensitivity": ("sensitivity",),
}


def trial_figures(record: Record, tables: Tables, arrays: Arrays) -> dict[str, Callable[[], Figure]]:
    """Return a maker of every figure by name, in the order of the report; nothing is drawn before a maker is called.

    Args:
        record: the values of `run.json`.
        tables: the trial's tables by name.
        arrays: those of `result.npz`.

    Figures of which the skeleton has no variable, or of whose table the result has none, are not offered.
    """
    table = display_table()
    mass_kg = float(record["subject"]["mass_kg"])
    band, line = usual_norms()
    curves = curves_by_variable(tables["gait_cycles"])
    foot_off = foot_off_percent(tables["spatiotemporal"])
    bands: Bands = {}
    if "joint_torques_sd" in tables:
        bands = torque_bands(tables["joint_torques_sd"], tables["spatiotemporal"], mass_kg)
    makers: dict[str, Callable[[], Figure]] = {}

    def over_cycle(names: list[str]) -> Callable[[], Figure]:
        return lambda: cycle_figure(curves, names, foot_off, band, line, bands)

    for figure in table["figure"]:
        if not curves or any(name in curves for name in figure["panels"]):
            makers[figure["name"]] = over_cycle(figure["panels"])
    ground = table["stance_figure"]
    makers[ground["name"]] = lambda: ground_reaction_figure(
        tables["ground_reaction"], tables["events"], ground["panels"], mass_kg
    )
    makers["centre_of_pressure"] = lambda: centre_of_pressure_figure(
        dict(zip(arrays["plate_numbers"].tolist(), arrays["plate_corners_W"], strict=True)),
        tables["ground_reaction"],
        tables["contacts"],
        arrays["contact_soles_W"],
    )
    limits = record["settings"]["limits"]
    makers["marker_errors"] = lambda: marker_error_figure(
        tables["marker_errors"], limits["marker_rms_m"], limits["marker_max_m"]
    )
    residual = record["residual_limits"]
    makers["residual"] = lambda: residual_figure(
        tables["joint_torques"],
        tables["ground_reaction"],
        np.nan if residual["force_n"] is None else residual["force_n"],
        np.nan if residual["moment_nm"] is None else residual["moment_nm"],
    )
    overview = table["overview"]
    makers["torque_parts"] = lambda: torque_contributions_figure(
        tables["joint_torque_parts"], tables["spatiotemporal"], overview["moments"], mass_kg
    )
    makers[overview["name"]] = lambda: whole_trial_figure(
        tables["joint_angles"],
        tables["joint_torques"],
        tables["ground_reaction"],
        tables["contacts"],
        force=ground["panels"][0],
        angles=overview["angles"],
        moments=overview["moments"],
        mass_kg=mass_kg,
    )
    makers["sensitivity"] = lambda: sensitivity_figure(tables["sensitivity"], overview["moments"])
    return {name: make for name, make in makers.items() if all(table in tables for table in _NEEDED.get(name, ()))}


def foot_off_percent(spatiotemporal: pd.DataFrame) -> dict[str, float]:
    """Mean foot off of each side in per cent of its cycles, NaN where unknown."""
    sides = spatiotemporal["side"].astype(str)
    return {side: float(spatiotemporal.loc[sides == side, "stance_percent"].mean()) for side in SIDES}
