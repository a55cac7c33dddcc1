"""Sections on corrections and certainty: balance, residuals, subject model, uncertainty, sensitivity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.library.tables import segment_title
from biodyn.output.figures.curves import display_table
from biodyn.output.figures.trial.quality import level_title
from biodyn.output.report.formatted_parameters import format_decimal, format_signed
from biodyn.output.report.page import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.variables import variable


@SECTIONS.section("balance", place=75, title="Corrections of the balance", folded=True)
def balance_section(page: TrialPage) -> Data | None:
    """Return residuals before and after, corrections of coordinates and masses; None if the coordinates were not estimated."""
    record = page.record.get("balance")
    if record is None:
        return None
    ((trunk, shift),) = record["centre_shift_m"].items()
    masses = sorted(record["mass_change_share"].items(), key=lambda item: -abs(item[1]))
    moved = sorted(record["moved_rms"].items(), key=lambda item: -item[1])
    after = page.record["residual_rms"]
    return {
        "trunk": segment_title(trunk),
        "measured": "markers" if record.get("from") == "markers" else "given coordinates",
        "residual": [
            (name, f"{before:.2f}", f"{after.get(name, math.nan):.2f}")
            for name, before in record["residual_rms_before"].items()
        ],
        "moved": [(name, f"{rms:.3g}", f"{record['moved_max'][name]:.3g}") for name, rms in moved],
        "masses": ", ".join(f"{100.0 * share:+.1f} % ({segment_title(name)})" for name, share in masses[:4]),
        "shift": ", ".join(f"{1000.0 * component:+.0f}" for component in shift),
    }


@SECTIONS.section("residuals", place=78, title="Residuals", folded=True)
def residuals_section(page: TrialPage) -> Data | None:
    """Return the raw residual, the remaining one and the corrections of the estimate; None without an estimate.

    Coordinates are listed for the largest changes of torque.
    """
    estimate: Mapping[str, Any] | None = page.record.get("estimate")
    if not estimate:
        return None
    stages = {"raw": estimate["residual_raw"]}
    if estimate.get("residual_unclosed"):
        stages["estimated"] = estimate["residual_unclosed"]
    stages["remaining"] = estimate["residual_left"]
    quantities = (("force (N)", "force_rms_n"), ("moment (Nm)", "moment_rms_nm"))
    coordinates = sorted(estimate["coordinates"].items(), key=lambda item: -(item[1]["torque_change_rms_nm"] or 0.0))
    plates = estimate.get("plates") or []
    axes = list(plates[0]["shift_cm"]) if plates else []
    return {
        "estimate": estimate,
        "number": format_decimal,
        "signed": format_signed,
        "unclosed": "estimated" in stages,
        "residual_heads": ("residual at the pelvis, RMS", *(f"#{stage}" for stage in stages)),
        "residual_rows": [
            (title, *(format_decimal(stage[key]) for stage in stages.values())) for title, key in quantities
        ],
        "centre_rows": [
            (segment_title(row["segment"]), *map(format_signed, row["shift_cm"]), format_decimal(row["sd_cm"]))
            for row in estimate["mass_centres"]
        ],
        "masses": _mass_changes_text(estimate),
        "plate_heads": (
            "force plate",
            *(f"#suggested offset along {axis} (cm)" for axis in axes),
            "#suggested gain error (%)",
            "#suggested turn (deg)",
        ),
        "plate_rows": [
            (
                row["plate"],
                *(_value_with_sd(row["shift_cm"][axis], row["shift_sd_cm"][axis]) for axis in axes),
                _value_with_sd(row["gain_percent"], row["gain_sd_percent"]),
                _value_with_sd(row["turn_deg"], row["turn_sd_deg"]) if "turn_deg" in row else "",
            )
            for row in plates
        ],
        "coordinates": [
            (
                name,
                format_decimal(row["moved_rms_deg"], 2),
                *(format_decimal(row[key]) for key in ("moved_max_deg", "torque_change_rms_nm", "torque_sd_rms_nm")),
            )
            for name, row in coordinates[:12]
        ],
    }


def _value_with_sd(value: float, sd: float) -> str:
    return f"{format_signed(value)} ± {format_decimal(sd)}"


def _mass_changes_text(estimate: Mapping[str, Any]) -> str:
    """Return the largest changes of segment masses of at least 0.05 %, as text."""
    changes = [(row["change_percent"], row["segment"]) for row in estimate.get("segment_masses", [])]
    largest = sorted((change for change in changes if abs(change[0]) >= 0.05), key=lambda change: -abs(change[0]))
    return ", ".join(f"{format_signed(percent)} % ({segment_title(segment)})" for percent, segment in largest[:6])


@SECTIONS.section("subject_fit", place=75, title="Changes of the subject model by the walk", folded=True)
def subject_fit_section(page: TrialPage) -> Data | None:
    """Return a row per joint centre, axis and marker; None without a fit."""
    fit: Mapping[str, Any] | None = page.record.get("subject_fit")
    if not fit:
        return None

    def marker_rms(row: Mapping[str, Any]) -> tuple[str, str]:
        prefix = "marker_rms" if "marker_rms_before_mm" in row else "rms"
        return format_decimal(row[f"{prefix}_before_mm"]), format_decimal(row[f"{prefix}_after_mm"])

    before, after = marker_rms(fit)
    return {
        "fit": fit,
        "before": before,
        "after": after,
        "files": [(row["name"], row["use"], row["frames"], *marker_rms(row)) for row in fit.get("files", ())],
        "centres": [
            (
                segment_title(row["segment"]),
                format_decimal(math.hypot(*row["shift_mm"])),
                *map(format_signed, row["shift_mm"]),
                ", ".join(map(format_decimal, row["prior_sd_mm"])),
                ", ".join(map(format_decimal, row["sd_mm"])),
            )
            for row in fit["joint_centres"]
        ],
        "turns": [
            (
                segment_title(row["segment"]),
                format_signed(row["turn_deg"]),
                format_decimal(row["prior_sd_deg"]),
                format_decimal(row["sd_deg"]),
            )
            for row in fit["axes"]
        ],
        "markers": [
            (
                row["label"],
                segment_title(row["segment"]),
                format_decimal(math.hypot(*row["shift_mm"])),
                format_decimal(math.hypot(*row["off_mm"])),
                *marker_rms(row),
            )
            for row in fit["markers"]
        ],
    }


@SECTIONS.section("uncertainty", place=110, title="Uncertainty of the torques", link="Uncertainty", folded=True)
def uncertainty_section(page: TrialPage) -> Data | None:
    """Return a row per torque; None if the uncertainty was not computed."""
    rows = uncertainty_rows(page.record.get("uncertainty"))
    return {"rows": rows} if rows else None


def uncertainty_rows(record: Mapping[str, Any] | None, min_peak_nm: float = 1.0) -> list[dict[str, Any]]:
    """Return label, peak, standard deviation and shares of the variance (%) of the torques in the figures.

    Torques with a peak below `min_peak_nm` are omitted: shares of so small values are not informative.
    """
    in_figures = {name for figure in display_table()["figure"] for name in figure["panels"]}
    rows = []
    for name, entry in (record or {}).get("coordinates", {}).items():
        side = next((side for side in SIDES if name.endswith(f"_{side}")), "")
        curve = f"{name.removesuffix(f'_{side}') if side else name}_moment"
        if curve not in in_figures or entry["peak_nm"] < min_peak_nm:
            continue
        variances = {source: sd**2 for source, sd in entry["by_source_rms_nm"].items()}
        total = sum(variances.values()) or 1.0
        rows.append(
            {
                "label": variable(curve).title + (f", {SIDE_NAMES[side]}" if side else ""),
                "peak": f"{entry['peak_nm']:.1f}",
                "sd": f"{entry['sd_rms_nm']:.1f}",
                "largest": f"{entry['sd_largest_nm']:.1f}",
                "share": f"{100.0 * entry['sd_rms_nm'] / entry['peak_nm']:.0f}",
                "sources": {source: f"{100.0 * variance / total:.0f}" for source, variance in variances.items()},
                "largest_source": entry["largest_source"],
            }
        )
    return rows


@SECTIONS.section("sensitivity", place=120, title="Sensitivity to modelling choices", folded=True)
def sensitivity_section(page: TrialPage) -> Data | None:
    """Return a row per level; None if the trial was analysed only once.

    Cells are the change of the peak and the RMS change of a moment, per cent of the peak, mean of both sides.
    """
    summary: pd.DataFrame | None = page.tables.get("sensitivity_summary")
    if summary is None or summary.empty:
        return None
    moments = display_table()["overview"]["moments"]
    rows = []
    for (factor, level), block in summary.groupby(["factor", "level"], observed=True, sort=False):
        cells = []
        for moment in moments:
            changes = block[block["variable"].astype(str) == moment]
            peak, rms = changes["peak_change_percent"].mean(), changes["rms_change_percent"].mean()
            cells.append(f"{peak:+.1f} / {rms:.1f}" if len(changes) else "–")
        rows.append((str(factor).replace("_", " "), level_title(str(level)), *cells))
    return {"rows": rows, "heads": ("factor", "level", *(f"#{variable(moment).title} (%)" for moment in moments))}
