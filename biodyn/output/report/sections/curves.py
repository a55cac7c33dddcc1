"""Sections with the 3-D view, curves over the gait cycle (standard page, further panels, powers by plane), and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, WHOLE_CYCLE, FloatArray, Side
from biodyn.library.tables import segment_title
from biodyn.output.figures.curves import (
    CycleCurves,
    cycle_count_text,
    cycle_keys,
    cycle_panel,
    display_table,
    is_stance_known,
    percent_axis,
    unit_label,
)
from biodyn.output.figures.description import Axis, Line, Panel
from biodyn.output.figures.style import BAND, report_setting
from biodyn.output.figures.svg import Described, further_panels_grid, standard_grid, standard_page_variables
from biodyn.output.report.comparison_page import cursor_sides, variable_entry
from biodyn.output.report.formatted_parameters import format_decimal, round_for_page, windowed_parameter_rows
from biodyn.output.report.page import Data, load_resource, script_json
from biodyn.output.report.scene import SCENE_TEMPLATE, SEEN, scene_context, scene_explanation
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.variables import PERCENT, Norms, is_known_variable, variable
from biodyn.variables.cycle_parameters import nan_statistics


@SECTIONS.section("scene", place=15, title="The walk in 3-D", link="3-D", css="scene beside", template=SCENE_TEMPLATE)
def scene_section(page: TrialPage) -> Data | None:
    """Return the motion and its script; None if the result holds no motion."""
    if page.scene is None:
        return None
    (person,) = page.scene["persons"]
    plates = len(page.view.arrays["plate_numbers"])
    words = scene_explanation(person, page.uses_segment_poses, plates, filtered=not page.record.get("estimate"))
    return scene_context(page.scene, SEEN, words, hidden_dots=page.uses_segment_poses)


@SECTIONS.section(
    "standard", place=16, title="Motion and loads over the gait cycle", link="Curves", css="new-page standard"
)
def standard_page_section(page: TrialPage) -> Data | None:
    """Return the standard grid with its legend; None without gait cycles."""
    names = [name for name in standard_page_variables() if name in page.curves]
    if not names:
        return None
    view = page.view
    return {
        "grid": standard_grid(names, lambda name: describe_panel(page, name), cycle_keys(names, view.norms)),
        "counted": cycle_counts_text(page.curves),
        "normed": any(name in norms.curves for norms in view.norms for name in names),
        "shaded": any(name in view.bands for name in names),
        "unmeasured": unmeasured_segments(page),
        "fixed": report_setting(page.record, "axes") != "auto",
        "script": load_resource("cursor.js"),
    }


def unmeasured_segments(page: TrialPage) -> str:
    """Return the titles of the segments without markers; "" if all have markers."""
    return ", ".join(map(segment_title, page.record["model"].get("carried_segments") or ()))


def describe_panel(page: TrialPage, name: str) -> Described:
    """Return the panel of a variable, and its extremes in words."""
    view, sides = page.view, page.curves[name]
    definition = variable(name)
    if report_setting(page.record, "axes") == "auto":
        definition = replace(definition, scale=())
    panel = cycle_panel(definition, sides, view.foot_off_percent, view.norms, "", view.bands.get(name, {}))
    (row,) = curve_ranges({name: sides}, [name], view.foot_off_percent)
    words = [f"{row['label']}, {row['unit']}"]
    for side in SIDES:
        extremes = row[side]
        if extremes is None:
            has_cycles = side in sides and len(sides[side].values)
            words.append(f"{SIDE_NAMES[side]}: {'not measured in stance' if has_cycles else 'no valid cycle'}")
        else:
            words.append(
                f"{SIDE_NAMES[side]}, {cycle_count_text(sides.get(side))} cycles: highest {extremes['max']} at "
                f"{extremes['max_at']} %, lowest {extremes['min']} at {extremes['min_at']} %"
            )
    return panel, "; ".join(words)


def cycle_counts_text(curves: Mapping[str, Mapping[str, CycleCurves]]) -> str:
    """Return the number of cycles by side: "motion: right 2, left 2; loads: right 1 (2 in part), left 2", and how many of them
    are drawn if not all.

    A cycle with known stance and swing counts as complete, a cycle with unknown stance as partial. Its end may be missing:
    the next strike begins a stance that need not hit a plate.
    """
    parts = []
    for part in ("motion", "loads"):
        rows = [row["panels"] for row in display_table()["standard"] if row["side"] == part]
        names = [name for panels in rows for name in panels if name in curves]
        if names:
            parts.append(f"{part}: {', '.join(_cycle_counts_of_side(curves, names, side) for side in SIDES)}")
    most = display_table()["most_single"]
    if any(len(cycles.values) > most for sides in curves.values() for cycles in sides.values()):
        parts.append(f"drawn: {most} of each side, evenly spaced")
    return "; ".join(parts)


def _cycle_counts_of_side(curves: Mapping[str, Mapping[str, CycleCurves]], names: Iterable[str], side: Side) -> str:
    shares = [np.isfinite(curves[name][side].values).mean(axis=1) for name in names if side in curves[name]]
    complete = _count_range_text(int((share >= WHOLE_CYCLE).sum()) for share in shares)
    partial = _count_range_text(int((share < WHOLE_CYCLE).sum()) for share in shares)
    return f"{SIDE_NAMES[side]} {complete}" + (f" ({partial} in part)" if partial != "0" else "")


def _count_range_text(counts: Iterable[int]) -> str:
    ordered = sorted(set(counts)) or [0]
    return str(ordered[0]) if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


@SECTIONS.section("curves", place=17, template="{{ picture(figure) }}")
def time_curves_section(page: TrialPage) -> list[Data]:
    """Return a section per figure of angles, moments and powers through time, for a trial without gait cycles."""
    return [
        {"name": figure["name"], "title": figure["title"], "figure": figure["name"]}
        for figure in display_table()["figure"]
        if figure["name"] in page.figures
    ]


@SECTIONS.section("further", place=18, title="Trunk and arms, windowed parameters", folded=True)
def further_curves_section(page: TrialPage) -> Data | None:
    """Return panels of variables that are not on the standard page, and the windowed parameters of all curves."""
    names = [name for figure in display_table()["figure"] for name in figure["panels"] if name in page.curves]
    listed = list(dict.fromkeys([*(name for name in standard_page_variables() if name in page.curves), *names]))
    if not listed:
        return None
    heads = ["parameter", "unit", *(f"#{SIDE_NAMES[side]}" for side in SIDES)]
    others = [name for name in names if name not in standard_page_variables()]
    return {
        "grid": further_panels_grid(others, lambda name: describe_panel(page, name)),
        "heads": heads,
        "rows": windowed_parameter_rows(page.view),
    }


def curve_ranges(
    curves: Mapping[str, Mapping[str, CycleCurves]], names: Sequence[str], foot_off_percent: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Return maximum and minimum of the mean curve of each side, with the per cent of the cycle at which they occur.

    A side is None if its curve is not known in stance. "whole" is False for an incomplete curve, which may lack its extremes.
    """
    rows = []
    for name in names:
        if name not in curves:
            continue
        known, unit = variable(name), next(iter(curves[name].values())).unit
        row: dict[str, Any] = {"label": known.title, "unit": f"{unit_label(unit)}, {known.positive} +"}
        for side in SIDES:
            curve = curves[name].get(side)
            if curve is None or not is_stance_known(curve, foot_off_percent.get(side, np.nan)):
                row[side] = None
                continue
            # rounded, so that the first of two equal peaks is named for numbers from memory and from files
            mean, digits = np.round(curve.mean, 4), 1 if unit == "deg" else 2
            high, low = int(np.nanargmax(mean)), int(np.nanargmin(mean))
            row[side] = {
                "max": format_decimal(mean[high], digits),
                "max_at": high,
                "min": format_decimal(mean[low], digits),
                "min_at": low,
                "whole": bool(np.isfinite(mean).all()),
            }
        rows.append(row)
    return rows


@SECTIONS.section("explorer", place=30, title="Interactive curves", css="explorer", folded=True)
def explorer_section(page: TrialPage) -> Data | None:
    """Return the values of the interactive chart and its script; None without gait cycles."""
    if not page.curves:
        return None
    with_spread = (norms for norms in page.view.norms if any(curve.sd is not None for curve in norms.curves.values()))
    band = next(with_spread, None)
    return {
        "band": band,
        "curves": script_json(explorer_data(page.curves, page.tables["spatiotemporal"], band)),
        "script": load_resource("explorer.js"),
    }


def explorer_data(
    curves: Mapping[str, Mapping[str, CycleCurves]], strides: pd.DataFrame, band: Norms | None = None
) -> dict[str, Any]:
    """Return mean and SD of each variable over the cycle, rounded, the band of the norms, and the times of the cycles."""
    listing = []
    for name, sides in curves.items():
        if not any(len(curve.values) for curve in sides.values()):
            continue
        entry = variable_entry(name, next(iter(sides.values())).unit)
        digits = entry["digits"]
        for side, curve in sides.items():
            mean, sd = nan_statistics(curve.values)
            entry[side] = {
                "n": len(curve.values),
                "mean": round_for_page(mean, digits),
                "sd": round_for_page(sd, digits),
            }
        norm = None if band is None else band.curves.get(name)
        half = None if norm is None else norm.half_width
        if norm is not None and half is not None:
            centre = variable(name).clinical_factor(SIDES[0]) * norm.mean
            entry["norm"] = {
                "low": round_for_page(centre - half, digits),
                "high": round_for_page(centre + half, digits),
            }
        listing.append(entry)
    return {
        "variables": listing,
        "start": display_table()["overview"]["angles"][0],
        "sides": cursor_sides(),
        "cycles": strides[["side", "start_s", "end_s"]].to_numpy().tolist(),
        "band": {"name": "" if band is None else f"{band.short}, {band.band}", "color": BAND},
    }


@SECTIONS.section("power-parts", place=19, title="Joint powers by plane", folded=True)
def power_parts_section(page: TrialPage, min_power_w_kg: float = 0.05) -> Data | None:
    """Return panels of the joints that rotate in more than one plane; None without cycles.

    Joints with a power below `min_power_w_kg` in all planes are only named.
    """
    if "joint_power_parts" not in page.tables or not page.curves:
        return None
    powers = [name for name in page.curves if name.endswith("_power") and is_known_variable(name)]
    powers.sort(key=lambda name: name not in standard_page_variables())  # hip, knee and ankle first
    strides = page.tables["spatiotemporal"]
    sides_of, bounds = strides["side"].astype(str).to_numpy(), strides[["start_s", "end_s"]].to_numpy(dtype=np.float64)
    bounds_s: dict[str, FloatArray] = {side: bounds[sides_of == side] for side in SIDES}
    planes = ("sagittal", "frontal", "transverse")
    panels: dict[str, dict[str, FloatArray]] = {}
    names, omitted = [], []
    for power in powers:
        joint = {
            f"{power}-{plane}": _mean_powers(page, power.removesuffix("_power"), plane, bounds_s) for plane in planes
        }
        joint = {name: sides for name, sides in joint.items() if sides}
        if len(joint) < 2:
            continue
        panels |= joint
        if max(float(np.nanmax(np.abs(mean))) for sides in joint.values() for mean in sides.values()) >= min_power_w_kg:
            names += [*joint, *[""] * (len(planes) - len(joint))]  # one row per joint
        else:
            omitted.append(variable(power).title.removesuffix(" power").lower())
    if not panels:
        return None
    grid = further_panels_grid(names, lambda name: _power_panel(name, panels[name]))
    return {"grid": grid, "small": ", ".join(omitted), "least": min_power_w_kg}


def _mean_powers(page: TrialPage, joint: str, plane: str, bounds_s: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the mean power (101,) of a joint in a plane over the cycles by side, W/kg; sides without values are omitted.

    Args:
        bounds_s: (N, 2) start and end of the cycles by side.
    """
    table = page.tables["joint_power_parts"]
    time_s = table["time_s"].to_numpy(dtype=np.float64)
    means: dict[str, FloatArray] = {}
    for side in SIDES:
        column = next((name for name in (f"{joint}_{side}_{plane}_W", f"{joint}_{plane}_W") if name in table), None)
        if column is None or not len(bounds_s[side]):
            continue
        values = table[column].to_numpy(dtype=np.float64) / page.view.mass_kg
        cycles = [np.interp(start + (end - start) * PERCENT / 100.0, time_s, values) for start, end in bounds_s[side]]
        mean = nan_statistics(np.stack(cycles))[0]
        if np.isfinite(mean).any():
            means[side] = mean
    return means


def _power_panel(name: str, sides: dict[str, FloatArray]) -> Described:
    power, _, plane = name.partition("-")
    title = f"{variable(power).title}, {plane}"
    names = {side: SIDE_NAMES[side] for side in SIDES if side in sides}
    words = [f"{names[side]}: {np.nanmin(sides[side]):.3g} to {np.nanmax(sides[side]):.3g}" for side in names]
    layers = tuple(Line(PERCENT, sides[side], names[side], 2.0) for side in names)
    return Panel(title, percent_axis(), Axis("W/kg", holds=(0.0,), grid=True), layers), "; ".join([title, *words])


@SECTIONS.section("trial", place=60, title="The whole trial", folded=True, template="{{ pictures('trial') }}")
def whole_trial_section(page: TrialPage) -> Data | None:
    """Return no values, because the template has none, or None if there are no figures of the whole trial."""
    return {} if page.figures_by_section.get("trial") else None


@SECTIONS.section(
    "fit", place=70, title="Marker tracking error and pelvis residual", folded=True, template="{{ pictures('fit') }}"
)
def fit_section(page: TrialPage) -> Data | None:
    """Return no values, because the template has none, or None if there are no figures of tracking errors and residuals."""
    return {} if page.figures_by_section.get("fit") else None


@SECTIONS.section("own_figures", place=75, folded=True, template="{{ picture(name) }}")
def separate_figures_section(page: TrialPage) -> list[Data]:
    """Return name and title of each figure that is not assigned to a section; each is shown in a separate section."""
    return [{"name": name, "title": page.view.figures[name].title} for name in page.figures_by_section.get("", ())]
