"""Limits of the base residual: published limits plus the uncertainty of segments without markers.

Segments without markers either have an assumed motion (with an uncertainty from `torque_response`) or are fixed to their parent
as in the static trial. A real trunk stays nearly upright while the pelvis tilts, drops and rotates. Because both motions agree
with the markers, the difference between their required ground reactions is the uncertainty of the marker set. It is computed
from the motion of the trial alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic, Status
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.inverse_dynamics import Dynamics
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.filtering import vector_rms
from biodyn.recording import GroundReaction, PlateWrench
from biodyn.uncertainty.fit_responses import residual_sd
from biodyn.uncertainty.propagation_inputs import Magnitudes

# Multiple of the limit (without the part for segments without markers) beyond which a trial fails: 15 % of the peak
# ground force; valid recordings have up to 6 %.
FAIL_FACTOR = 3.0
_RESIDUALS = ("residual-force", "residual-moment")
# Findings that are consequences rather than causes of a residual.
_CONSEQUENCES = frozenset((*_RESIDUALS, "contact-rejected", "contact-ambiguous", "estimate-not-made"))


def findings_explaining_residual(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the findings that may cause a residual."""
    return tuple(note for note in findings if note.severity != "info" and note.code not in _CONSEQUENCES)


def codes_of_residual_causes(decisive: Iterable[str], findings: Iterable[Diagnostic]) -> frozenset[str]:
    """Return the codes of the possible causes if the residual is among the decisive codes."""
    residual_decides = not set(_RESIDUALS).isdisjoint(decisive)
    return frozenset(note.code for note in findings_explaining_residual(findings)) if residual_decides else frozenset()


@dataclass(frozen=True)
class ResidualLimits:
    """Largest acceptable RMS of the residual; NaN without measured frames.

    Attributes:
        force_n, moment_nm: limits of a warning; fail_force_n, fail_moment_nm: limits of failure.
        unseen_force_n, unseen_moment_nm: part of each limit for segments without markers.
        peak_force_n: peak magnitude of the net measured ground force, N.
        com_height_m: mean height of the centre of mass above the plates.
    """

    force_n: float
    moment_nm: float
    fail_force_n: float
    fail_moment_nm: float
    unseen_force_n: float
    unseen_moment_nm: float
    peak_force_n: float
    com_height_m: float

    def select_kind(self, kind: Literal["force", "moment"]) -> tuple[float, float, float]:
        """Return the limits of warning and failure, and the part of both for segments without markers."""
        if kind == "force":
            return self.force_n, self.fail_force_n, self.unseen_force_n
        return self.moment_nm, self.fail_moment_nm, self.unseen_moment_nm


# Limits of the residual (Hicks et al. 2015, doi 10.1115/1.4029304): force as a fraction of the peak net ground force,
# moment as a fraction of this force times the height of the centre of mass.
FORCE_SHARE = 0.05
MOMENT_SHARE = 0.01


def residual_limits(
    dynamics: Dynamics,
    reaction: GroundReaction,
    centre_of_mass_W: FloatArray,
    plates: Sequence[PlateWrench],
    unseen: tuple[FloatArray, FloatArray],
    weight_n: float,
) -> ResidualLimits:
    """Return the limits of the residual of a trial, from frames with known ground reaction of both feet.

    Because errors of measurement, of segment tables and of segments without markers (`unseen`: force and moment of
    `unobserved_segments_wrench_sd`) may have the same direction, their RMS values are added.
    """
    # Difference between whole-body centres of mass of two published tables in the same walk (0.3-1.2 cm; valid walks:
    # 0.2-2.2 cm, docs/validation.md).
    centre_of_mass_m = 0.02
    valid = dynamics.residual_valid
    total = np.sum([wrench[:, 3:] for wrench in reaction.wrench.values()] or [np.zeros((len(valid), 3))], axis=0)
    force = np.linalg.norm(total[valid], axis=1)
    peak = float(force.max()) if len(force) and force.max() > 0.0 else np.nan
    ground = float(np.mean([plate.corners[:, 1].mean() for plate in plates])) if plates else 0.0
    height = float(np.mean(centre_of_mass_W[valid, 1] - ground)) if valid.any() else np.nan
    # zero without known frames
    unseen_n, unseen_nm = (float(np.nan_to_num(vector_rms(vector[valid]))) for vector in unseen)
    force_n = FORCE_SHARE * peak
    moment_nm = MOMENT_SHARE * height * peak + centre_of_mass_m * weight_n
    return ResidualLimits(
        force_n=force_n + unseen_n,
        moment_nm=moment_nm + unseen_nm,
        fail_force_n=FAIL_FACTOR * force_n + unseen_n,
        fail_moment_nm=FAIL_FACTOR * moment_nm + unseen_nm,
        unseen_force_n=unseen_n,
        unseen_moment_nm=unseen_nm,
        peak_force_n=peak,
        com_height_m=height,
    )


def residual_status(rms: float, limit: float, beyond: float) -> Status:
    """Return the status of an RMS by the limits of warning and failure."""
    return "pass" if rms <= limit else ("warn" if rms <= beyond else "fail")


def unobserved_mass_fraction(model: SubjectModel) -> float:
    """Return the fraction of body mass in segments without markers, which are fixed to their parents."""
    carried = sum(body.inertia.mass for body in model.bodies if body.definition.name in model.locked_segments)
    return float(carried / model.mass_kg)


def report_large_residual(
    code: str, vectors: FloatArray, limit: float, beyond: float, unit: str
) -> tuple[Diagnostic, ...]:
    """Report an RMS of residual force or moment (T, 3) beyond its limit, as an error above `beyond`."""
    size = np.linalg.norm(vectors, axis=1)
    if not (np.isfinite(size).any() and np.isfinite(limit)):
        return ()
    rms, worst = float(np.sqrt(np.nanmean(size**2))), int(np.nanargmax(size))
    status = residual_status(rms, limit, beyond)
    if status == "pass":
        return ()
    return (
        Diagnostic(
            code,
            "error" if status == "fail" else "warning",
            f"Motion and measured forces disagree by {rms:.0f} {unit} RMS, {size[worst]:.0f} {unit} peak "
            f"(limit {limit:.0f} {unit} RMS, fail above {beyond:.0f} {unit}).",
            value=rms,
            limit=limit,
            unit=unit,
            frames=(worst, worst),
            hint="See the findings about mass, synchronisation, plates and markers. If there are none, trunk and "
            "arm markers are missing, or the body differs from the anthropometric table.",
        ),
    )


def unobserved_segments_wrench_sd(
    fit: Fit, dynamics: Dynamics, magnitudes: Magnitudes, stride_s: float, rate_hz: float
) -> tuple[FloatArray, FloatArray]:
    """Return the uncertainty of force (T, 3) N and moment (T, 3) Nm about the root origin caused by segments without markers.

    Zero if every segment has markers; NaN next to frames without a pose.
    """
    fixed = _fixed_segments_wrench_sd(fit, rate_hz)
    assumed = residual_sd(fit, dynamics, magnitudes, stride_s)
    force, moment = (np.hypot(first, other) for first, other in zip(fixed, assumed, strict=True))
    return force, moment


def _fixed_segments_wrench_sd(fit: Fit, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Return the uncertainty caused by segments fixed to their parents."""
    force, moment = (np.zeros((len(fit.solved), 3)) for _ in range(2))
    groups = _combined_fixed_segments(fit.model)
    if not groups:
        return force, moment
    root = fit.model.skeleton.root.name
    (R_root, p_root), *poses = fit.body_poses(root, *groups)
    static = _static_orientations(fit.model)
    facing = _smoothed_heading(R_root, rate_hz)
    g = np.array(fit.model.multibody.gravity_W)
    for (name, (mass, centre, inertia)), (R_WB, p_WB) in zip(groups.items(), poses, strict=True):
        upright = facing @ (_heading_rotation(static[root]).T @ static[name])
        wrenches = []
        for R in (R_WB, upright):
            lever = R @ centre
            pull = mass * (_second_derivative(p_WB + lever, rate_hz) - g)
            wrenches.append((pull, _angular_momentum_rate(R, inertia, rate_hz) + np.cross(p_WB + lever - p_root, pull)))
        force += wrenches[0][0] - wrenches[1][0]
        moment += wrenches[0][1] - wrenches[1][1]
    return force, moment


def _combined_fixed_segments(model: SubjectModel) -> dict[str, tuple[float, FloatArray, FloatArray]]:
    """Return mass, centre of mass and central inertia of all segments fixed to each measured segment, in axes of the latter."""
    fixed = set(model.locked_segments) - {coordinate.body for coordinate in model.assumed}
    bearer: dict[str, str] = {}
    pose: dict[str, tuple[FloatArray, FloatArray]] = {}
    parts: dict[str, list[tuple[float, FloatArray, FloatArray]]] = {}
    for body in model.bodies:
        name, parent = body.definition.name, body.definition.parent
        if not parent or name not in fixed:
            bearer[name], pose[name] = name, (np.eye(3), np.zeros(3))
            continue
        R, p = pose[parent]
        bearer[name], pose[name] = bearer[parent], (R @ body.R_PB, p + R @ body.p_PB)
        R, p = pose[name]
        part = (body.inertia.mass, p + R @ body.inertia.com, R @ body.inertia.tensor @ R.T)
        parts.setdefault(bearer[name], []).append(part)
    return {name: _combine_bodies(part) for name, part in parts.items()}


def _combine_bodies(parts: list[tuple[float, FloatArray, FloatArray]]) -> tuple[float, FloatArray, FloatArray]:
    """Combine rigid bodies by the parallel-axis theorem."""
    mass = sum(part[0] for part in parts)
    centre = np.sum([part[0] * part[1] for part in parts], axis=0) / mass
    inertia = np.zeros((3, 3))
    for m, c, tensor in parts:
        d = c - centre
        inertia += tensor + m * ((d @ d) * np.eye(3) - np.outer(d, d))
    return float(mass), centre, inertia


def _static_orientations(model: SubjectModel) -> dict[str, FloatArray]:
    """Return R_WB of every segment in the static pose."""
    R_WB: dict[str, FloatArray] = {}
    for body in model.bodies:
        parent = body.definition.parent
        R_WB[body.definition.name] = R_WB[parent] @ body.R_PB if parent else body.R_PB
    return R_WB


def _heading_rotation(R_WB: FloatArray) -> FloatArray:
    """Return the rotation (..., 3, 3) about the vertical from World's X to the horizontal direction of a segment's X."""
    x = R_WB[..., :, 0]
    return _rotation_about_vertical(np.arctan2(-x[..., 2], x[..., 0]))


def _smoothed_heading(R_WB: FloatArray, rate_hz: float) -> FloatArray:
    """Return the rotation of `_heading_rotation` averaged over about a stride, interpolated over NaN frames."""
    # Averaging time of the pelvis heading, about a stride.
    facing_s = 1.0
    x = R_WB[:, :, 0]
    known = np.flatnonzero(np.isfinite(x[:, 0]))
    if not len(known):
        return np.full((len(x), 3, 3), np.nan)
    angle = np.interp(np.arange(len(x)), known, np.unwrap(np.arctan2(-x[known, 2], x[known, 0])))
    smooth = scipy.ndimage.uniform_filter1d(angle, max(round(facing_s * rate_hz), 1), mode="nearest")
    return _rotation_about_vertical(smooth)


def _rotation_about_vertical(angle: FloatArray) -> FloatArray:
    c, s, zero, unit = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    rows = [np.stack(row, axis=-1) for row in ((c, zero, s), (zero, unit, zero), (-s, zero, c))]
    return np.stack(rows, axis=-2)


def _second_derivative(p: FloatArray, rate_hz: float) -> FloatArray:
    """Return the second time derivative by finite differences of low-pass filtered data."""
    return _first_derivative(_first_derivative(p, rate_hz), rate_hz)


def _first_derivative(p: FloatArray, rate_hz: float) -> FloatArray:
    if len(p) < 2:
        return np.full_like(p, np.nan)
    return np.asarray(np.gradient(p, 1.0 / rate_hz, axis=0))


def _angular_momentum_rate(R: FloatArray, inertia: FloatArray, rate_hz: float) -> FloatArray:
    """Return d/dt of the angular momentum about the centre of mass: L = R I R^T w, skew(w) = dR/dt R^T."""
    W = _first_derivative(R, rate_hz) @ np.swapaxes(R, 1, 2)
    w = np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=1)
    return _first_derivative(np.einsum("tij,jk,tlk,tl->ti", R, inertia, R, w), rate_hz)
