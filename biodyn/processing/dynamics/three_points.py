"""Joint moments about axes of segments that three points give anew in each frame, in place of the fitted segments' axes.

A fitted segment follows all its markers and its joints, so that its turn about the long axis in the walk is an average of what
these show. Clinical software builds each segment from three points alone: the proximal joint centre, a
marker at the far end, and a wand (Kadaba et al. 1990, doi 10.1002/jor.1100080310; Davis et al. 1991, doi
10.1016/0167-9457(91)90046-Z). Here the triangle of these points turns with the segment from where the model has it: joint centre,
axes and marker places stay those of the static trial, the moment itself stays as it is, only what it is expressed in changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, without_side
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.rotations import cross
from biodyn.library.tables import sided_rows
from biodyn.processing.dynamics.solve import Dynamics, JointLoad, joint_coordinate_axes
from biodyn.processing.kinematics.fit import Fit
from biodyn.recording import Markers

_LEAST_SINE = 0.02  # of the angle at the end between the line and the plane's marker: flatter triangles fix no turn


def in_three_point_axes(
    dynamics: Dynamics, fit: Fit, markers: Markers, label_of: Mapping[str, str]
) -> tuple[Dynamics, tuple[Diagnostic, ...]]:
    """Return the dynamics with moments and forces of joints in three-point axes where the markers give them, and what is missing.

    Parameters:
        markers: in World, (T, M, 3) m, as the fit took them. label_of: labels of the landmarks that markers mark.

    A frame in which one of a segment's markers is not seen keeps the fitted axes; how many of a segment these are is told.
    """
    axes, lacking, unseen = {}, [], {}
    for _, row in sided_rows("body/three_points", "segment"):
        if row["body"] not in fit.model.frames:
            continue
        found = _segment_axes(fit, markers, row["body"], [label_of.get(row["end"]), label_of.get(row["plane"])])
        if found is None:
            lacking.append(row["body"])
            continue
        axes[row["body"]], seen = found
        if not seen[fit.reliable].all():
            unseen[row["body"]] = int((fit.reliable & ~seen).sum())
    joints = tuple(_expressed(load, fit, axes) for load in dynamics.joints)
    return replace(dynamics, joints=joints), _notes(lacking, unseen)


def _notes(lacking: Sequence[str], unseen: Mapping[str, int]) -> tuple[Diagnostic, ...]:
    notes = []
    if lacking:
        names = ", ".join(lacking)
        text = (
            f"Moments are given in the axes of the fitted segments for {names}: no three markers show how these turn."
        )
        notes.append(Diagnostic("moment-axes", "info", text))
    if unseen:
        frames = ", ".join(f"{body} ({count})" for body, count in unseen.items())
        text = (
            f"In frames without one of the three markers moments are given in the axes of the fitted segment: {frames}."
        )
        hint = "Where the axes change, components of moments may step; fill the gaps in the capture software."
        notes.append(Diagnostic("moment-axes", "info", text, hint=hint))
    return tuple(notes)


def _segment_axes(
    fit: Fit, markers: Markers, body: str, labels: list[str | None]
) -> tuple[FloatArray, BoolArray] | None:
    """R_WB (T, 3, 3) from the segment's joint centre and two markers, and where (T,) these are seen; None where one lacks."""
    places = {marker.label: marker.p_BM for marker in fit.model.markers if marker.body == body}
    known = [label for label in labels if label in places and label in markers.labels]
    if len(known) < len(labels):
        return None
    R_WB, p_WB = fit.body_pose(body)
    still = _triad(np.zeros(3), *(places[label] for label in known))
    moving = _triad(p_WB, *(markers.positions[:, markers.labels.index(label)] for label in known))
    if not np.isfinite(still).all():
        return None
    turned = moving @ still.T
    seen: BoolArray = np.asarray(np.isfinite(turned).all(axis=(1, 2)))
    return np.where(seen[:, None, None], turned, R_WB), seen


def _triad(centre: FloatArray, end: FloatArray, plane: FloatArray) -> FloatArray:
    """Axes (..., 3, 3): Y from `end` to `centre`, `plane` in the plane of Y and Z; NaN where the three lie in a line."""
    y = centre - end
    y = y / np.linalg.norm(y, axis=-1, keepdims=True)
    x = cross(y, plane - end)
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    x = np.where(length > _LEAST_SINE * np.linalg.norm(plane - end, axis=-1, keepdims=True), x / length, np.nan)
    return np.stack([x, y, cross(x, y)], axis=-1)


def _expressed(load: JointLoad, fit: Fit, axes: Mapping[str, FloatArray]) -> JointLoad:
    """The load in these axes of its two segments; itself where neither has any."""
    definition = next(b.definition for b in fit.model.moving if _is_joint(b.definition.joint, b.definition.side, load))
    if definition.parent not in axes and definition.name not in axes:
        return load
    R_WP, R_WB = fit.body_pose(definition.parent)[0], fit.body_pose(definition.name)[0]
    new_P, new_B = axes.get(definition.parent, R_WP), axes.get(definition.name, R_WB)
    frames = {"proximal": new_P, "distal": new_B, "jcs": joint_coordinate_axes(new_P, new_B)}

    def along(components: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        vector_W = np.einsum("tij,tj->ti", R_WP, components["proximal"])
        return {frame: np.einsum("tji,tj->ti", R, vector_W) for frame, R in frames.items()}

    return replace(load, moment=along(load.moment), force=along(load.force))


def _is_joint(joint: str, side: str, load: JointLoad) -> bool:
    return side == load.side and without_side(joint, side) == load.joint
