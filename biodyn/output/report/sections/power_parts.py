"""Joint powers by plane over the gait cycle: in which plane a joint generates and absorbs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.curves import nan_statistics, percent_axis
from biodyn.output.figures.description import Axis, Line, Panel
from biodyn.output.figures.svg import Described, further_grid, standard_names
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.variables import PERCENT, is_known, variable

_LEAST_W_KG = 0.05  # of a joint in any plane: below it is nothing that anybody reads
_PLANES = ("sagittal", "frontal", "transverse")
_TEMPLATE = """
<p class="quiet small">Mean over the cycles, right blue, left orange. Torque times rate of the joint's axes in each plane, divided by body mass,
generation +; the parts add up to the joint's power.{% if small %} Joints of less than {{ least }} W/kg are left out: {{ small }}.{% endif %}</p>
{{ grid }}
"""


@SECTIONS.section("power-parts", place=19, title="Joint powers by plane", folded=True, template=_TEMPLATE)
def power_parts(page: TrialPage) -> Data | None:
    """Panels of the joints that turn in more than one plane; None without cycles, and for results of before."""
    if "joint_power_parts" not in page.tables or not page.curves:
        return None
    table, strides = page.tables["joint_power_parts"], page.tables["spatiotemporal"]
    cycles: dict[str, FloatArray] = {
        side: strides.loc[strides["side"].astype(str) == side, ["start_s", "end_s"]].to_numpy(dtype=np.float64)
        for side in SIDES
    }
    powers = [name for name in page.curves if name.endswith("_power") and is_known(name)]
    powers.sort(key=lambda name: name not in standard_names())  # hip, knee and ankle first
    curves = {
        f"{name}-{plane}": own
        for name in powers
        for plane in _PLANES
        if (own := _means(table, cycles, name.removesuffix("_power"), plane, page.view.values.mass_kg))
    }
    parts = {power: [name for name in curves if name.startswith(f"{power}-")] for power in powers}
    several = {power: names for power, names in parts.items() if len(names) > 1}
    if not several:
        return None
    largest = {
        power: max(float(np.nanmax(np.abs(mean))) for name in names for mean in curves[name].values())
        for power, names in several.items()
    }
    # a row a joint: a joint of two planes leaves its third place empty
    shown = [name for power, names in several.items() if largest[power] >= _LEAST_W_KG for name in _row(names)]
    small = [variable(power).title.removesuffix(" power").lower() for power in several if largest[power] < _LEAST_W_KG]
    return {
        "grid": further_grid(shown, lambda name: _panel(name, curves[name])),
        "small": ", ".join(small),
        "least": _LEAST_W_KG,
    }


def _row(names: list[str]) -> list[str]:
    return [*names, *[""] * (len(_PLANES) - len(names))]


def _means(
    table: pd.DataFrame, cycles: Mapping[str, FloatArray], joint: str, plane: str, mass_kg: float
) -> dict[str, FloatArray]:
    """Mean (101,) over the `cycles`, begin and end (n, 2) by side, W/kg; sides without the column, or without a known value, are left out."""
    found: dict[str, FloatArray] = {}
    time_s = table["time_s"].to_numpy(dtype=np.float64)
    for side in SIDES:
        column = next((name for name in (f"{joint}_{side}_{plane}_W", f"{joint}_{plane}_W") if name in table), None)
        if column is None or not len(cycles[side]):
            continue
        values = table[column].to_numpy(dtype=np.float64) / mass_kg
        whole = [
            np.interp(start + (end - start) * PERCENT / 100.0, time_s, values)  # what is unknown stays so
            for start, end in cycles[side]
        ]
        mean = nan_statistics(np.stack(whole))[0]
        if np.isfinite(mean).any():
            found[side] = mean
    return found


def _panel(name: str, sides: dict[str, FloatArray]) -> Described:
    power, _, plane = name.partition("-")
    title = f"{variable(power).title}, {plane}"
    words = [
        f"{SIDE_NAMES[side]}: {np.nanmin(mean):.3g} to {np.nanmax(mean):.3g}"  # type: ignore[index]
        for side, mean in sides.items()
    ]
    layers = tuple(Line(PERCENT, mean, SIDE_NAMES[side], 2.0) for side, mean in sides.items())  # type: ignore[index]
    return Panel(title, percent_axis(), Axis("W/kg", holds=(0.0,), grid=True), layers), "; ".join([title, *words])
