"""Tiny recordings of a person of rigid segments: standing, walking, moving one leg, as C3D files of a few kilobytes.

Everything that tells what a file is for is in them: who it is (the lengths of the body), how the markers sit (put on again
for another day, or over shoes), what is done, and what laboratory software stores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from simulator.c3d_writer import C3dContent, write_c3d

from biodyn.conventions import FloatArray

RATE_HZ = 50.0
Motion = Literal[
    "standing", "settling", "arms", "moment", "walk", "late_walk", "treadmill", "hip", "knee", "squat", "empty"
]

# segment, side, place in the standing person, mm: x to the right, y ahead, z up
_TRUNK = {"C7": (0, -60, 1450), "CLAV": (0, 60, 1400), "STRN": (0, 90, 1250), "T10": (0, -90, 1200)}
_PELVIS = {"LASI": (-120, 90, 950), "RASI": (120, 90, 950), "LPSI": (-50, -80, 960), "RPSI": (50, -80, 960)}
_ARM = {"ELB": (200, -10, 1080), "WRA": (210, 40, 860)}
_LEG = {
    "thigh": {"THI": (180, 20, 690), "KNE": (130, 20, 500), "KNM": (40, 20, 500)},
    "shank": {"TIB": (170, 0, 310), "ANK": (120, 0, 90), "MED": (50, 0, 85)},
    "foot": {"HEE": (85, -60, 50), "TOE": (95, 130, 45), "MT5": (135, 100, 40)},
}
_JOINTS = {"thigh": (85.0, 0.0, 900.0), "shank": (85.0, 10.0, 500.0), "foot": (85.0, 0.0, 90.0)}
_SKIN_MM = 1.5  # movement of markers over the bone
_PLACED_MM = 5.0  # another day's markers
_SHOE_MM = 9.0  # markers of the foot on a shoe or an orthosis


@dataclass(frozen=True)
class Placement:
    """Markers as they sit on one person from when they were put on until they come off: labels, segments, (M, 3) mm."""

    labels: tuple[str, ...]
    segments: tuple[tuple[str, str], ...]
    places_mm: FloatArray
    height: float

    def over_shoes(self, rng: np.random.Generator) -> Placement:
        """The same with the markers of the feet put on again."""
        feet = np.array([segment == "foot" or label[1:] in ("ANK", "MED") for label, (segment, _) in self._named()])
        moved = self.places_mm + feet[:, None] * rng.normal(0.0, _SHOE_MM, self.places_mm.shape)
        return Placement(self.labels, self.segments, moved, self.height)

    def again(self, rng: np.random.Generator) -> Placement:
        """The same person on another day."""
        moved = self.places_mm + rng.normal(0.0, _PLACED_MM, self.places_mm.shape)
        return Placement(self.labels, self.segments, moved, self.height)

    def _named(self) -> Sequence[tuple[str, tuple[str, str]]]:
        return list(zip(self.labels, self.segments, strict=True))


def new_person(rng: np.random.Generator, lower_only: bool = False) -> Placement:
    """Somebody of their own height and build, with markers on."""
    height = float(rng.uniform(0.7, 1.12))
    found: list[tuple[str, tuple[str, str], FloatArray]] = []
    if not lower_only:
        found += [(name, ("trunk", ""), np.array(place)) for name, place in _TRUNK.items()]
    found += [(name, ("pelvis", ""), np.array(place)) for name, place in _PELVIS.items()]
    for side, sign in (("L", -1.0), ("R", 1.0)):
        mirror = np.array([sign, 1.0, 1.0])
        if not lower_only:
            found += [(side + name, ("arm", side), mirror * place) for name, place in _ARM.items()]
        for segment, markers in _LEG.items():
            found += [(side + name, (segment, side), mirror * place) for name, place in markers.items()]
    places = np.array([place for _, _, place in found], dtype=float) * height
    places *= 1.0 + rng.normal(0.0, 0.04, 3)
    places += rng.normal(0.0, 12.0, places.shape)
    return Placement(tuple(f[0] for f in found), tuple(f[1] for f in found), places, height)


@dataclass(frozen=True)
class Tiny:
    """One recording.

    Attributes:
        placement: whose, and how the markers sit. motion: what is done. seed: of its noise.
        subject, mass_kg, height_m, static, offsets_deg, events: what is stored. plates: force plates announced.
        prefix: before every label. side: of a functional trial. seconds: its length.
    """

    placement: Placement
    motion: Motion
    seed: int
    subject: str = ""
    mass_kg: float = 0.0
    height_m: float = 0.0
    static: bool = False
    plates: int = 2
    offsets_deg: Mapping[str, float] = field(default_factory=dict)
    events: bool = False
    prefix: str = ""
    side: str = "L"
    seconds: float = 2.0

    def write(self, path: Path) -> Path:
        """Write it and return its path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        positions = positions_mm(self)
        parameters: dict[str, dict[str, Any]] = {"FORCE_PLATFORM": {"USED": self.plates}}
        if self.subject or self.static:
            parameters["SUBJECTS"] = {"NAMES": [self.subject or " "], "IS_STATIC": int(self.static)}
        stored = {"Bodymass": self.mass_kg, "Height": 1000.0 * self.height_m, **self.offsets_deg}
        stored = {name: value for name, value in stored.items() if value}
        if stored:
            parameters["PROCESSING"] = stored
        if self.events:
            parameters["EVENT"] = {"USED": 2, "LABELS": ["Foot Strike", "Foot Off"]}
        labels = [self.prefix + label for label in self.placement.labels]
        write_c3d(path, C3dContent(labels, positions, RATE_HZ, parameters=parameters))
        return path


def positions_mm(tiny: Tiny) -> FloatArray:
    """(T, M, 3) mm of the markers."""
    rng = np.random.default_rng(tiny.seed)
    frames = 1 if tiny.motion == "moment" else round(tiny.seconds * RATE_HZ)
    t = np.arange(frames) / RATE_HZ
    if tiny.motion == "empty":
        return np.full((frames, len(tiny.placement.labels), 3), np.nan)
    angles, ahead, lift = _motion(tiny, t)
    points = np.repeat(tiny.placement.places_mm[None], frames, axis=0)
    for side in "LR":
        chain = ["foot", "shank", "thigh"]
        for segment in chain[::-1]:  # the thigh turns what hangs on it, then the shank, then the foot
            below = chain[: chain.index(segment) + 1]
            columns = [i for i, (name, s) in enumerate(tiny.placement.segments) if s == side and name in below]
            _turn(points, columns, _joint(tiny, segment, side), angles[segment, side])
        # joints below move with the thigh: turning one after the other about standing joints, from the foot up, is exact
    arms = [i for i, (name, _) in enumerate(tiny.placement.segments) if name == "arm"]
    if tiny.motion == "arms" and arms:
        points[:, arms, 2] += 250.0 * np.sin(2.0 * np.pi * 0.4 * t)[:, None] ** 2
    points[..., 1] += ahead[:, None]
    legs = np.array([name in ("foot", "shank") for name, _ in tiny.placement.segments])
    points[..., 2] -= lift[:, None] * ~legs
    sway = 4.0 * np.sin(2.0 * np.pi * 0.3 * t + rng.uniform(0.0, 6.0))
    points[..., :2] += sway[:, None, None] * points[..., 2:] / 1000.0
    points += rng.normal(0.0, 0.3, points.shape)
    if tiny.motion not in ("standing", "settling", "arms", "moment"):
        slow = 2.0 * np.pi * rng.uniform(0.5, 1.5, points.shape[1:])
        points += _SKIN_MM * np.sin(slow * t[:, None, None] + rng.uniform(0.0, 6.0, points.shape[1:]))
    return points


def _joint(tiny: Tiny, segment: str, side: str) -> FloatArray:
    sign = -1.0 if side == "L" else 1.0
    return tiny.placement.height * np.array([sign, 1.0, 1.0]) * np.array(_JOINTS[segment])


def _turn(points: FloatArray, columns: list[int], centre: FloatArray, angle: FloatArray) -> None:
    """Turn columns about an axis to the right or, for (T, 2) angles, ahead as well."""
    about_x, about_y = (angle[:, 0], angle[:, 1]) if angle.ndim == 2 else (angle, np.zeros(len(angle)))
    p = points[:, columns] - centre
    c, s = np.cos(about_x)[:, None], np.sin(about_x)[:, None]
    p = np.stack([p[..., 0], c * p[..., 1] - s * p[..., 2], s * p[..., 1] + c * p[..., 2]], axis=-1)
    c, s = np.cos(about_y)[:, None], np.sin(about_y)[:, None]
    p = np.stack([c * p[..., 0] + s * p[..., 2], p[..., 1], -s * p[..., 0] + c * p[..., 2]], axis=-1)
    points[:, columns] = p + centre


def _motion(tiny: Tiny, t: FloatArray) -> tuple[dict[tuple[str, str], FloatArray], FloatArray, FloatArray]:
    """Angles of the segments (rad), how far the person is ahead (mm), how much lower the upper body is (mm)."""
    zero = np.zeros(len(t))
    angles = {(segment, side): zero for segment in _LEG for side in "LR"}
    ahead, lift = zero, zero
    if tiny.motion == "settling":
        begin = np.clip(1.0 - t / (0.5 * t[-1]), 0.0, 1.0)
        angles["thigh", "L"], ahead = 0.5 * np.sin(np.pi * begin), -300.0 * begin
    elif tiny.motion in ("walk", "late_walk", "treadmill"):
        start = 0.4 * t[-1] if tiny.motion == "late_walk" else 0.0
        going = np.clip((t - start) / 0.2, 0.0, 1.0) if start else np.ones(len(t))
        phase = 2.0 * np.pi * 0.9 * np.maximum(t - start, 0.0)
        for side, shift in (("L", 0.0), ("R", np.pi)):
            angles["thigh", side] = going * (0.1 + 0.4 * np.sin(phase + shift))
            angles["shank", side] = -going * (0.3 + 0.3 * np.sin(phase + shift + 1.0))
        speed = 0.0 if tiny.motion == "treadmill" else 1200.0
        ahead = speed * np.maximum(t - start, 0.0)
    elif tiny.motion == "hip":
        swing = np.stack([0.5 * np.sin(2.0 * np.pi * t), 0.5 * np.sin(2.0 * np.pi * 0.7 * t)], axis=1)
        angles["thigh", tiny.side] = swing
    elif tiny.motion == "knee":
        angles["shank", tiny.side] = -0.8 * np.sin(np.pi * 0.8 * t) ** 2
    elif tiny.motion == "squat":
        lift = 300.0 * np.sin(np.pi * 0.5 * t) ** 2
    return angles, ahead, lift
