"""Poses, velocities, accelerations and Jacobians of bodies, steps on the configuration manifold, joints and ends of segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.kernels import dynamics, kinematics
from biodyn.kernels.tree import FREE, SPHERICAL
from biodyn.rigid_body.arguments import checked, of_bodies, state, workspace
from biodyn.rigid_body.multibody import Multibody


def body_poses(mb: Multibody, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return R_WB (T, B, 3, 3) and p_WB (T, B, 3) m of all bodies for q (T, nq).

    Raises ModelError for a wrong shape or infinite numbers; NaN gives NaN in its frame.
    """
    (positions,) = state(mb, q)
    frames, n = positions.shape[0], mb.tree.parent.shape[0]
    R, p = np.empty((frames, 9 * n)), np.empty((frames, 3 * n))
    kinematics.poses(mb.tree, positions, R, p, workspace(kinematics.work_size(mb.tree)))
    return of_bodies(mb, R.reshape(frames, n, 3, 3)), of_bodies(mb, p.reshape(frames, n, 3))


def _motion(mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    positions, rates, accelerations = state(mb, q, v=v, vdot=np.zeros_like(np.asarray(v)) if vdot is None else vdot)
    frames, n = positions.shape[0], mb.tree.parent.shape[0]
    velocity, acceleration = np.empty((frames, 6 * n)), np.empty((frames, 6 * n))
    work = workspace(kinematics.work_size(mb.tree))
    kinematics.motion(mb.tree, positions, rates, accelerations, velocity, acceleration, work)
    return of_bodies(mb, velocity.reshape(frames, n, 6)), of_bodies(mb, acceleration.reshape(frames, n, 6))


def body_velocities(mb: Multibody, q: ArrayLike, v: ArrayLike) -> FloatArray:
    """Return the spatial velocities (T, B, 6), [omega; v of the body origin] in body axes, rad/s and m/s.

    q (T, nq), v (T, nv). Featherstone 2008, eq. 5.8.
    """
    return _motion(mb, q, v, None)[0]


def body_accelerations(mb: Multibody, q: ArrayLike, v: ArrayLike, vdot: ArrayLike) -> FloatArray:
    """Return the spatial accelerations (T, B, 6), [angular; linear] about the body origin in body axes.

    q (T, nq), v, vdot (T, nv); gravity is not added. The classical acceleration of the body origin is the linear
    part + omega x v (Featherstone 2008, eq. 2.46).
    """
    return _motion(mb, q, v, vdot)[1]


def integrate(mb: Multibody, q: ArrayLike, v_dt: ArrayLike) -> FloatArray:
    """Return the configurations (T, nq) reached from q (T, nq) by the steps v dt (T, nv) in body axes.

    Rotations by the exponential map, free joints along the screw of the constant body-frame twist.
    """
    positions, steps = state(mb, q, v_dt=v_dt)
    result = np.empty_like(positions)
    kinematics.integrate(mb.tree, positions, steps, result)
    return result


def difference(mb: Multibody, q0: ArrayLike, q1: ArrayLike) -> FloatArray:
    """Return the steps (T, nv) with integrate(q0, step) = q1, rotations the shorter way; q0, q1 (T, nq)."""
    (start,), (end,) = state(mb, q0), state(mb, q1)
    start, end = (np.ascontiguousarray(a) for a in np.broadcast_arrays(start, end))
    steps = np.empty((start.shape[0], mb.nv))
    kinematics.difference(mb.tree, start.copy(), end.copy(), steps)
    return steps


def random_configuration(mb: Multibody, rng: np.random.Generator, frames: int = 1, spread: float = 1.0) -> FloatArray:
    """Return configurations q (frames, nq): rotations uniform, one-axis coordinates uniform within their limits.

    Where a limit is missing, `spread` (rad or m) replaces it, from the other limit or from 0; places of free joints
    are uniform within +-spread m. rng: from `numpy.random.default_rng(seed)`.
    """
    tree = mb.tree
    q = np.empty((frames, mb.nq))
    for i in range(tree.parent.shape[0]):
        at, kind = int(tree.idx_q[i]), int(tree.kind[i])
        if kind in (FREE, SPHERICAL):
            if kind == FREE:
                q[:, at : at + 3] = rng.uniform(-spread, spread, size=(frames, 3))
                at += 3
            turns = rng.normal(size=(frames, 4))  # a normal vector points everywhere alike
            q[:, at : at + 4] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
        elif tree.nv[i] == 1:
            low, high = mb.lower[tree.idx_v[i]], mb.upper[tree.idx_v[i]]
            if not np.isfinite(low):
                low = min(-spread, high - spread)
            if not np.isfinite(high):
                high = max(spread, low + spread)
            q[:, at] = rng.uniform(low, high, size=frames)
    return q


Axes = Literal["world", "body"]


def joint_jacobians(mb: Multibody, q: ArrayLike) -> FloatArray:
    """Return the columns of all joints (T, 6, nv), [angular; linear at the world origin] in world axes, for q (T, nq).

    The spatial velocity of a body, about the world origin, is the sum of s_j v_j over the coordinates on its path.
    Featherstone 2008, eq. 4.7 (in world coordinates).
    """
    (positions,) = state(mb, q)
    J = np.empty((len(positions), 6 * mb.nv))
    dynamics.joint_columns(mb.tree, positions, J, workspace(dynamics.work_size(mb.tree, 6 * mb.nv)))
    return J.reshape(-1, 6, mb.nv)


def on_path(mb: Multibody, body: int) -> BoolArray:
    """Return which velocity coordinates (nv,) move the body."""
    return mb.paths[body].copy()


def _index(mb: Multibody, body: int | str) -> int:
    index = mb.body_index(body) if isinstance(body, str) else int(body)
    if not 0 <= index < len(mb.bodies):
        raise ModelError(f"No body with index {index}; the model has {len(mb.bodies)}.")
    return index


def jacobian(
    mb: Multibody,
    q: ArrayLike,
    body: int | str,
    point: ArrayLike | None = None,
    relative_to: int | str | None = None,
    axes: Axes = "world",
) -> FloatArray:
    """Return the geometric Jacobian (T, 6, nv): [omega; velocity of the point] = J v.

    Args:
        body: name or index of the body that moves.
        point: (3,) m, the point in body axes from the body origin; the origin where omitted.
        relative_to: the body of the subtracted motion: the Jacobian along the path between the two; None = world.
        axes: the result in world or in the moving body's axes.

    Raises ModelError for an unknown body or wrong shapes.
    """
    b = _index(mb, body)
    J = joint_jacobians(mb, q)
    moving = on_path(mb, b).astype(np.float64)
    if relative_to is not None:
        moving -= on_path(mb, _index(mb, relative_to))
    J *= moving
    R_WB, p_WB = body_poses(mb, q)
    x = p_WB[:, b] if point is None else p_WB[:, b] + R_WB[:, b] @ checked(point, (3,), "point")
    J[:, 3:] += np.cross(J[:, :3], x[:, :, None], axisa=1, axisb=1, axisc=1)
    if axes == "body":
        return np.concatenate(
            [R_WB[:, b].transpose(0, 2, 1) @ J[:, :3], R_WB[:, b].transpose(0, 2, 1) @ J[:, 3:]], axis=1
        )
    return J


def jacobian_rate_times_v(
    mb: Multibody, q: ArrayLike, v: ArrayLike, body: int | str, point: ArrayLike | None = None
) -> FloatArray:
    """Return dJ/dt v (T, 6) in world axes: the [angular; classical linear] acceleration of the point at vdot = 0.

    So the acceleration of the point is jacobian(...) vdot + this. Arguments as for `jacobian`.
    """
    b = _index(mb, body)
    R_WB, _ = body_poses(mb, q)
    velocity = body_velocities(mb, q, v)[:, b]
    acceleration = body_accelerations(mb, q, v, np.zeros_like(np.asarray(v, dtype=np.float64)))[:, b]
    x = np.zeros(3) if point is None else checked(point, (3,), "point")
    w, dw = velocity[:, :3], acceleration[:, :3]
    # classical acceleration: of the origin + dw x x + w x (w x x)
    linear = acceleration[:, 3:] + np.cross(w, velocity[:, 3:]) + np.cross(dw, x) + np.cross(w, np.cross(w, x))
    return np.concatenate(
        [np.einsum("tij,tj->ti", R_WB[:, b], dw), np.einsum("tij,tj->ti", R_WB[:, b], linear)], axis=1
    )


@dataclass(frozen=True, eq=False)
class StickFigure:
    """What can be drawn of a tree whatever its bodies are called; B of them have mass.

    Attributes:
        bodies: (B,) their numbers in the tree, parents first. ends_m: (B, 3) in their own axes.
        carried: for each the places, in `bodies`, of those that hang on it, massless links left out.
    """

    bodies: IntArray
    ends_m: FloatArray
    carried: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, mb: Multibody, q: FloatArray | None = None) -> StickFigure:
        """Return the figure of a tree in the posture q (nq,): a real one, where joints move along axes as well.

        An end is the mean of the joints that the body carries, but at least as far beyond its mass centre as its own joint is
        before it.
        """
        heavy = [i for i, body in enumerate(mb.bodies) if body.mass_kg > 0.0]
        held: dict[int, list[int]] = {i: [] for i in heavy}
        for i in heavy[1:]:
            parent = int(mb.parents[i])
            while parent not in held:
                parent = int(mb.parents[parent])
            held[parent].append(i)
        R_W, p_W = (values[0][heavy] for values in body_poses(mb, (mb.neutral() if q is None else q)[None]))
        carried = tuple(tuple(heavy.index(child) for child in held[i]) for i in heavy)
        share = np.zeros((len(heavy), len(heavy)))
        for row, children in zip(share, carried, strict=True):
            row[list(children)] = 1.0 / max(len(children), 1)
        ends = ((share @ p_W - share.sum(axis=1)[:, None] * p_W)[:, None] @ R_W)[:, 0]
        beyond = 2.0 * np.array([mb.bodies[i].com_m for i in heavy])
        near = np.linalg.norm(ends, axis=1) < np.linalg.norm(beyond, axis=1)
        return cls(
            np.array(heavy, dtype=np.int64),
            np.where(near[:, None], beyond, ends),
            carried,
        )

    def points(self, R_W: FloatArray, p_W: FloatArray) -> FloatArray:
        """Return the points (T, 2 B, 3) m, joints first, of the poses (T, ...) of all bodies of the tree."""
        ends = p_W[:, self.bodies] + np.einsum("tbij,bj->tbi", R_W[:, self.bodies], self.ends_m)
        return np.concatenate([p_W[:, self.bodies], ends], axis=1)

    def at(self, mb: Multibody, q: FloatArray) -> FloatArray:
        """Return the points (T, 2 B, 3) m for q (T, nq)."""
        return self.points(*body_poses(mb, q))

    def jacobians(self, mb: Multibody, q: FloatArray) -> FloatArray:
        """Return how the points (T, 2 B, 3, nv) move with v: m a rad or m a m, for q (T, nq)."""
        columns = joint_jacobians(mb, q)[:, None]  # (T, 1, 6, nv), about the world's origin
        x = self.at(mb, q)[..., None]
        moves = np.stack([on_path(mb, int(body)) for body in self.bodies]).astype(np.float64)
        omega = columns[:, :, :3]
        turned = np.stack(
            [omega[:, :, b] * x[:, :, c] - omega[:, :, c] * x[:, :, b] for b, c in ((1, 2), (2, 0), (0, 1))], axis=2
        )
        return np.asarray((columns[:, :, 3:] + turned) * np.concatenate([moves, moves])[None, :, None])
