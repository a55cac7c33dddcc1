"""`report.html` of a trial, a self-contained file made from the result folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd
from markupsafe import Markup

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.output.figures.curves import CycleCurves
from biodyn.output.figures.style import SIDE_COLORS, apply_side_colors, report_setting
from biodyn.output.figures.trial import TrialView, group_by_section
from biodyn.output.report.formatted_parameters import parameter_label
from biodyn.output.report.page import Data, Fact, Frame, Sections, render_page
from biodyn.output.report.scene import scene_person, scene_values
from biodyn.processing.signals.signal_preparation import is_butterworth_filtered

_FOOT = Markup(
    'This page needs no network; settings and every number are in <span class="mono">run.json</span> and '
    '<span class="mono">tables/</span> next to it.'
)
# Entries of the subject record that the head shows unchanged.
_RECORD_LINES = {
    "diagnosis": "Diagnosis",
    "side": "Affected side",
    "orthosis": "Orthosis, aids",
    "date": "Date",
    "session": "Session",
    "condition": "Condition",
    "laboratory": "Laboratory",
    "question": "Question",
}


@dataclass(frozen=True)
class TrialPage:
    """Source of the sections of the report of a trial: the stored values, and the drawings by name."""

    view: TrialView
    figures: Mapping[str, Markup]

    @property
    def record(self) -> Mapping[str, Any]:
        """The values of `run.json`."""
        return self.view.record

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables by name."""
        return self.view.tables

    @property
    def uses_segment_poses(self) -> bool:
        """Return whether segment poses were measured instead of markers."""
        return _has_poses(self.record)

    @property
    def is_on_model(self) -> bool:
        """Return whether the body is an OpenSim model."""
        return bool(self.record["static"].get("source") == "model")

    @property
    def curves(self) -> Mapping[str, Mapping[str, CycleCurves]]:
        """Return the curves over the cycle by variable and side, in the shown sign."""
        return self.view.curves

    @cached_property
    def scene(self) -> Mapping[str, Any] | None:
        """Return the values of the 3-D view; None if the result does not contain them."""
        unmeasured = self.record["model"].get("carried_segments") or ()
        person = scene_person(self.view.arrays, self.tables, self.record.get("contacts"), unmeasured=unmeasured)
        return scene_values([person])

    @cached_property
    def cycle_counts(self) -> Mapping[str, int]:
        """Number of cycles by side."""
        sides = self.tables["spatiotemporal"]["side"].astype(str)
        return {side: int((sides == side).sum()) for side in SIDES}

    @cached_property
    def figures_by_section(self) -> Mapping[str, list[str]]:
        """Return the names of the drawn figures by section, "" for figures with a separate section."""
        return group_by_section(name for name in self.view.figures if name in self.figures)

    def context(self) -> Data:
        """Return the values for all sections: record, sides with names and colours, drawings and captions."""
        return {
            "record": self.record,
            "sides": [(side, SIDE_NAMES[side], SIDE_COLORS[side]) for side in SIDES],
            "figures": self.figures,
            "figures_by_section": self.figures_by_section,
            "captions": {name: figure.caption for name, figure in self.view.figures.items()},
        }


#: The sections of a trial's page.
SECTIONS: Sections[TrialPage] = Sections("biodyn.output.report.sections")


def render_trial_report(view: TrialView, figures: Mapping[str, Markup]) -> str:
    """Return the page of a trial; `figures`: drawings by name (`view.figures_svg`)."""
    page = TrialPage(view, figures)
    record = view.record
    frame = Frame(
        title=f"{record['input']['file']} – gait report",
        heading=record["subject"]["name"],
        line="",
        facts=head_facts(page),
        program=record["versions"]["biodyn"],
        foot=_FOOT,
    )
    return str(apply_side_colors(render_page(frame, SECTIONS.fill(page)), report_setting(record, "colors")))


def head_facts(page: TrialPage) -> list[Fact]:
    """Return the known facts on subject, date and conditions of the recording."""
    record = page.record
    activity = [Fact("Activity", record["activity"]["kind"])] if record.get("activity") else []
    return [
        *subject_facts(record),
        *activity,
        *_walking_speed_facts(page.tables["spatiotemporal"]),
        Fact("Strides", ", ".join(f"{page.cycle_counts[side]} {SIDE_NAMES[side]}" for side in SIDES)),
        Fact("File", record["input"]["file"]),
    ]


def subject_facts(record: Mapping[str, Any]) -> list[Fact]:
    """Return the subject record for the head of a page, with what is missing for the choice of norms."""
    subject, settings = record["subject"], record["settings"]
    age, sex = subject.get("age_years"), subject.get("sex")
    facts = [] if age is None else [Fact("Age", f"{age:.0f} years" if age >= 3 else f"{age:.1f} years")]
    facts += [Fact("Sex", sex)] if sex in ("male", "female") else []
    missing = [name for name, known in (("age", age is not None), ("sex", sex in ("male", "female"))) if not known]
    facts += [replace(fact, note="") for fact in _body_facts(subject)]
    lines = {**(settings.get("header") or {}), **(settings.get("subject") or {})}  # version 0.2 wrote [header]
    facts += [Fact(title, lines[name]) for name, title in _RECORD_LINES.items() if lines.get(name)]
    if missing:
        options = " ".join({"age": "--age YEARS", "sex": "--sex female|male"}[name] for name in missing)
        facts.append(
            Fact("Not known", ", ".join(missing), f"for norms add {options}, or subject.toml next to the recording")
        )
    return facts


def analysis_facts(page: TrialPage) -> list[Fact]:
    """Return subject data, markers, filter, model and static trial, with their sources."""
    record = page.record
    subject, markers, static = record["subject"], record["marker_set"], record["static"]
    unknown = f", {len(markers['unknown'])} not in the set" if markers["unknown"] else ""
    return [
        Fact("Recording", f"{record['input']['duration_s']:.2f} s at {record['input']['rate_hz']:g} Hz"),
        *_activity_facts(record),
        *_body_facts(subject),
        _measurement_fact(record, f"{len(markers['fitted'])} fitted{unknown}"),
        Fact(
            f"Filter ({_filtered_quantity(record)} / forces)",
            f"{_smoothing_text(record)} / {_force_filter_text(record)}",
            _filter_text(record, page.is_on_model),
        ),
        Fact(
            "Body model" if page.is_on_model else "Skeleton",
            record["model"]["title"],
            f"{record['model']['degrees_of_freedom']} degrees of freedom",
        ),
        _static_fact(static),
        Fact("Force plates", plate_check_text(record)),
    ]


def plate_check_text(record: Mapping[str, Any]) -> str:
    """Return date, method and size of the last check of the force plates, or "not checked"."""
    check = record.get("plate_check")
    if not check:
        return "not checked"
    rest = f"; not checked: plate {', '.join(map(str, check['not_checked']))}" if check["not_checked"] else ""
    return f"checked {check['words']}{rest}"


def _filtered_quantity(record: Mapping[str, Any]) -> str:
    """Return the filtered quantity of the motion; for an OpenSim model the coordinates."""
    if record["static"].get("source") == "model":
        return "coordinates"
    return "poses" if _has_poses(record) else "markers"


def _filter_text(record: Mapping[str, Any], is_on_model: bool) -> str:
    """Return kind and order of the filter, and the reason for the method; coordinates of a model have OpenSim's filter."""
    filtered = is_butterworth_filtered(record)
    if is_on_model:
        return "Butterworth, third order, both ways" if filtered else ""
    order = record["settings"]["signals"]["filter_order"]
    why = (record.get("automatic_method") or {}).get("reason", "")
    return f"{'' if filtered else 'forces: '}Butterworth, zero lag, order {order}{f'; {why}' if why else ''}"


def _force_filter_text(record: Mapping[str, Any]) -> str:
    given = record["static"].get("source") == "model" and not record["plates"]
    return "as given" if given else _format_hertz(record["force_cutoff_hz"])


def _body_facts(subject: Mapping[str, Any]) -> list[Fact]:
    """Return the mass and, if known, the height, with their sources."""
    facts = [Fact("Body mass", f"{subject['mass_kg']:.1f} kg", subject.get("mass_source", ""))]
    height = subject["height_m"]
    if height is not None:
        facts.append(Fact("Body height", f"{height:.2f} m", subject.get("height_source", "")))
    return facts


def _has_poses(record: Mapping[str, Any]) -> bool:
    return bool(record["static"].get("source") == "poses")


def _measurement_fact(record: Mapping[str, Any], fitted: str) -> Fact:
    """Return the marker set, or the system that measured the poses."""
    measured = record["marker_set"]
    if not measured["fitted"]:
        return Fact("Motion", "coordinates", "given with the model")
    if _has_poses(record):
        segments = {str(label).rpartition(".")[0] for label in measured["fitted"]}
        return Fact("Poses", measured["title"], f"{len(segments)} segments fitted")
    return Fact("Markers", measured["title"], fitted)


def _static_fact(static: Mapping[str, Any]) -> Fact:
    """Return the static trial or its substitute."""
    if static.get("source", "static trial") == "static trial":
        return Fact("Static trial", static["file"], static["reason"])
    if static["source"] == "model":
        return Fact("Model", static["file"], static["reason"] + ".")
    if static["source"] == "poses":
        return Fact("Static trial", "not needed", static["reason"] + ".")
    return Fact("Static trial", "none", f"Calibrated from {static['from']}. {static['reason']}")


def _activity_facts(record: Mapping[str, Any]) -> list[Fact]:
    """Return the activity; empty for results of versions without it."""
    activity = record.get("activity")
    return [Fact("Activity", activity["kind"], activity["reason"])] if activity else []


def _smoothing_text(record: Mapping[str, Any]) -> str:
    """Return the smoothing of the markers: the cut-off of the filter, or the method in words."""
    signals = record["settings"]["signals"]
    cutoff_hz = record.get("cutoff_hz", signals["cutoff_hz"])
    if cutoff_hz and not is_butterworth_filtered(record):
        return str(record["smoothing"])
    chosen = (
        f" (chosen from the {'poses' if _has_poses(record) else 'markers'})" if record.get("automatic_cutoff") else ""
    )
    return _format_hertz(cutoff_hz) + chosen


def _walking_speed_facts(spatiotemporal: pd.DataFrame) -> list[Fact]:
    """Return the mean walking speed over all cycles of both sides."""
    values = spatiotemporal["speed_m_s"].dropna().to_numpy(dtype=float)
    label, unit = parameter_label("speed_m_s")
    return [Fact(label, f"{values.mean():.2f} {unit}")] if len(values) else []


def _format_hertz(cutoff: float | None) -> str:
    return f"{cutoff:.4g} Hz" if cutoff else "none"
