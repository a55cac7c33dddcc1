"""Fit of the skeleton to the markers of a whole trial, with its motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.errors import MarkerSetError
from biodyn.geometry.rotations import cross
from biodyn.model.body_model import SubjectModel
from biodyn.processing.signals.derivatives import motion_from_configuration
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.segment_angles import continuous_zxy
from biodyn.recording import Markers, Motion
from biodyn.rigid_body import InverseKinematics, body_poses
from biodyn.rigid_body.marker_fit import UNDETERMINED

# Number of frames at the ends of a spline in which the curvature depends on the rounding of the last samples.
_SPLINE_EDGE_FRAMES = 2


@dataclass(frozen=True)
class Fit:
    """Result of the inverse kinematics of a trial.

    Attributes:
        labels: names of the fitted markers. marker_error: distance (T, M) m from the skeleton, NaN where not visible.
        solved: (T,) bool, frames with a pose. reliable: (T,) bool, frames with usable accelerations.
        reason: T strings, why a frame is not reliable, or "".
        lost: (T, C) bool, coordinates without visible markers for too long; their values and dependent results are unknown.
        status, iterations: (T,) status and iterations of the solver. UNDETERMINED: the markers do not determine the root; such
            frames are bridged if `solved`.
        motion: q, v, vdot (NaN rows where unknown).
        configurations: (T, nq) configurations of the links, equal to `motion.q` up to rounding.
        states: values and rates (T, C) of the free coordinates of an OpenSim model, which need not be angles of single
            axes; None for a library skeleton.
    """

    labels: tuple[str, ...]
    marker_error: FloatArray
    solved: BoolArray
    reliable: BoolArray
    reason: tuple[str, ...]
    lost: BoolArray
    status: np.ndarray
    iterations: np.ndarray
    motion: Motion
    configurations: FloatArray
    model: SubjectModel
    states: tuple[FloatArray, FloatArray] | None = None

    @property
    def values(self) -> FloatArray:
        """Values (T, C) of the free coordinates, rad or m."""
        return self.motion.q[:, [c.q_index for c in self.model.coordinates]] if self.states is None else self.states[0]

    @property
    def coordinate_rates(self) -> FloatArray:
        """Rates (T, C) of the free coordinates, rad/s or m/s."""
        return self.motion.v[:, [c.v_index for c in self.model.coordinates]] if self.states is None else self.states[1]

    def link_poses(self, frames: slice | IntArray = slice(None)) -> tuple[FloatArray, FloatArray]:
        """Return the poses (T, L, 3, 3), (T, L, 3) of the links in some frames, NaN where not solved."""
        q, solved, mb = self.configurations[frames], self.solved[frames], self.model.multibody
        R, p = body_poses(mb, np.where(solved[:, None], q, mb.neutral_q()))
        R[~solved], p[~solved] = np.nan, np.nan
        return R, p

    def link_pose_blocks(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield the frames of each block of the trial, and the poses of the links in them, which limits the memory."""
        block_frames = 5000
        for first in range(0, len(self.solved), block_frames):
            rows = slice(first, first + block_frames)
            yield rows, *self.link_poses(rows)

    def body_poses(self, *names: str) -> list[tuple[FloatArray, FloatArray]]:
        """Return R_WB (T, 3, 3) and p_WB (T, 3) of each segment."""
        count = len(self.solved)
        poses = [(np.empty((count, 3, 3)), np.empty((count, 3))) for _ in names]
        for rows, R, p in self.link_pose_blocks():
            for name, (R_WB, p_WB) in zip(names, poses, strict=True):
                R_WB[rows], p_WB[rows] = self.model.body_poses(R, p, name)
        return poses

    def body_pose(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Return R_WB (T, 3, 3) and p_WB (T, 3) of a segment."""
        return self.body_poses(name)[0]

    def base_wrench(self, tau: FloatArray) -> FloatArray:
        """Return the wrench (T, 6) F_Wo_W of the generalised forces (T, nv) of the base, [moment; force], Nm and N."""
        wrench = np.empty((len(tau), 6))
        for rows, R, p in self.link_pose_blocks():
            force = np.einsum("tij,tj->ti", R[:, 0], tau[rows, 3:6])
            wrench[rows, :3] = np.einsum("tij,tj->ti", R[:, 0], tau[rows, :3]) + cross(p[:, 0], force)
            wrench[rows, 3:] = force
        return wrench

    def marker_positions(self) -> FloatArray:
        """Return the positions (T, M, 3) m of the markers on the skeleton in World."""
        positions = np.empty((len(self.solved), len(self.model.markers), 3))
        for rows, R, p in self.link_pose_blocks():
            positions[rows] = self.model.marker_positions(R, p)
        return positions


def fit_from_solution(
    model: SubjectModel, markers: Markers, solution: InverseKinematics, lost: BoolArray, edge_s: float
) -> Fit:
    """Return the fit for the configurations of a method, with the spline through them as motion.

    Parameters:
        markers: fitted markers. solution: result of the method, with NaN `q` in frames that could not be solved.
        lost: (T, C) coordinates that are unknown although the frame was solved.
        edge_s: time from the ends of a solved stretch within which accelerations are unreliable (half a period of the cut-off,
            because the filter has no data beyond the ends).



    Raises MarkerSetError if no frame was solved.
    """
    solved: BoolArray = np.asarray(np.isfinite(solution.q).all(axis=1))
    if not solved.any():
        raise MarkerSetError(
            "The skeleton could not be fitted in any frame, because too few markers are visible at the same time.",
            "Run 'biodyn check FILE.c3d' to see when each marker is visible.",
        )
    motion = motion_from_configuration(markers.time_s, solution.q)
    moving: BoolArray = np.asarray(np.isfinite(motion.vdot).all(axis=1))
    is_open = solution.status == UNDETERMINED
    reason = _unreliable_reasons(solved, moving, is_open, model.skeleton.root.name, markers.rate_hz, edge_s)
    return Fit(
        labels=tuple(m.label for m in model.markers),
        marker_error=solution.marker_error,
        solved=solved,
        reliable=np.array([not text for text in reason]),
        reason=tuple(reason),
        lost=lost,
        status=solution.status,
        iterations=solution.iterations,
        motion=motion,
        configurations=solution.q,
        model=model,
    )


def _unreliable_reasons(
    solved: BoolArray, moving: BoolArray, is_open: BoolArray, root: str, rate_hz: float, edge_s: float
) -> list[str]:
    open_root = f"no visible markers determine the orientation of the {root}"
    unsolved = [open_root if some else "too few markers are visible" for some in is_open]
    reasons = ["" if pose else reason for pose, reason in zip(solved, unsolved, strict=True)]
    for t in np.flatnonzero(solved & ~moving):
        reasons[t] = "the stretch between gaps is too short for accelerations"
    return mark_ends(reasons, solved & moving, rate_hz, edge_s, "recorded stretch")


def mark_ends(reasons: list[str], known: BoolArray, rate_hz: float, edge_s: float, stretch: str) -> list[str]:
    """Return the reasons (T,) with a reason added in the frames near both ends of each stretch of `known` (T,) frames.

    Accelerations are unreliable there, within `edge_s`. Existing reasons are kept. stretch: name of the stretches in the text.
    """
    edge = max(int(np.ceil(edge_s * rate_hz)), _SPLINE_EDGE_FRAMES)
    text = f"within {edge / rate_hz:.2f} s of the end of the {stretch}, where accelerations are unreliable"
    for first, stop in finite_stretches(known):
        for t in {*range(first, min(first + edge, stop)), *range(max(stop - edge, first), stop)}:
            reasons[t] = reasons[t] or text
    return reasons


def base_angles(model: SubjectModel, fit: Fit) -> FloatArray:
    """Return tilt, list, rotation of the root (T, 3) rad: R_WB = Rz(tilt) Rx(list) Ry(rotation), continuous through time."""
    R, _ = fit.body_pose(model.skeleton.root.name)
    time_s = fit.motion.time_s
    return continuous_zxy(R, (len(time_s) - 1) / (time_s[-1] - time_s[0]) if len(time_s) > 1 else 1.0)


@dataclass(frozen=True)
class PoseMisfit:
    """Differences between recorded segment poses and the fitted skeleton.

    Attributes:
        labels: names of the S segments.
        origin_m: distances (T, S) of their origins. turn_rad: angles (T, S) between the attitudes. NaN where not visible.
    """

    labels: tuple[str, ...]
    origin_m: FloatArray
    turn_rad: FloatArray


def compute_pose_misfit(fit: Fit, points: Markers) -> PoseMisfit:
    """Return the misfit of the poses that are represented by the virtual points `points`."""
    segments = [label.rpartition(".")[0] for label in fit.labels]
    names = tuple(dict.fromkeys(segments))
    groups = np.array([[m for m, segment in enumerate(segments) if segment == name] for name in names])
    places = fit.marker_positions()
    columns = [points.index(label) for label in fit.labels]
    apart = (points.positions[:, columns] - places)[:, groups]  # (T, S, 4, 3)
    arms = places[:, groups] - places[:, groups].mean(axis=2, keepdims=True)
    # the points are the corners of a tetrahedron: sum (|r|^2 - r r^T) = 2/3 sum |r|^2
    turn = np.cross(arms, apart).sum(axis=2) / (2.0 / 3.0 * np.sum(arms**2, axis=(2, 3)))[..., None]
    return PoseMisfit(
        names, np.asarray(np.linalg.norm(apart.mean(axis=2), axis=2)), np.asarray(np.linalg.norm(turn, axis=2))
    )
