"""Simulated people whose bones and markers are not where the recipes have them, as biodyn knows them after the static trial."""

from __future__ import annotations

from functools import cache

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.from_library.markersets import recognise
from biodyn.model.from_library.scaling import ScalingOptions
from biodyn.model.from_library.skeleton import load_skeleton
from biodyn.model.from_library.subject_scaling import SubjectScaling
from biodyn.model.static_figure import StaticFigure
from biodyn.simulation import Person, Walk, embody, solve_walk
from biodyn.simulation.wearing import Scatter, Worn, worn

#: Joints of the leg and the segment beyond each.
JOINTS = {"hip": "femur", "knee": "tibia", "ankle": "calcn"}
RATE_HZ, _SECONDS = 100.0, 2.0


@cache
def _walk(marker_set: str, skeleton: str) -> Walk:
    person = Person("Subject", 1.75, 70.0, "mean", marker_set=marker_set, skeleton=skeleton)
    return solve_walk(embody(person), 1.3, 1.1)


def person_of(seed: int, marker_set: str, skeleton: str, scatter: Scatter) -> Worn:
    """Return one person in one walk; every seed is somebody else."""
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
    walk = _walk(marker_set, skeleton)
    time_s = np.arange(round(RATE_HZ * _SECONDS)) / RATE_HZ
    q = walk.motion(time_s)[0]
    return worn(embody(person), q, time_s / walk.stride_s, scatter, seed)


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
    return SubjectScaling(skeleton, recognise(person.labels), person.static_points, frozenset(person.labels), options)


def errors_m(found: StaticFigure, person: Worn) -> dict[str, FloatArray]:
    """Return the errors (3,) m of each leg's joint centres, World, by segment."""
    return {
        f"{segment}_{side}": found.p_WB[f"{segment}_{side}"] - person.centres_W[f"{segment}_{side}"]
        for segment in JOINTS.values()
        for side in "rl"
    }
