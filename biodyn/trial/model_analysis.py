"""Everything of a trial on an OpenSim model as the analysis of a trial: what tables, checks, figures and pages are made of.

The coordinates and their torques are there already (`from_markers`, `from_coordinates`). Read top to bottom this is the rest of
the way: bodies in World, whose foot bears what, events, joint loads and residual, bands, checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.analysis import Imported, StaticFacts, SubjectFacts, TrialAnalysis
from biodyn.checks import examine, judge
from biodyn.conventions import SIDES, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.rotations import axis_angle
from biodyn.io import file_sha256
from biodyn.model.from_osim.subject import ImportedModel
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.processing.calibration.subject import known_age, leg_length
from biodyn.processing.contacts.feet import GaitPoints, gait_points
from biodyn.processing.contacts.given_forces import given_ground_reaction
from biodyn.processing.dynamics.imported import OwnMotion, imported_dynamics, imported_fit
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.gait.activity import Activity, recognise_activity
from biodyn.processing.gait.by_movement import movement_events
from biodyn.processing.gait.events import gait_events
from biodyn.processing.kinematics.fit import Fit, base_angles
from biodyn.processing.kinematics.model_markers import OWN_MARKERS_M, ModelFit, Tasks
from biodyn.processing.signals.orientation import find_world
from biodyn.processing.signals.prepare import TrialSignals, prepare_signals
from biodyn.processing.signals.smoothing.butterworth import BUTTERWORTH
from biodyn.processing.signals.smoothing.estimate import ESTIMATE
from biodyn.recording import Contact, GaitEvent, GroundReaction, Markers, Recording
from biodyn.recording.recording import StoredMotion
from biodyn.settings import Settings
from biodyn.trial.bodies.opensim_loads import Loads, OnPlates
from biodyn.trial.clock import Clock
from biodyn.uncertainty.bands import TorqueUncertainty
from biodyn.uncertainty.imported import ImportedInputs, as_it_was, imported_bands, redone
from biodyn.uncertainty.inputs import TrialInputs, stride_time

#: Longer records have their tables and their proof alone: the poses of all bodies would need gigabytes.
MOST_ROWS: Final = 40_000
# Rows that lie this near to even times, as a share of the step, are off by the digits of their file.
_UNEVEN: Final = 0.1
# Who goes less far counts as going where he faces, m.
_TRAVEL_M: Final = 0.5
_NO_FEET: Final = Activity("other", "the model has no bodies that are known as feet", "", False)


@dataclass(frozen=True, eq=False)
class Acted:
    """A trial on a model after its inverse dynamics, in the model's own ground.

    Attributes:
        model: its body model. recording: of the motion; without markers where coordinates were given.
        R_GL: (3, 3) turn from the recording's laboratory to the model's ground.
        motion: of the model's own coordinates. fit: of the markers, None where coordinates were given.
        loads: all that act, and the bodies of the model's tree that they act on. on_plates: what the recording's own plates
            say; None where a file gave the loads, or nothing did.
        sized: how the model got its size, in words. model_path: its file. cutoff_hz: of the coordinates, 0 = none.
        tasks: of the fit to markers. height_m: of the person, where it was given.
        balanced: whether motion and inertias are an estimate.
    """

    model: ImportedModel
    recording: Recording
    R_GL: FloatArray
    motion: OwnMotion
    fit: ModelFit | None
    loads: Loads
    on_plates: OnPlates | None
    sized: str
    model_path: Path
    cutoff_hz: float
    tasks: Tasks
    height_m: float | None = None
    balanced: bool = False


def recording_of_rows(path: Path, time_s: FloatArray) -> Recording | None:
    """Return a table of coordinates as a recording without markers; None where its rows are not evenly spaced."""
    step = float(time_s[-1] - time_s[0]) / (len(time_s) - 1)
    if np.abs(time_s - time_s[0] - step * np.arange(len(time_s))).max() > _UNEVEN * step:
        return None
    markers = Markers((), np.empty((len(time_s), 0, 3)), 1.0 / step)
    return Recording(path, file_sha256(path), StoredMotion(markers=markers), start_s=float(time_s[0]))


def model_analysis(
    acted: Acted, settings: Settings, notes: Sequence[Diagnostic], imported: Imported, clock: Clock
) -> TrialAnalysis:
    """Return the analysis of a trial on a model, judged. The last step stays begun on the clock."""
    clock.begin("joint loads")
    settings = _followed(settings, acted)
    motion = replace(acted.motion, R_WG=heading(acted))
    time_s = acted.recording.markers.time_s
    edge_s = 0.5 / acted.cutoff_hz if acted.cutoff_hz else 0.0
    labels, solution = ((), None) if acted.fit is None else (acted.fit.labels, acted.fit.solution)
    fit = imported_fit(acted.model, motion, time_s, edge_s, labels, solution)
    recording = acted.recording.rotated(motion.R_WG)
    mapping = _mapping(acted.model, recording)
    signals = prepare_signals(replace(recording, plates=()), mapping, settings.signals)
    if acted.on_plates is not None:
        on_plates = acted.on_plates.rotated(motion.R_WG)
        acted, plates = replace(acted, on_plates=on_plates), on_plates.signals
        signals = replace(signals, raw_plates=plates.raw_plates, plates=plates.plates)
    points = _points(fit, acted.model, recording.markers.rate_hz)
    contacts, reaction, wrenches = _ground(acted, motion, fit, points, signals, settings)
    activity, events, more = _events(acted.model, points, contacts, recording, settings, acted.cutoff_hz)
    covered = acted.loads.covered
    told = covered if covered.ndim == 2 else np.repeat(covered[:, None], len(motion.names), axis=1)
    bodies = [
        acted.model.multibody.body_index(acted.model.own.multibody.body_names[body]) for body in acted.loads.bodies
    ]
    dynamics = imported_dynamics(fit, motion, reaction, wrenches, bodies, told)
    inputs = _inputs(fit, dynamics, reaction, contacts, signals, settings, events, activity)
    analysis = TrialAnalysis(
        recording=recording,
        static=StaticFacts(acted.model_path, file_sha256(acted.model_path), acted.sized, 0, 0, 0.0, source="model"),
        settings=settings,
        subject=_subject(acted, settings),
        R_WL=motion.R_WG @ acted.R_GL,
        world_reason=_world_words(acted, motion.R_WG),
        mapping=mapping,
        gaps=signals.gaps,
        model=acted.model,
        fit=fit,
        base_angles=base_angles(acted.model, fit),
        plates=signals.plates,
        contacts=contacts,
        reaction=reaction,
        points=points,
        dynamics=dynamics,
        events=events,
        activity=activity,
        diagnostics=(*notes, *more, *_reversed(acted.model)),
        timings={},
        propagation=inputs,
        imported=replace(imported, motion=motion),
    )
    clock.begin("uncertainty")
    bands = _bands(acted, motion, inputs, settings)
    clock.begin("checks")
    return judge(examine(replace(analysis, uncertainty=bands)))


def _bands(acted: Acted, motion: OwnMotion, inputs: TrialInputs, settings: Settings) -> TorqueUncertainty | None:
    """Bands of the torques; None where coordinates were given, or markers computed: nothing tells how wrong they are."""
    if acted.fit is None or acted.fit.rms_m < OWN_MARKERS_M:
        return None
    found = acted.loads.wrenches(slice(0, len(motion.q)), np.where(np.isfinite(motion.q), motion.q, 0.0))
    trial = ImportedInputs(
        model=acted.model,
        inputs=inputs,
        R_WG=motion.R_WG,
        labels=acted.fit.labels,
        positions=acted.fit.recorded,
        time_s=acted.recording.markers.time_s,
        tasks=acted.tasks,
        cutoff_hz=acted.cutoff_hz,
        wrenches=np.zeros((len(motion.q), 0, 6)) if found is None else np.nan_to_num(found),
        bodies=acted.loads.bodies,
        tau=motion.tau,
    )
    # An estimate is no less certain than the filtered motion that it starts from: its bands are that one's.
    return imported_bands(
        replace(trial, tau=redone(trial, as_it_was(trial))[1]) if acted.balanced else trial, settings.uncertainty
    )


def heading(acted: Acted) -> FloatArray:
    """Return the turn (3, 3) about the vertical, by quarters, that makes X the direction of travel of the root.

    With plates it is that of every recording with plates. Else who hardly goes anywhere counts as going where he faces; where
    gravity does not act along -Y nothing is turned.
    """
    gravity = np.array(acted.model.multibody.gravity_W)
    if abs(gravity[0]) + abs(gravity[2]) > 0.0:
        return np.eye(3)
    if acted.on_plates is not None:
        return find_world(acted.recording).R_WL
    q, _, _ = acted.model.floating.motion(acted.motion.q, acted.motion.v, acted.motion.vdot)
    known = np.flatnonzero(np.isfinite(q[:, 0]))
    if not len(known) or not acted.model.is_free:
        return np.eye(3)
    way = (q[known[-1], :3] - q[known[0], :3]) * (1.0, 0.0, 1.0)
    if float(np.linalg.norm(way)) < _TRAVEL_M:
        w, x, y, z = q[known, 3:7].T
        way = np.array([np.mean(1.0 - 2.0 * (y**2 + z**2)), 0.0, np.mean(2.0 * (x * z - w * y))])
    quarter = round(float(np.arctan2(way[2], way[0])) / (0.5 * np.pi))
    return np.round(axis_angle(np.array([0.0, 1.0, 0.0]), 0.5 * np.pi * quarter)) + 0.0


def _followed(settings: Settings, acted: Acted) -> Settings:
    """The settings as this trial followed them: the cut-off that was chosen, and the method."""
    method = ESTIMATE if acted.balanced else BUTTERWORTH
    signals = settings.signals.model_copy(update={"cutoff_hz": acted.cutoff_hz, "method": method})
    return settings.model_copy(update={"signals": signals})


def _mapping(model: ImportedModel, recording: Recording) -> MarkerMapping:
    """What each marker is for: it moves with the body that the model has it on."""
    roles = tuple(MarkerRole(m.label, "", m.body, m.weight, False, "model") for m in model.markers)
    known = {role.label for role in roles}
    unknown = tuple(label for label in recording.markers.labels if label not in known)
    return MarkerMapping("opensim_model", f"markers of {model.skeleton.title}", roles, unknown, {})


def _points(fit: Fit, model: ImportedModel, rate_hz: float) -> GaitPoints:
    return gait_points(fit, tuple(side for side in SIDES if side in model.sole_body), rate_hz)


def _ground(
    acted: Acted, motion: OwnMotion, fit: Fit, points: GaitPoints, signals: TrialSignals, settings: Settings
) -> tuple[tuple[Contact, ...], GroundReaction, FloatArray]:
    """Contacts, ground reaction of the feet, and the wrenches (T, K, 6) of all loads, World."""
    rows = slice(0, len(motion.q))
    found = acted.loads.wrenches(rows, np.where(np.isfinite(motion.q), motion.q, 0.0))
    wrenches = np.zeros((len(motion.q), 0, 6)) if found is None else found
    R = motion.R_WG
    wrenches = np.concatenate([wrenches[..., :3] @ R.T, wrenches[..., 3:] @ R.T], axis=2)
    if acted.on_plates is not None:
        return acted.on_plates.contacts, acted.on_plates.reaction, wrenches
    names = acted.model.own.multibody.body_names
    on = [names[body] for body in acted.loads.bodies]
    by_side: dict[Side, FloatArray] = {}
    heights: dict[Side, FloatArray] = {}
    places = acted.loads.heights(rows, motion.q)
    for side in points.sole:
        foot = acted.model.sole_body[side]
        beyond = {foot} | {body.definition.name for body in acted.model.bodies if body.definition.parent == foot}
        own = [k for k, body in enumerate(on) if body in beyond]
        by_side[side] = wrenches[:, own].sum(axis=1)
        heights[side] = places[:, own[0]] if len(own) == 1 else np.full(len(motion.q), np.nan)
    told = acted.loads.covered
    covered = told if told.ndim == 1 else np.asarray(told.any(axis=1))
    soles = {side: points.sole[side] for side in by_side}
    rate_hz, threshold = signals.markers.rate_hz, settings.contacts.threshold_n
    contacts, reaction = given_ground_reaction(by_side, heights, soles, covered, rate_hz, threshold)
    return contacts, reaction, wrenches


def _events(
    model: ImportedModel,
    points: GaitPoints,
    contacts: Sequence[Contact],
    recording: Recording,
    settings: Settings,
    cutoff_hz: float,
) -> tuple[Activity, tuple[GaitEvent, ...], list[Diagnostic]]:
    """What is done, and the events of the feet; none of a model without two feet that are known."""
    if len(points.sole) < len(SIDES):
        note = Diagnostic(
            "model-without-feet",
            "info",
            "The model has no two bodies that are known as feet (such as calcn_r and calcn_l): no events, cycles and gait "
            "parameters.",
        )
        return replace(_NO_FEET, reason=_NO_FEET.reason if not points.sole else "the model has one foot"), (), [note]
    rate_hz = recording.markers.rate_hz
    told = points.of_steps(rate_hz, cutoff_hz)
    activity = recognise_activity(told, contacts, rate_hz)
    moved = movement_events(told, rate_hz, activity.direction, activity.is_walked)
    events, notes = gait_events(
        contacts,
        recording.events,
        moved,
        settings.gait,
        pelvis_W=told.pelvis,
        rate_hz=rate_hz,
        steps=activity.steps,
    )
    return activity, events, list(notes)


def _inputs(
    fit: Fit,
    dynamics: Dynamics,
    reaction: GroundReaction,
    contacts: Sequence[Contact],
    signals: TrialSignals,
    settings: Settings,
    events: Sequence[GaitEvent],
    activity: Activity,
) -> TrialInputs:
    return TrialInputs(
        fit=fit,
        dynamics=dynamics,
        reaction=reaction,
        contacts=contacts,
        signals=signals,
        fit_settings=settings.inverse_kinematics,
        stride_s=stride_time(events if activity.steps else ()),
        calibration="model",
    )


def _subject(acted: Acted, settings: Settings) -> SubjectFacts:
    subject = acted.recording.subject
    age, age_source = known_age(settings.report.age_years, (acted.recording,))
    leg, leg_source = leg_length(settings.subject.measures, (acted.recording,), {})
    mass = acted.model.mass_kg
    height, height_source = subject.height_m, "stored in the file"
    if acted.height_m is not None:
        height, height_source = acted.height_m, "given by the user"
    height_source = "not known, not needed" if height is None else f"{height_source}, not needed by the model"
    return SubjectFacts(
        name=subject.name or acted.recording.path.stem,
        mass_kg=mass,
        mass_source="of the model",
        height_m=float("nan") if height is None else height,
        height_source=height_source,
        sex=subject.sex or "",
        sex_source="stored in the file, not needed" if subject.sex else "not known, not needed",
        age_years=age,
        age_source=age_source,
        leg_length_m=leg,
        leg_length_source=leg_source,
    )


def _world_words(acted: Acted, R_WG: FloatArray) -> str:
    turned = round(float(np.degrees(np.arctan2(R_WG[0, 2], R_WG[0, 0]))))
    if turned:
        return (
            f"the model's ground turned by {turned} degrees about the vertical, so that X is the direction of travel; angles and "
            "torques of the model's coordinates stay in its own ground"
        )
    return "the ground of the model"


def _reversed(model: ImportedModel) -> list[Diagnostic]:
    """Say which coordinates count the other way than the variables that figures and cycles show."""
    found = model.reversed()
    if not found:
        return []
    message = (
        f"{', '.join(found)} of this model count the other way than {', '.join(dict.fromkeys(found.values()))} here: gait cycles "
        "and figures show them in the usual signs, joint_angles and joint_torques in the model's."
    )
    return [Diagnostic("model-signs", "info", message)]
