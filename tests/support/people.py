"""Simulated people whose bones and markers are not where the recipes have them, as biodyn knows them after the static trial."""

from __future__ import annotations

from functools import cache

import numpy as np
from simulator import Body, Person, Walk, embody, solve_walk
from simulator.wearing import Scatter, Worn, worn

from biodyn.conventions import FloatArray
from biodyn.model.body_model import StaticFigure
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.scaling import ScalingOptions, SubjectScaling
from biodyn.model.from_library.skeleton_recipes import load_skeleton

#: Joints of the leg and the segment beyond each.
JOINTS = {"hip": "femur", "knee": "tibia", "ankle": "calcn"}
RATE_HZ, _SECONDS = 100.0, 2.0


#: Speeds (m/s) and strides (s) of the walks of a session; the first is the one of who walks once.
SPEEDS = ((1.3, 1.1), (1.0, 1.25), (1.15, 1.17), (1.45, 1.04), (1.6, 0.98))
# Functional trials, degrees: a star and an arc of the straight leg, then the knee bent and stretched with the thigh held forward.
_STAR_DEG, _ARC_DEG, _KNEE_DEG, _HELD_DEG = 35.0, 25.0, 85.0, 30.0
_MOVED_S, _ONE_S = 8.0, 2.0


@cache
def _walk(marker_set: str, skeleton: str, speed: float, stride_s: float) -> Walk:
    person = Person("Subject", 1.75, 70.0, "mean", marker_set=marker_set, skeleton=skeleton)
    return solve_walk(embody(person), speed, stride_s)


def person_of(seed: int, marker_set: str, skeleton: str, scatter: Scatter, pace: int = 0) -> Worn:
    """Return one person in one walk at one of `SPEEDS`; every seed is somebody else."""
    body = _body(seed, marker_set, skeleton)
    return worn(body, *walked(body, pace), scatter, seed)


def walked(body: Body, pace: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return configurations (T, nq) and phases (T,) of a walk at one of `SPEEDS`."""
    walk = _walk(body.person.marker_set, body.person.skeleton, *SPEEDS[pace])
    time_s = np.arange(round(RATE_HZ * _SECONDS)) / RATE_HZ
    return walk.motion(time_s)[0], time_s / walk.stride_s


def functional_of(seed: int, marker_set: str, skeleton: str, scatter: Scatter) -> list[Worn]:
    """Return the person of `person_of` moving the right hip and knee, then the left ones, standing on the other leg."""
    body = _body(seed, marker_set, skeleton)
    return [worn(body, *motion, scatter, seed) for motion in functional_motions(body)]


def functional_motions(body: Body) -> list[tuple[FloatArray, FloatArray]]:
    """Return configurations (T, nq) and phases (T,) of the functional trials of the right and of the left leg."""
    time_s = np.arange(round(RATE_HZ * _MOVED_S)) / RATE_HZ
    turn, phase = 2.0 * np.pi * time_s / _ONE_S, time_s / _ONE_S
    star = time_s < 0.4 * _MOVED_S
    arc = ~star & (time_s < 0.7 * _MOVED_S)
    lifted = np.where(star | arc, 0.0, _HELD_DEG)
    flexion = lifted + _STAR_DEG * star * np.sin(turn) + _ARC_DEG * arc * np.sin(2.0 * turn)
    sideways = 0.7 * _STAR_DEG * star * np.sin(0.5 * turn) + _ARC_DEG * arc * np.cos(2.0 * turn)
    knee = np.where(star | arc, 0.0, 0.5 * _KNEE_DEG * (1.0 - np.cos(turn)))
    found = []
    for side in "rl":
        q = np.tile(body.static_q, (len(time_s), 1))
        for name, angle in ((f"hip_flexion_{side}", flexion), (f"hip_adduction_{side}", -sideways)):
            q[:, body.model.coordinate(name).q_index] += np.deg2rad(angle)
        bend = body.model.coordinate(f"knee_angle_{side}")
        q[:, bend.q_index] += np.deg2rad(knee)
        found.append((q, phase))
    return found


def _body(seed: int, marker_set: str, skeleton: str) -> Body:
    rng = np.random.default_rng([seed, 7])
    height = float(rng.uniform(1.1, 2.0))
    person = Person(
        "Subject",
        height,
        22.0 * height**2,
        "mean",
        marker_set=marker_set,
        skeleton=skeleton,
        leg_length=float(rng.normal(1.0, 0.03)),
        breadth=float(rng.normal(1.0, 0.06)),
    )
    return embody(person)


def scaling_of(person: Worn) -> SubjectScaling:
    """Return what biodyn knows of the person after the static trial."""
    who = person.body.person
    options = ScalingOptions(
        mass_kg=who.mass_kg,
        height_m=who.height_m,
        sex=who.sex,
        measures=person.body.measures,
        anthropometry=who.anthropometry,
        hip_centre=who.hip_centre,
        marker_radius_m=0.5 * who.marker_diameter_m,
        foot_flat=True,
    )
    skeleton = load_skeleton(who.skeleton)
    return SubjectScaling(
        skeleton, recognise_marker_set(person.labels), person.static_points, frozenset(person.labels), options
    )


def errors_m(found: StaticFigure, person: Worn) -> dict[str, FloatArray]:
    """Return the errors (3,) m of each leg's joint centres, World, by segment."""
    return {
        f"{segment}_{side}": found.p_WB[f"{segment}_{side}"] - person.centres_W[f"{segment}_{side}"]
        for segment in JOINTS.values()
        for side in "rl"
    }
