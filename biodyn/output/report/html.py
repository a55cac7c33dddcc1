"""`report.html`: one file, no network, made from what the result folder keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.output.figures.cycles import CycleCurves, curves_by_variable, nan_statistics, unit_words
from biodyn.output.figures.display import display_table
from biodyn.output.figures.style import BAND, SIDE_COLORS
from biodyn.output.figures.trial import by_section
from biodyn.output.report.data_checks import data_check_rows, frames_words
from biodyn.output.report.methods import methods
from biodyn.output.report.page import page_environment, resource, script_json
from biodyn.output.report.replay import replay_section
from biodyn.output.report.sensitivity import sensitivity_heads, sensitivity_rows
from biodyn.output.report.uncertainty import uncertainty_rows
from biodyn.output.report.view import TrialView
from biodyn.variables import is_known, usual_norms, variable

# Units at the end of a parameter's name, longest first.
_UNITS = {
    "_steps_min": "steps/min",
    "_m_s": "m/s",
    "_percent": "% of the cycle",
    "_deg": "degrees",
    "_s": "s",
    "_m": "m",
}
# Units at the end of an evidence column's name, longest first: as shown, and the factor to it.
_EVIDENCE_UNITS = {
    "_m_s": ("m/s", 1.0),
    "_bw": ("body weights", 1.0),
    "_m": ("cm", 100.0),
    "_s": ("s", 1.0),
    "_n": ("N", 1.0),
}
# Parameters whose column name is not the field's name.
_TITLES = {"toe_out": "Foot progression angle (toe-out +)"}
_NOT_PARAMETERS = ("side", "cycle", "start_s", "foot_off_s", "end_s")


def trial_report(view: TrialView, figures: Mapping[str, Markup]) -> str:
    """Return the page of a trial; `figures` are what stands in the page, by the names of `view.figures_svg`."""
    record, tables = view.record, view.tables
    curves = curves_by_variable(tables["gait_cycles"])
    band, line = usual_norms()
    return (
        page_environment()
        .get_template("trial.html.j2")
        .render(
            record=record,
            sides=[(side, SIDE_NAMES[side], SIDE_COLORS[side]) for side in SIDES],
            figures=figures,
            figures_in=by_section(view.figures),
            titles={name: figure.title for name, figure in view.figures.items()},
            captions={name: figure.caption for name, figure in view.figures.items()},
            data_checks=data_check_rows(record),
            frames_words=lambda frames: frames_words(frames, float(record["input"]["rate_hz"])),
            replay=None if view.replay is None else replay_section(view.replay),
            cycle_figures=[figure for figure in display_table()["figure"] if figure["name"] in figures],
            peaks={figure["name"]: curve_ranges(curves, figure["panels"]) for figure in display_table()["figure"]},
            contacts=contact_rows(tables["contacts"]),
            parameters=parameter_rows(tables["spatiotemporal"]),
            headline=headline(tables["spatiotemporal"]),
            cycle_counts={side: int((tables["spatiotemporal"]["side"].astype(str) == side).sum()) for side in SIDES},
            uncertainty=uncertainty_rows(record.get("uncertainty")),
            sensitivity=sensitivity_rows(tables),
            sensitivity_heads=sensitivity_heads(),
            conventions=convention_rows(curves),
            methods=methods(record),
            norms=(band, line),
            explorer=script_json(explorer_data(curves)),
            style=resource("style.css"),
            script=resource("explorer.js"),
        )
    )


def explorer_data(curves: Mapping[str, Mapping[str, CycleCurves]]) -> dict[str, Any]:
    """Mean and spread of every variable over the cycle, rounded, for the page's own chart."""
    band, _ = usual_norms()
    listing = []
    for name, sides in curves.items():
        if not any(len(curve.values) for curve in sides.values()):
            continue
        shown = variable(name)
        unit = next(iter(sides.values())).unit
        digits = 1 if unit == "deg" else 3
        entry: dict[str, Any] = {
            "name": name,
            "label": shown.title if is_known(name) else name,
            "axis": f"{unit_words(unit)}, {shown.positive} +",
            "digits": digits,
        }
        for side, curve in sides.items():
            mean, sd = nan_statistics(curve.values)
            entry[side] = {"n": len(curve.values), "mean": _rounded(mean, digits), "sd": _rounded(sd, digits)}
        norm = band.curves.get(name)
        if norm is not None and norm.sd is not None:
            centre = shown.clinical(SIDES[0]) * norm.mean
            entry["norm"] = {"low": _rounded(centre - norm.sd, digits), "high": _rounded(centre + norm.sd, digits)}
        listing.append(entry)
    sides_data = {side: {"name": SIDE_NAMES[side], "color": SIDE_COLORS[side]} for side in SIDES}
    return {
        "variables": listing,
        "start": display_table()["overview"]["angles"][0],
        "sides": sides_data,
        "band": {"name": f"{band.short}, {band.band}", "color": BAND},
    }


def curve_ranges(curves: Mapping[str, Mapping[str, CycleCurves]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Largest and smallest value of each side's mean curve, with the per cent of the cycle at which it occurs."""
    rows = []
    for name in names:
        if name not in curves:
            continue
        shown, unit = variable(name), next(iter(curves[name].values())).unit
        row: dict[str, Any] = {"label": shown.title, "unit": f"{unit_words(unit)}, {shown.positive} +"}
        for side in SIDES:
            curve = curves[name].get(side)
            if curve is None or not np.isfinite(curve.mean).any():
                row[side] = None
                continue
            # Rounded, so that of two equal peaks the first is named whether the numbers come from memory or from files.
            mean, digits = np.round(curve.mean, 4), 1 if unit == "deg" else 2
            high, low = int(np.nanargmax(mean)), int(np.nanargmin(mean))
            row[side] = {
                "max": f"{mean[high]:.{digits}f}",
                "max_at": high,
                "min": f"{mean[low]:.{digits}f}",
                "min_at": low,
                # Extremes of a curve that is not whole need not be those of the gait.
                "whole": bool(np.isfinite(mean).all()),
            }
        rows.append(row)
    return rows


def parameter_rows(spatiotemporal: pd.DataFrame) -> list[dict[str, Any]]:
    """Mean ± SD and number of cycles of every spatio-temporal parameter, one column per side."""
    rows = []
    for name in spatiotemporal.columns:
        if name in _NOT_PARAMETERS:
            continue
        label, unit = parameter_label(str(name))
        row: dict[str, Any] = {"label": label, "unit": unit}
        for side in SIDES:
            values = spatiotemporal.loc[spatiotemporal["side"].astype(str) == side, name].dropna().to_numpy(dtype=float)
            row[side] = _mean_sd(values, unit)
        rows.append(row)
    return rows


def parameter_label(name: str) -> tuple[str, str]:
    """Words and unit of a parameter from its column name, e.g. ("Stride length", "m")."""
    for suffix, unit in _UNITS.items():
        if name.endswith(suffix):
            stem = name.removesuffix(suffix)
            return _TITLES.get(stem, stem.replace("_", " ").capitalize()), unit
    return name.replace("_", " ").capitalize(), ""


def headline(spatiotemporal: pd.DataFrame) -> list[tuple[str, str, str]]:
    """The few numbers of the head: (label, value, unit), means over all cycles of both sides."""
    found = []
    for name in ("speed_m_s", "cadence_steps_min", "stride_length_m"):
        values = spatiotemporal[name].dropna().to_numpy(dtype=float)
        label, unit = parameter_label(name)
        digits = 0 if unit == "steps/min" else 2
        found.append((label, f"{values.mean():.{digits}f}" if len(values) else "–", unit))
    return found


def contact_rows(contacts: pd.DataFrame) -> list[dict[str, Any]]:
    """Contacts as shown: times, decision, reason, and the evidence in words."""
    evidence = [
        name for name in contacts.columns if name not in ("plate", "side", "start_s", "end_s", "decision", "reason")
    ]
    rows = []
    for contact in contacts.to_dict("records"):
        side = str(contact["side"]) if isinstance(contact["side"], str) else ""
        known = [(name, float(contact[name])) for name in evidence if pd.notna(contact[name])]
        rows.append(
            {
                "plate": int(contact["plate"]),
                "side": SIDE_NAMES.get(side, "–"),
                "color": SIDE_COLORS.get(side, ""),
                "time": f"{contact['start_s']:.2f} – {contact['end_s']:.2f}",
                "decision": str(contact["decision"]),
                "reason": contact["reason"] if isinstance(contact["reason"], str) else "",
                "evidence": [evidence_words(str(name), value) for name, value in known],
            }
        )
    return rows


def evidence_words(name: str, value: float) -> str:
    """A number of a contact's evidence from its column name, with its unit, e.g. "beyond the plate 1.2 cm"."""
    for suffix, (unit, factor) in _EVIDENCE_UNITS.items():
        if name.endswith(suffix):
            words = name.removesuffix(suffix).replace("_", " ").replace("overhang", "beyond the plate")
            words = words.replace("sole", "foot outline")
            return f"{words} {factor * value:.3g} {unit}".replace(" 95 ", " (95th percentile) ").replace("cop", "CoP")
    return f"{name.replace('_', ' ')} {value:.3g}"


def convention_rows(curves: Mapping[str, Mapping[str, CycleCurves]]) -> list[dict[str, str]]:
    """Every shown variable of this trial: its name in the tables, what + means there and on the figures."""
    rows = []
    for name, sides in curves.items():
        if not is_known(name):
            continue
        shown = variable(name)
        if shown.mirrored:
            relation = "as in the tables for one side, reversed for the other"
        else:
            relation = "as in the tables" if shown.clinical_sign > 0 else "reversed"
        rows.append(
            {
                "name": name,
                "label": shown.title,
                "unit": unit_words(next(iter(sides.values())).unit),
                "positive": f"{shown.positive} +",
                "relation": relation,
            }
        )
    return rows


def _mean_sd(values: FloatArray, unit: str) -> dict[str, Any] | None:
    if not len(values):
        return None
    digits = 1 if unit.startswith("%") or unit in ("degrees", "steps/min") else 2
    sd = f"{values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return {"mean": f"{values.mean():.{digits}f}", "sd": sd, "n": len(values)}


def _rounded(values: FloatArray, digits: int) -> list[float | None]:
    return [round(value, digits) + 0.0 if np.isfinite(value) else None for value in values.tolist()]
