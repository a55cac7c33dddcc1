"""A walker made by hand whose every signal is known: constant speed, sinusoidal coordinates, forces as asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from biodyn.analysis import StaticFacts, SubjectFacts, TrialAnalysis
from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, Side
from biodyn.diagnostics import Diagnostic
from biodyn.model.assembly import ScaledBody
from biodyn.model.body_model import AttachedMarker, SubjectModel, assemble_model
from biodyn.model.from_library.skeleton_recipes import load_skeleton, without_recipes
from biodyn.model.marker_roles import MarkerMapping
from biodyn.model.skeleton import Inertia
from biodyn.processing.contacts.foot_motion import gait_points
from biodyn.processing.dynamics.inverse_dynamics import solve_dynamics
from biodyn.processing.kinematics.skeleton_fit import Fit, base_angles
from biodyn.processing.signals.derivatives import motion_from_configuration
from biodyn.processing.signals.gaps import Gap
from biodyn.recording import Contact, GaitEvent, GroundReaction, Markers, PlateWrench, Recording, StoredMotion
from biodyn.settings import Settings

MASS_KG = 60.0
HEIGHT_M = 1.7
RATE_HZ = 100.0
STRIDE_S = 1.0
SPEED_M_S = 1.24
OFF_SHARE = 0.6
UNMEASURED = "left foot on the floor outside the plates"


def amplitude_rad(index: int) -> float:
    """Amplitude of the coordinate at a place in the model's list: small, and different for each."""
    return float(np.deg2rad(2.0 + index))


def skeleton_model(name: str = "full_body") -> SubjectModel:
    """A subject of template proportions: every segment a ball, masses summing to MASS_KG."""
    skeleton = load_skeleton(name)
    share = MASS_KG / len(skeleton.bodies)
    ball = Inertia(share, np.zeros(3), np.eye(3) * 0.4 * share * 0.1**2)
    bodies = tuple(
        ScaledBody(body.definition, np.eye(3), body.template * HEIGHT_M, ball, (0.0,) * len(body.rotations), True)
        for body in skeleton.bodies
    )
    sole = np.array([[-0.05, -0.07, 0.02], [0.18, -0.07, 0.04], [0.18, -0.07, -0.04], [-0.05, -0.07, -0.02]])
    feet = {body.side: body.name for body in skeleton.bodies if body.sole is not None}
    markers = tuple(
        AttachedMarker(f"M{i}", body.definition.name, np.array([0.02, 0.0, 0.0]), 1.0) for i, body in enumerate(bodies)
    )
    return assemble_model(
        without_recipes(skeleton),
        bodies,
        frozenset(),
        mass_kg=MASS_KG,
        height_m=HEIGHT_M,
        sex="mean",
        markers=markers,
        foot_outlines=dict.fromkeys(feet, sole),
        sole_body=feet,
    )


def walker(
    *,
    frames: int = 301,
    moving: bool = True,
    support: Mapping[Side, float] | None = None,
    unmeasured_l: slice = slice(0, 0),
    skeleton: str = "full_body",
) -> TrialAnalysis:
    """An analysed trial.

    Args:
        frames: at RATE_HZ.
        moving: False for a person who stands still in neutral posture.
        support: share of body weight under each foot, constant in time; default one half each.
        unmeasured_l: frames in which the left foot's ground reaction is unknown.
    """
    model = skeleton_model(skeleton)
    time_s = np.arange(frames) / RATE_HZ
    q = np.tile(model.multibody.neutral_q(), (frames, 1))
    q[:, 1] = 0.9
    if moving:
        q[:, 0] = SPEED_M_S * time_s
        for i, coordinate in enumerate(model.coordinates):
            q[:, coordinate.q_index] = amplitude_rad(i) * np.sin(2.0 * np.pi * time_s / STRIDE_S)
    error = np.tile(0.004 + 0.001 * np.arange(len(model.markers)), (frames, 1))
    error[:5, 1] = np.nan
    fit = Fit(
        labels=tuple(marker.label for marker in model.markers),
        marker_error=error,
        solved=np.ones(frames, dtype=bool),
        reliable=np.ones(frames, dtype=bool),
        reason=("",) * frames,
        lost=np.zeros((frames, len(model.coordinates)), dtype=bool),
        status=np.zeros(frames, dtype=np.int64),
        iterations=np.full(frames, 2),
        motion=motion_from_configuration(time_s, q),
        configurations=q,
        model=model,
    )
    # These feet glide along with the body; the floor is said to stand still, it cannot be told from them.
    points = replace(gait_points(fit, SIDES, RATE_HZ), floor_velocity=np.zeros(3))
    reaction = _reaction(fit, points.sole, support or {"r": 0.5, "l": 0.5}, unmeasured_l)
    events = _events(time_s[-1]) if moving else ()
    corners = np.array([[0.6, 0.0, 0.5], [-0.6, 0.0, 0.5], [-0.6, 0.0, -0.5], [0.6, 0.0, -0.5]])
    p = fit.link_poses()[1]
    markers = Markers(fit.labels, p[:, [model.frames[m.body].link for m in model.markers]], RATE_HZ)
    return TrialAnalysis(
        recording=Recording(Path("walk.c3d"), "0" * 64, StoredMotion(markers), first_frame=17),
        static=StaticFacts(Path("static.c3d"), "1" * 64, "named by the user", 0, 49, 0.002),
        settings=Settings(),
        subject=SubjectFacts(
            "Subject", MASS_KG, "given by the user", HEIGHT_M, "given by the user", "mean", "not known"
        ),
        R_WL=np.eye(3),
        world_reason="made so",
        mapping=MarkerMapping("set", "A set", (), fit.labels, {"set": 1.0}),
        gaps=(Gap(0, 10, 14, "spline"), Gap(1, 20, 80, "left")),
        model=model,
        fit=fit,
        base_angles=base_angles(model, fit),
        plates=(PlateWrench(1, corners, np.zeros((frames, 6)), RATE_HZ),),
        contacts=(
            Contact(1, 0.1, 0.7, "r", "assigned", "one foot, wholly on the plate", {"distance_m": 0.01}),
            Contact(1, 1.0, 1.5, None, "rejected", "two feet, and no telling", {"peak_bw": 1.1}),
        ),
        reaction=reaction,
        points=points,
        dynamics=solve_dynamics(fit, reaction),
        events=events,
        diagnostics=(Diagnostic("made-up", "warning", "Something <odd> was seen.", frames=(1, 3), hint="Look."),),
        timings={"reading": 0.1},
    )


def with_mass(analysis: TrialAnalysis, mass_kg: float) -> TrialAnalysis:
    """The same numbers said to belong to another body mass."""
    return replace(analysis, subject=replace(analysis.subject, mass_kg=mass_kg))


def _reaction(
    fit: Fit, soles: Mapping[Side, np.ndarray], support: Mapping[Side, float], unmeasured_l: slice
) -> GroundReaction:
    frames = len(fit.solved)
    wrench, cop = {}, {}
    centre = _centre_of_mass(fit)
    for side in SIDES:
        force = np.zeros((frames, 3))
        force[:, 1] = support[side] * MASS_KG * STANDARD_GRAVITY_M_S2
        # Under the centre of mass, so that a person who stands still is in balance.
        point = np.column_stack([centre[:, 0], np.zeros(frames), centre[:, 2]])
        wrench[side] = np.hstack([np.cross(point, force), force])
        cop[side] = point
    measured = {side: np.ones(frames, dtype=bool) for side in SIDES}
    measured["l"][unmeasured_l] = False
    wrench["l"][unmeasured_l] = np.nan
    cop["l"][unmeasured_l] = np.nan
    return GroundReaction(
        wrench=wrench,
        measured=measured,
        reason={side: ["" if known else UNMEASURED for known in measured[side]] for side in SIDES},
        on_floor={side: np.ones(frames, dtype=bool) for side in SIDES},
        centre_of_pressure=cop,
        free_moment={side: np.where(measured[side], 0.0, np.nan) for side in SIDES},
    )


def _centre_of_mass(fit: Fit) -> np.ndarray:
    bodies = fit.model.multibody.bodies
    mass = np.array([body.mass_kg for body in bodies])
    R, p = fit.link_poses()
    points = np.einsum("tbij,bj->tbi", R, np.stack([body.com_m for body in bodies])) + p
    return np.einsum("b,tbi->ti", mass, points) / mass.sum()


def _events(end_s: float) -> tuple[GaitEvent, ...]:
    events = []
    for side, shift in zip(SIDES, (0.0, 0.5 * STRIDE_S), strict=True):
        for stride in range(int(end_s / STRIDE_S) + 1):
            strike = stride * STRIDE_S + shift
            for time_s, kind in ((strike, "foot_strike"), (strike + OFF_SHARE * STRIDE_S, "foot_off")):
                if time_s <= end_s + 1e-9:
                    events.append(GaitEvent(time_s, side, kind, "plate"))  # type: ignore[arg-type]
    return tuple(sorted(events, key=lambda event: event.time_s))
