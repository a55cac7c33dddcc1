"""Set stored positions that were not measured to NaN, for files of every format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.geometry.points import all_coordinates_true, all_finite
from biodyn.io.file_access import COPY_AGAIN, EXPORT_AGAIN
from biodyn.io.point_classification import PointRoles

# Three equal coordinates of this size (-999, 9999.99) that occur repeatedly mark a point as not seen.
_LEAST_MARK = 999.0
_RECONSTRUCT = "Reconstruct and label the markers in the capture software and export the trial again."


def replace_unseen_by_nan(points: FloatArray) -> FloatArray:
    """Return positions with NaN for points that were not seen: exactly (0, 0, 0), not finite, or a code such as (-9999, -9999,
    -9999)."""
    unseen = all_coordinates_true(points == 0.0) | ~all_finite(points)
    alike = all_coordinates_true(points == points[..., :1]) & (np.abs(points[..., 0]) >= _LEAST_MARK)
    marks, counts = np.unique(points[alike][:, 0], return_counts=True)
    unseen |= alike & np.isin(points[..., 0], marks[counts > 1])
    return np.where(unseen[..., None], np.nan, points)


def without_impossible_positions(path: Path, positions: FloatArray) -> tuple[FloatArray, tuple[Diagnostic, ...]]:
    """Return the positions with NaN for coordinates of kilometres, which are damaged numbers, and a note.

    Raises InputFileError if so many different positions are damaged that the remaining ones are unreliable, too.
    """
    # Acceptable share of damaged positions. A value that marks "not seen" is one repeated number.
    most_impossible = 0.01
    largest_coordinate_m = 1000.0
    impossible = np.atleast_2d(~all_coordinates_true(~(np.abs(positions) > largest_coordinate_m)))
    count = int(impossible.sum())
    if not count:
        return positions, ()
    different = len(np.unique(positions[impossible][:, 0]))
    seen = int(np.isfinite(positions[..., 0]).sum())
    if different > 0.5 * count and count > most_impossible * seen:
        raise InputFileError(
            f"'{path}' is damaged: {count} of its {seen} marker positions are kilometres from the origin, with different "
            f"values.",
            COPY_AGAIN,
        )
    if count == seen:
        raise InputFileError(
            f"'{path}' holds no usable marker position: all {seen} are kilometres away from the origin.", EXPORT_AGAIN
        )
    note = Diagnostic(
        "recording-repaired",
        "warning",
        f"{count} marker positions are farther than {largest_coordinate_m:g} m from the origin and are treated as missing.",
        value=float(count),
        limit=0.0,
    )
    return np.where(impossible[..., None], np.nan, positions), (note,)


def require_markers(path: Path, labels: Sequence[str], markers: FloatArray) -> None:
    """Raise InputFileError unless `markers` (T, M, 3) has a marker that is seen in a frame; `labels`: labels of all points."""
    if markers.shape[1] == 0:
        named = sum(bool(label) for label in labels)
        raise InputFileError(
            f"'{path}' contains no marker among its {len(labels)} points ({named} labelled).",
            "Label the markers in the capture software.",
        )
    if not np.isfinite(markers).any():
        raise InputFileError(
            f"'{path}' has {markers.shape[1]} marker labels, but no marker is seen in any frame.", _RECONSTRUCT
        )


def unlabelled_points_note(roles: PointRoles) -> tuple[Diagnostic, ...]:
    """Return the note on unlabelled points that are ignored; points of other persons have a separate note."""
    dropped = [label for label, kind in zip(roles.labels, roles.kinds, strict=True) if kind == "dropped"]
    if roles.other_subjects:
        dropped = [label for label in dropped if label]
    if not dropped:
        return ()
    named = [label for label in dropped if label]
    shown = ", ".join(named[:8]) + (" and more" if len(named) > 8 else "")
    text = f"{len(dropped)} unlabelled {'point is' if len(dropped) == 1 else 'points are'} ignored" + (
        f": {shown}." if shown else "."
    )
    return (Diagnostic("points-dropped", "info", text, value=float(len(dropped))),)
