"""Summary metrics of a trial, and summary.csv: a row for every planned trial, done or not, with its outcome and metrics."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.facts import residual_limits
from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDES, WHOLE_CYCLE, Side
from biodyn.errors import printable
from biodyn.library.load import load_table
from biodyn.output.tables.csv import spreadsheet_text
from biodyn.processing.dynamics.solve import distal_feet
from biodyn.processing.gait.cycle_values import CycleValues
from biodyn.processing.signals.filtering import rms
from biodyn.study.collecting.cycles import LABELS
from biodyn.study.plan import PlannedTrial
from biodyn.study.record import TrialRecord
from biodyn.trial.result import TrialResult

Metric = str | int | float | None
_DEFINITIONS = "summary_metrics"
DECISIONS = ("assigned", "ambiguous", "rejected")
_FILLED = ("spline", "rigid")
_CYCLE_COUNTS = ("cycles", "kinetic_cycles", "impossible_cycles")


@dataclass(frozen=True)
class Peak:
    """Largest or smallest value of a variable within a window of the gait cycle, times `sign`.

    Attributes:
        name, unit: of the column, `<name>_<side>_<unit>`. variable: of `gait_cycles`.
        window: percent of the cycle, first and last.
    """

    name: str
    unit: str
    variable: str
    of: Literal["max", "min"]
    window: tuple[float, float]
    sign: float = 1.0

    def column(self, side: Side) -> str:
        """Name of the column of one side."""
        return f"{self.name}_{side}_{self.unit}"


@lru_cache(maxsize=1)
def _definitions() -> tuple[tuple[Peak, ...], tuple[str, ...]]:
    table = load_table(f"study/{_DEFINITIONS}")
    peaks = tuple(Peak(**{**entry, "window": tuple(entry["window"])}) for entry in table["peak"])
    return peaks, tuple(table["stride"]["means"])


@lru_cache(maxsize=1)
def metric_columns() -> tuple[str, ...]:
    """Return the names of the metrics in their order: the same for every trial."""
    peaks, means = _definitions()
    fixed = (
        "activity marker_set subject_mass_kg mass_source subject_height_m height_source static_file rate_hz frames duration_s "
        "method cutoff_hz marker_rms_mm marker_worst_mm marker_worst residual_force_rms_N residual_force_peak_N "
        "residual_force_rms_percent_of_limit residual_moment_rms_Nm residual_moment_peak_Nm "
        "residual_moment_rms_percent_of_limit both_feet_known_percent "
        + " ".join(f"contacts_{decision}" for decision in DECISIONS)
    ).split()
    sided = [f"{kind}_{SIDE_NAMES[side]}" for kind in _CYCLE_COUNTS for side in SIDES]
    findings = "gaps_filled gaps_left longest_gap_s errors warnings checks_failed checks_warn first_error first_warning"
    return (
        *fixed,
        *sided,
        *findings.split(),
        *means,
        *(peak.column(side) for peak in peaks for side in SIDES),
    )


def summary_metrics(result: TrialResult) -> dict[str, Metric]:
    """Return the metrics of a trial by column (`metric_columns`), JSON values, None where unknown."""
    found: dict[str, Any] = {
        **_recorded(result.analysis),
        **_fit(result.analysis),
        **_residual(result.analysis),
        **_contacts(result.analysis),
        **_cycles(result.analysis),
        **_gaps(result.analysis),
        **_findings(result),
        **_strides(result),
        **_peaks(result.analysis.cycles),
    }
    return {name: _plain(found[name]) for name in metric_columns()}


def _recorded(analysis: TrialAnalysis) -> dict[str, Any]:
    subject, markers = analysis.subject, analysis.recording.markers
    return {
        "activity": analysis.activity.kind,
        "marker_set": analysis.mapping.title,
        "subject_mass_kg": subject.mass_kg,
        "mass_source": subject.mass_source,
        "subject_height_m": subject.height_m,
        "height_source": subject.height_source,
        "static_file": _static_file(analysis),
        "rate_hz": markers.rate_hz,
        "frames": markers.frame_count,
        "duration_s": markers.frame_count / markers.rate_hz,
        "method": analysis.method.name,
        "cutoff_hz": analysis.cutoff_hz,
    }


def _static_file(analysis: TrialAnalysis) -> str | None:
    """Name of the static trial; of a run on an OpenSim model that by which it was scaled, None where nothing scaled it."""
    if analysis.imported is None:
        return analysis.static.path.name
    scaled_by = analysis.imported.record["input"].get("static")
    return None if scaled_by is None else str(scaled_by["name"])


def _fit(analysis: TrialAnalysis) -> dict[str, Any]:
    fit = analysis.as_fitted.fit  # which the check of the markers judges
    labels, error = fit.labels, fit.marker_error
    if analysis.pose_misfit is not None:
        labels, error = analysis.pose_misfit.labels, analysis.pose_misfit.origin_m
    if not np.isfinite(error).any():
        return {"marker_rms_mm": None, "marker_worst_mm": None, "marker_worst": ""}
    worst = int(np.nanargmax(error))
    return {
        "marker_rms_mm": 1000.0 * float(rms(error.reshape(-1))),
        "marker_worst_mm": 1000.0 * float(error.reshape(-1)[worst]),
        "marker_worst": labels[worst % error.shape[1]],
    }


def _residual(analysis: TrialAnalysis) -> dict[str, Any]:
    analysis = analysis.as_fitted  # the raw residual: which the checks judge
    limits = residual_limits(analysis)
    dynamics = analysis.dynamics
    found: dict[str, Any] = {"both_feet_known_percent": 100.0 * float(np.mean(dynamics.residual_valid))}
    for kind, unit, vector, limit in (
        ("force", "N", dynamics.residual_force, limits.force_n),
        ("moment", "Nm", dynamics.residual_moment, limits.moment_nm),
    ):
        size = np.linalg.norm(vector, axis=1)
        size = size[np.isfinite(size)]
        mean = float(np.sqrt(np.mean(size**2))) if len(size) else np.nan
        found[f"residual_{kind}_rms_{unit}"] = mean
        found[f"residual_{kind}_peak_{unit}"] = float(size.max()) if len(size) else np.nan
        found[f"residual_{kind}_rms_percent_of_limit"] = 100.0 * mean / limit
    return found


def _contacts(analysis: TrialAnalysis) -> dict[str, Any]:
    decisions: list[str] = [contact.decision for contact in analysis.contacts]
    return {f"contacts_{decision}": decisions.count(decision) for decision in DECISIONS}


def _cycles(analysis: TrialAnalysis) -> dict[str, Any]:
    """All cycles of each side, those in which every load of the own leg is known but for the last moments perhaps, and those
    that hold something that nobody can walk."""
    reaction, model = analysis.reaction, analysis.model
    below = distal_feet(model, [side for side in reaction.wrench if side in model.sole_body])
    count = {f"{kind}_{SIDE_NAMES[side]}": 0 for kind in _CYCLE_COUNTS for side in SIDES}
    for values in analysis.cycles:
        cycle, signals = values.cycle, values.signals
        count[f"impossible_cycles_{SIDE_NAMES[cycle.side]}"] += bool(values.excluded.faults)
        leg = [s.kind == "ground" or (s.kind == "load" and below[s.body] == [cycle.side]) for s in signals]
        count[f"cycles_{SIDE_NAMES[cycle.side]}"] += 1
        if any(leg) and values.measured[:, leg].mean(axis=0).min() >= WHOLE_CYCLE:
            count[f"kinetic_cycles_{SIDE_NAMES[cycle.side]}"] += 1
    return count


def _gaps(analysis: TrialAnalysis) -> dict[str, Any]:
    lengths = [gap.last - gap.first + 1 for gap in analysis.gaps]
    return {
        "gaps_filled": sum(gap.method in _FILLED for gap in analysis.gaps),
        "gaps_left": sum(gap.method not in _FILLED for gap in analysis.gaps),
        "longest_gap_s": max(lengths, default=0) / analysis.recording.markers.rate_hz,
    }


def _findings(result: TrialResult) -> dict[str, Any]:
    messages = {s: [d.message for d in result.diagnostics if d.severity == s] for s in ("error", "warning")}
    checks = result.verdict.checks
    return {
        "errors": len(messages["error"]),
        "warnings": len(messages["warning"]),
        "checks_failed": "; ".join(check.title for check in checks if check.status == "fail"),
        "checks_warn": "; ".join(check.title for check in checks if check.status == "warn"),
        "first_error": next(iter(messages["error"]), ""),
        "first_warning": next(iter(messages["warning"]), ""),
    }


def _strides(result: TrialResult) -> dict[str, Any]:
    _, means = _definitions()
    table = result.spatiotemporal
    return {name: _mean(table[name].to_numpy(dtype=np.float64)) for name in means}


def _peaks(cycles: Sequence[CycleValues]) -> dict[str, Any]:
    peaks, _ = _definitions()
    percent = np.linspace(0.0, 100.0, CYCLE_POINTS)
    found: dict[str, list[float]] = {peak.column(side): [] for peak in peaks for side in SIDES}
    for values in cycles:
        for peak in peaks:
            if peak.variable not in values.variables:
                continue
            rows = (percent >= peak.window[0]) & (percent <= peak.window[1])
            part = values.curve(peak.variable)[rows]  # a NaN within the window makes the peak unknown
            found[peak.column(values.cycle.side)].append(
                peak.sign * float(part.max() if peak.of == "max" else part.min())
            )
    return {name: _mean(np.array(own)) for name, own in found.items()}


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


def _plain(value: Any) -> Metric:
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value  # type: ignore[no-any-return]


SUMMARY_NAME = "summary.csv"
NOT_RUN = "not run"
#: Six digits tell more than any of these is known to.
_DIGITS = 6


def summary_columns() -> tuple[str, ...]:
    """Return the columns: the same whatever trials there are."""
    return (*LABELS, "file", "status", "error", "reason", "hint", "excluded", *metric_columns())


def summary_row(trial: PlannedTrial, record: TrialRecord | None, excluded: str = "") -> dict[str, Any]:
    """Return the row of one trial by column; None for what is unknown. `excluded`: why it is in no group result."""
    if record is None:
        outcome = {"status": NOT_RUN, "error": "", "reason": "", "hint": ""}
    else:
        outcome = {name: getattr(record, name) for name in ("status", "error", "reason", "hint")}
    metrics: Mapping[str, Any] = {} if record is None else record.metrics
    labels = {name: getattr(trial, name) for name in LABELS}
    known = {name: metrics.get(name) for name in metric_columns()}
    return {**labels, "file": printable(trial.path.as_posix()), **outcome, "excluded": excluded, **known}


class SummaryFile:
    """summary.csv while it is written."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._stream, lineterminator="\n")
        self._writer.writerow(summary_columns())

    def add(self, row: Mapping[str, Any]) -> None:
        """Write a row of `summary_row`."""
        self._writer.writerow([_cell(row[name]) for name in summary_columns()])

    def close(self) -> None:
        """Finish the file."""
        self._stream.close()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, str):
        return spreadsheet_text(printable(value, keep="\n\t"))
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else value
