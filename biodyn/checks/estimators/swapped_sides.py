"""Detection of completely swapped left and right labels in the walk, the static trial, or both.

A body with swapped sides is its mirror image. If the sides are swapped in one file, only a reflection maps its body onto that
of the other file. If they are swapped in both, the files agree, but the right side of every part is on the left of its facing
direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.library.toml_files import load_table
from biodyn.recording import Markers

CODE = "sides-exchanged"
# Least sine of the angle from the facing direction of a part to its left-right line (1 in upright standing). Smaller values are
# ambiguous (crossed legs, rotated feet, bent trunk).
CLEAR = 0.5
# Least horizontal length, in m, of a line with a defined direction.
_SHORTEST_M = 0.03
_FRAMES = 20  # number of evaluated frames of a walk


def find_swapped_sides(
    markers: Markers,
    static: Mapping[str, FloatArray],
    landmarks: Mapping[str, str],
    bodies: Mapping[str, str],
    still: Sequence[str],
) -> tuple[Diagnostic, ...]:
    """Report the files with swapped left and right labels.

    static: (3,) m by label in a frame with Y up; landmarks: label by landmark. bodies: segment by label. still: segments with
    little relative motion (pelvis and trunk), for the mirror test.
    """
    parts = left_right_sine({name: static[label] for name, label in landmarks.items() if label in static})
    wrong, right = _clearly_swapped_and_correct_parts(parts)
    static_is_wrong = len(wrong) > len(right)
    walk_wrong, walk_right = _clearly_swapped_and_correct_parts(handedness_of_walk(markers, landmarks))
    differs = bool(right and not wrong and walk_wrong and not walk_right)
    if differs or is_mirror_image(markers, static, bodies, still):
        known = "static trial" if static_is_wrong else "walk" if right else ""
        hint = f"Rename the markers of the {known}" if known else "Rename the markers in one of the two files"
        return (
            _swap_note(
                "Left-right labels are swapped: the walk is the mirror image of the static trial"
                + (f", and the labels of the {known} are wrong." if known else "."),
                None,
                f"{hint}. Check in which file the right side is on the right.",
            ),
        )
    if static_is_wrong and not right:
        return (
            _swap_note(
                f"Left-right labels are swapped in both walk and static trial ({', '.join(wrong)}): markers labelled right are "
                "on the left of the facing direction. All other findings are consequences.",
                float(min(parts[part] for part in wrong)),
                "Swap the labels of both sides in both files, or correct X_SCREEN and Y_SCREEN, because a mirrored "
                "laboratory frame has the same effect.",
            ),
        )
    return ()


def _clearly_swapped_and_correct_parts(parts: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """Return the parts with clearly swapped sides and the parts with clearly correct sides."""
    return [part for part, sine in parts.items() if sine < -CLEAR], [
        part for part, sine in parts.items() if sine > CLEAR
    ]


def handedness_of_walk(markers: Markers, landmarks: Mapping[str, str]) -> dict[str, float]:
    """Return the median of `left_right_sine` over the walk, by part."""
    frames = markers.positions[:: max(markers.frame_count // _FRAMES, 1)]
    points = {
        name: frames[:, markers.labels.index(label)] for name, label in landmarks.items() if label in markers.labels
    }
    sines = {part: sine[np.isfinite(sine)] for part, sine in _left_right_sines(points).items()}
    return {part: float(np.median(known)) for part, known in sines.items() if len(known)}


def left_right_sine(points: Mapping[str, FloatArray]) -> dict[str, float]:
    """Return the sine of the horizontal angle from the facing direction to the left-right line, by part of the body.

    points: (3,) m by landmark, Y up. Parts with a missing landmark group are omitted.
    """
    sines = _left_right_sines({name: point[None] for name, point in points.items() if np.isfinite(point).all()})
    return {part: float(sine[0]) for part, sine in sines.items() if np.isfinite(sine[0])}


def _left_right_sines(points: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the sines of `left_right_sine` for every frame (T,), from points (T, 3); NaN for missing points or short lines."""
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
        # X forward, Y up, Z right; the product of facing and left-to-right directions points down if right is on the right
        sine = (facing[:, 0] * across[:, 2] - facing[:, 2] * across[:, 0]) / np.maximum(lengths[0] * lengths[1], 1e-12)
        sines[part["part"]] = np.where(np.minimum(*lengths) > _SHORTEST_M, sine, np.nan)
    return sines


def is_mirror_image(
    markers: Markers, static: Mapping[str, FloatArray], bodies: Mapping[str, str], still: Sequence[str]
) -> bool:
    """Return whether the walk is the mirror image of the static trial (sign of det of the cross-covariance, Kabsch 1976)."""
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
        return False  # the body is nearly flat, so that a rotation also maps it onto its mirror image
    return bool(np.median(np.linalg.det(covariance)) < 0.0)


def _swap_note(message: str, value: float | None, hint: str) -> Diagnostic:
    limit = None if value is None else CLEAR
    return Diagnostic(CODE, "error", f"{message} Nothing was changed.", value=value, limit=limit, hint=hint)
