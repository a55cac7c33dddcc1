"""A laboratory's own analysis put together again: its segments, the forces as they were measured, its inertias.

Laboratory software stores the axes and origins of its segments as points. With the plates' raw forces and the table of
inertias it uses, these give its joint moments, and so a whole analysis to exchange parts with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from biodyn.comparison.segments import MovingBody, SegmentInertias, SegmentMotion
from biodyn.conventions import BoolArray, FloatArray
from biodyn.library.load import load_table
from biodyn.library.tables import for_each_side
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.plates import plate_wrench, resample_wrench
from biodyn.recording import Contact, Recording

_TABLE = "formats/lab_segments"
_DEGREE = 5
_LEAST_FRAMES = 12
# A plate's flank belongs to its contact.
_FLANK_S = 0.02
# Lengths of model outputs are stored in millimetres.
_MM = 1e-3


def laboratory_table() -> Mapping[str, Any]:
    """The table of segments, moments and angles of laboratory software."""
    return load_table(_TABLE)


def laboratory_body(
    recording: Recording, ours: MovingBody, contacts: Sequence[Contact], mass_kg: float
) -> MovingBody | None:
    """Return the laboratory's analysis in the World of ours; None where the file does not hold its segments.

    Parameters:
        recording: the file, as read, with the frames of `ours`.
        contacts: whose foot is on which plate when.
        mass_kg: that the laboratory's software used.
    """
    points = {label: _MM * output.values @ ours.R_WL.T for label, output in recording.model_outputs.items()}
    suffixes = laboratory_table()["suffixes"]
    found = [entry for entry in _segments() if entry["name"] in ours.names and _is_there(entry, suffixes, points)]
    if len(found) < len([entry for entry in _segments() if entry["name"] in ours.names]) or len(found) < 2:
        return None
    frame = ours.only([entry["name"] for entry in found], np.ones(len(ours.time_s), dtype=bool))
    R = np.stack([_axes(entry, suffixes, points, frame.motion.R[:, s]) for s, entry in enumerate(found)], axis=1)
    p = np.stack([points[entry["origin"]] for entry in found], axis=1)
    known = np.asarray(np.isfinite(R).all(axis=(1, 2, 3)) & np.isfinite(p).all(axis=(1, 2)))
    wrench = measured_wrenches(recording, frame, contacts)
    return replace(
        frame,
        motion=motion_of_poses(R, p, known, ours.time_s),
        inertias=_inertias(found, frame, points, R, p, mass_kg),
        wrench=wrench,
        mass_kg=mass_kg,
        known=known,
        valid=frame.valid & known[:, None],
    )


def _segments() -> list[dict[str, Any]]:
    return [entry for raw in laboratory_table()["segment"] for _, entry in for_each_side(raw)]


def _is_there(entry: Mapping[str, Any], suffixes: Sequence[str], points: Mapping[str, FloatArray]) -> bool:
    wanted = (
        [entry["axes"] + suffix for suffix in suffixes] + [entry["origin"]] + ([entry["far"]] if "far" in entry else [])
    )
    return all(label in points and np.isfinite(points[label]).any() for label in wanted)


def _axes(
    entry: Mapping[str, Any], suffixes: Sequence[str], points: Mapping[str, FloatArray], ours: FloatArray
) -> FloatArray:
    """Axes (T, 3, 3) of a segment, named as ours: of the 24 ways to name them the one nearest to ours."""
    origin, *ends = (points[entry["axes"] + suffix] for suffix in suffixes)
    R = np.stack([end - origin for end in ends], axis=-1)
    R = R / np.linalg.norm(R, axis=1, keepdims=True)
    apart = np.swapaxes(ours, 1, 2) @ R
    known = np.isfinite(apart).all(axis=(1, 2))
    if not known.any():
        return R
    mean = Rotation.from_matrix(apart[known]).mean()
    names = Rotation.create_group("O").as_matrix()
    nearest = names[np.argmax(np.einsum("ij,nij->n", mean.as_matrix(), names))]
    return np.asarray(R @ nearest.T)


def motion_of_poses(R: FloatArray, p: FloatArray, known: BoolArray, time_s: FloatArray) -> SegmentMotion:
    """Return the motion of segments with poses R (T, S, 3, 3), p (T, S, 3): quintic splines through each known stretch."""
    omega, alpha, a = (np.full(p.shape, np.nan) for _ in range(3))
    for first, stop in finite_stretches(known):
        if stop - first < _LEAST_FRAMES:
            continue
        own = slice(first, stop)
        t = time_s[own]
        a[own] = make_interp_spline(t, p[own], k=_DEGREE)(t, nu=2)
        spline = make_interp_spline(t, R[own].reshape(stop - first, -1), k=_DEGREE)
        rate, change = (spline(t, nu=order).reshape(R[own].shape) for order in (1, 2))
        back = np.swapaxes(R[own], -1, -2)
        # Rdot = [omega] R, so [omega] = Rdot R^T and [alpha] is the skew part of Rddot R^T
        omega[own], alpha[own] = _vector(rate @ back), _vector(change @ back)
    return SegmentMotion(R, p, omega, alpha, a)


def _vector(matrix: FloatArray) -> FloatArray:
    twice = matrix - np.swapaxes(matrix, -1, -2)
    return 0.5 * np.stack([twice[..., 2, 1], twice[..., 0, 2], twice[..., 1, 0]], axis=-1)


def measured_wrenches(recording: Recording, frame: MovingBody, contacts: Sequence[Contact]) -> FloatArray:
    """(T, S, 6) the plates' forces as they were measured, not filtered, on the segments that bear on them."""
    rate_hz = recording.markers.rate_hz
    feet = {frame.sides[s]: s for s in range(len(frame.names)) if np.any(frame.wrench[:, s])}
    plates = {plate.number: plate for plate in recording.rotated(frame.R_WL).plates}
    found = np.zeros((len(frame.time_s), len(frame.names), 6))
    for contact in contacts:
        if contact.decision != "assigned" or contact.side not in feet or contact.plate not in plates:
            continue
        raw = plate_wrench(plates[contact.plate], len(found), rate_hz)
        wrench = resample_wrench(raw, len(found), rate_hz).wrench
        during = (frame.time_s >= contact.start_s - _FLANK_S) & (frame.time_s <= contact.end_s + _FLANK_S)
        found[during, feet[contact.side]] += wrench[during]
    return found


def _inertias(
    entries: Sequence[Mapping[str, Any]],
    frame: MovingBody,
    points: Mapping[str, FloatArray],
    R: FloatArray,
    p: FloatArray,
    mass_kg: float,
) -> SegmentInertias:
    """Inertias by the laboratory's table; those of segments that it leaves out are ours, for its body mass."""
    own = frame.inertias
    mass, com, tensor = own.mass.copy(), own.com.copy(), own.tensor.copy()
    for s, entry in enumerate(entries):
        if "far" not in entry:
            continue
        ends = np.einsum("tji,tj->ti", R[:, s], points[entry["far"]] - p[:, s])
        line = np.nanmean(ends, axis=0)
        length = float(np.linalg.norm(line))
        along = line / length
        mass[s] = entry["mass_share"] * mass_kg
        com[s] = entry["mass_centre"] * line
        tensor[s] = mass[s] * (entry["gyration"] * length) ** 2 * (np.eye(3) - np.outer(along, along))
    return SegmentInertias(mass, com, tensor)
