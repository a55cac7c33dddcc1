"""Right and left exchanged altogether: in one of the two files, or in both.

A body whose sides were exchanged is its own mirror image. In one file only, no rotation brings it onto the other file's body,
a reflection does. In both files the two agree, but then every part's right side lies to the left of where the part faces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.library.load import load_table
from biodyn.recording import Markers

CODE = "sides-exchanged"
# Sine of the angle between where a part faces and its line from left to right: 1 for a person standing straight. Between
# these it says nothing (crossed legs, a foot turned far out, a part bent over).
CLEAR = 0.5
# Too short a line, in m and seen from above, points nowhere.
_SHORTEST_M = 0.03
_FRAMES = 20  # of a walk that are looked at


def sides_exchanged(
    markers: Markers,
    static: Mapping[str, FloatArray],
    landmarks: Mapping[str, str],
    bodies: Mapping[str, str],
    still: Sequence[str],
) -> tuple[Diagnostic, ...]:
    """Say in which of the files right and left are exchanged.

    static: (3,) m by label in a frame with Y up; landmarks: landmark to label; bodies: label to segment; still: segments that
    hardly change shape among themselves (pelvis and trunk), for the mirror test.
    """
    parts = handedness({name: static[label] for name, label in landmarks.items() if label in static})
    wrong, right = _judged(parts)
    static_is_wrong = len(wrong) > len(right)
    walk_wrong, walk_right = _judged(handedness_of_walk(markers, landmarks))
    differs = bool(right and not wrong and walk_wrong and not walk_right)
    if differs or mirrored(markers, static, bodies, still):
        known = "static trial" if static_is_wrong else "walk" if right else ""
        hint = f"Rename the markers of the {known}" if known else "Rename the markers in one of the two files"
        return (
            _note(
                "Left-right labels are swapped: the walk is the mirror image of the static trial"
                + (f", and it is the {known} that has right on the left." if known else "."),
                None,
                f"{hint}; check which one has the right side on the right.",
            ),
        )
    if static_is_wrong and not right:
        return (
            _note(
                f"Left-right labels are swapped in walk and static trial alike ({', '.join(wrong)}): what is labelled right "
                "lies to the left of where the body faces. All other findings follow from this.",
                float(min(parts[part] for part in wrong)),
                "Swap the labels of both sides in both files, or correct X_SCREEN and Y_SCREEN: the axes of a mirrored "
                "laboratory frame do the same.",
            ),
        )
    return ()


def _judged(parts: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """Parts that clearly have right on the left, and parts that clearly have it on the right."""
    return [part for part, sine in parts.items() if sine < -CLEAR], [
        part for part, sine in parts.items() if sine > CLEAR
    ]


def handedness_of_walk(markers: Markers, landmarks: Mapping[str, str]) -> dict[str, float]:
    """Median over the walk of `handedness`, by part."""
    frames = markers.positions[:: max(markers.frame_count // _FRAMES, 1)]
    points = {
        name: frames[:, markers.labels.index(label)] for name, label in landmarks.items() if label in markers.labels
    }
    sines = {part: sine[np.isfinite(sine)] for part, sine in _sines(points).items()}
    return {part: float(np.median(known)) for part, known in sines.items() if len(known)}


def handedness(points: Mapping[str, FloatArray]) -> dict[str, float]:
    """By part of the body: sine of the angle from where it faces to its line from left to right, seen from above.

    points: (3,) m by landmark, Y up. Parts of which a landmark group is not known are left out.
    """
    sines = _sines({name: point[None] for name, point in points.items() if np.isfinite(point).all()})
    return {part: float(sine[0]) for part, sine in sines.items() if np.isfinite(sine[0])}


def _sines(points: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """The same for every frame (T,), from points (T, 3); NaN where a point is missing or a line is too short."""
    sines = {}
    for part in load_table("checks/checks")["facing"]:
        known = {
            group: [points[name] for name in part[group] if name in points]
            for group in ("front", "back", "right", "left")
        }
        if not all(known.values()):
            continue
        middle = {group: np.mean(places, axis=0) for group, places in known.items()}
        facing, across = middle["front"] - middle["back"], middle["right"] - middle["left"]
        lengths = np.hypot(facing[:, 0], facing[:, 2]), np.hypot(across[:, 0], across[:, 2])
        # X forward, Y up, Z right: facing x across points down for a person with right on the right
        sine = (facing[:, 0] * across[:, 2] - facing[:, 2] * across[:, 0]) / np.maximum(lengths[0] * lengths[1], 1e-12)
        sines[part["part"]] = np.where(np.minimum(*lengths) > _SHORTEST_M, sine, np.nan)
    return sines


def mirrored(
    markers: Markers, static: Mapping[str, FloatArray], bodies: Mapping[str, str], still: Sequence[str]
) -> bool:
    """Is the walk the mirror image of the static trial? Sign of the determinant of the cross-covariance (Kabsch 1976)."""
    labels = [label for label in markers.labels if label in static and bodies.get(label) in still]
    if len(labels) < 4:
        return False
    columns = [markers.labels.index(label) for label in labels]
    seen = markers.positions[:, columns]
    seen = seen[np.isfinite(seen).all(axis=(1, 2))]
    if not len(seen):
        return False
    seen = seen[:: max(len(seen) // 50, 1)]
    shape = np.stack([static[label] for label in labels])
    shape = shape - shape.mean(axis=0)
    covariance = np.einsum("tki,kj->tij", seen - seen.mean(axis=1, keepdims=True), shape)
    sizes = np.linalg.svd(shape, compute_uv=False)
    if sizes[2] < 0.1 * sizes[0]:
        return False  # nearly flat: a mirror image can be turned onto it
    return bool(np.median(np.linalg.det(covariance)) < 0.0)


def _note(message: str, value: float | None, hint: str) -> Diagnostic:
    limit = None if value is None else CLEAR
    return Diagnostic(CODE, "error", f"{message} Nothing was changed.", value=value, limit=limit, hint=hint)
