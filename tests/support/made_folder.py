"""Output folders of made studies: curves from formulas, collected and compared by the program itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import CYCLE_POINTS, FloatArray
from biodyn.settings import Settings
from biodyn.study.collecting.cycles import CYCLE_COLUMNS
from biodyn.study.discovery import StudyDefinition
from biodyn.study.plan import PlannedTrial, StudyFile, StudyPlan
from biodyn.study.study import Study
from biodyn.study.trial_record import Status, TrialRecord, write_trial_record
from support.shards import write_rows

_PHASE = 2.0 * np.pi * np.linspace(0.0, 1.0, CYCLE_POINTS)
#: Variables of the made walks with unit and shape over the cycle.
SHAPES: Mapping[str, tuple[str, FloatArray]] = {
    "hip_flexion": ("deg", 15.0 + 20.0 * np.cos(_PHASE)),
    "knee_angle": ("deg", 30.0 - 25.0 * np.cos(2.0 * _PHASE)),
    "ankle_angle": ("deg", 10.0 * np.sin(_PHASE)),
    "knee_angle_moment": ("Nm/kg", 0.5 * np.sin(2.0 * _PHASE)),
    "ankle_power": ("W/kg", 2.0 * np.exp(-((_PHASE - 3.3) ** 2))),
    "ground_force_y": ("BW", np.clip(1.1 * np.sin(_PHASE), 0.0, None)),
}


@dataclass(frozen=True)
class MadeTrial:
    """One walk: `offset` is added to every curve, in tenths of its unit. Failed where an `error` is given."""

    subject: str
    trial: str
    condition: str = ""
    group: str = ""
    session: str = ""
    offset: float = 0.0
    error: str = ""
    reason: str = ""
    hint: str = ""
    status: Status = "warn"
    checks_failed: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


def made_folder(
    out: Path,
    trials: Sequence[MadeTrial],
    files: Sequence[StudyFile] = (),
    name: str = "Made",
    definition: StudyDefinition | None = None,
) -> Path:
    """Write the folders of the trials, collect, compare and report them; returns the output folder."""
    planned = tuple(
        PlannedTrial(
            one.subject, one.trial, Path(one.subject) / f"{one.trial}.c3d", one.session, one.condition, one.group,
            settings=one.settings,
        )
        for one in trials
    )  # fmt: skip
    # A trial whose checks failed leaves the noise of all others as it is without it.
    numbers = np.maximum(np.cumsum([one.status == "warn" for one in trials]) - 1, 0)
    for number, one, plan in zip(numbers.tolist(), trials, planned, strict=True):
        folder = out / plan.folder
        folder.mkdir(parents=True)
        if one.error:
            write_trial_record(TrialRecord("key", "failed", one.error, one.reason, one.hint), folder)
            continue
        metrics = {**_figures(number), "checks_failed": one.checks_failed}
        write_trial_record(TrialRecord("key", one.status, reason="A marker has a gap.", metrics=metrics), folder)
        write_rows(_cycles(one, number), folder)
        (folder / "tables").mkdir()
        (folder / "tables" / "spatiotemporal.csv").write_text(_strides(), encoding="utf-8")
        (folder / "run.json").write_text(json.dumps(_run_record(one)), encoding="utf-8")
    Study(definition or StudyDefinition(), StudyPlan(name, out.parent / "data", planned, tuple(files))).summarise(out)
    return out


def two_by_two(
    subjects: int = 8, trials: int = 2, difference: float = 30.0, group_of: Callable[[int], str] | None = None
) -> list[MadeTrial]:
    """Walks of several subjects in two conditions, `difference` apart, and in two groups."""
    return [
        MadeTrial(
            f"S{number + 1:02d}", f"{condition}{trial + 1:02d}", condition,
            "control" if group_of is None and number % 2 else "patient" if group_of is None else group_of(number),
            offset=3.0 * number + trial + (difference + number if condition == "fast" else 0.0),
        )
        for number in range(subjects)
        for condition in ("slow", "fast")
        for trial in range(trials)
    ]  # fmt: skip


def _cycles(one: MadeTrial, number: int) -> pd.DataFrame:
    random = np.random.default_rng(number)
    columns: dict[str, list[Any]] = {name: [] for name in CYCLE_COLUMNS}
    for side in ("r", "l"):
        for cycle in (1, 2, 3):
            for variable, (unit, shape) in SHAPES.items():
                size = {"deg": 1.0, "Nm/kg": 0.01, "W/kg": 0.03, "BW": 0.01}[unit]
                noise = random.normal() * np.sin(_PHASE) + 0.3 * random.normal() * np.cos(3.0 * _PHASE)
                values = shape + size * (0.1 * one.offset + noise)
                columns["cycle"] += [cycle] * CYCLE_POINTS
                columns["side"] += [side] * CYCLE_POINTS
                columns["percent"] += list(range(CYCLE_POINTS))
                columns["variable"] += [variable] * CYCLE_POINTS
                columns["value"] += values.tolist()
                columns["unit"] += [unit] * CYCLE_POINTS
                columns["valid"] += [True] * CYCLE_POINTS
                columns["reason"] += [""] * CYCLE_POINTS
    return pd.DataFrame(columns)


def _strides() -> str:
    rows = [f"{side},{cycle},0.0,0.6,1.0,1.25,61.5,1.0" for side in ("r", "l") for cycle in (1, 2, 3)]
    return "\n".join(["side,cycle,start_s,foot_off_s,end_s,speed_m_s,stance_percent,stride_time_s", *rows]) + "\n"


def _figures(number: int) -> dict[str, Any]:
    return {
        "subject_mass_kg": 70.0, "subject_height_m": 1.75, "marker_rms_mm": 5.0 + number, "marker_worst": "LASI",
        "residual_force_rms_N": 10.0, "residual_force_peak_N": 30.0, "residual_force_rms_percent_of_limit": 40.0,
        "residual_moment_rms_Nm": 5.0, "residual_moment_peak_Nm": 10.0, "residual_moment_rms_percent_of_limit": 60.0,
        "contacts_assigned": 2, "contacts_ambiguous": 1, "contacts_rejected": 0, "cycles_right": 3, "cycles_left": 3,
        "kinetic_cycles_right": 1, "kinetic_cycles_left": 1, "checks_warn": "Gaps", "speed_m_s": 1.25,
    }  # fmt: skip


def _run_record(one: MadeTrial) -> dict[str, Any]:
    settings = Settings.model_validate(dict(one.settings))
    entry = {"title": "Some table", "citation": "Somebody (2000) Somewhere"}
    return {
        "record_version": 2,
        "versions": {"biodyn": "0", "numpy": "1"},
        "input": {"file": f"{one.trial}.c3d", "rate_hz": 100.0, "frames": 400},
        "settings": settings.model_dump(mode="json"),
        "cutoff_hz": settings.signals.marker_cutoff_of_settings,
        "automatic_cutoff": {"reason": "as asked"} if settings.signals.cutoff_hz == "auto" else None,
        "force_cutoff_hz": settings.force_cutoff_hz,
        "static": {},
        "world": {},
        "plates": [{}, {}],
        "subject": {"mass_kg": 70.0, "height_m": 1.75, "sex": "male"},
        "marker_set": {"title": "Some markers", "fitted": ["LASI", "RASI"]},
        "model": {"degrees_of_freedom": 38, "citations": dict.fromkeys(("skeleton", "anthropometry", "hip_centre"), entry)},
        "verdict": "warn",
        "checks": [
            {"code": "gaps", "title": "Gaps", "status": "warn", "text": "1 left.", "hint": ""},
            {"code": "solved", "title": "Frames fitted", "status": "pass", "text": "All.", "hint": ""},
        ],
        "diagnostics": [
            {"code": "marker-gap", "severity": "warning", "message": "Marker LASI has a gap.", "hint": "Fill it."}
        ],
    }  # fmt: skip
