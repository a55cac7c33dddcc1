"""An analysis as moving segments in World, independent of its coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.geometry.rotations import cardan_zxy
from biodyn.processing.dynamics.actuated_motion import multibody_from_arrays
from biodyn.processing.dynamics.inverse_dynamics import joint_coordinate_axes
from biodyn.rigid_body import Multibody, body_accelerations, body_poses, body_velocities


@dataclass(frozen=True)
class SegmentMotion:
    """Motion of S segments in World; the origin of each segment is the centre of its joint with its parent.

    Attributes:
        R: (T, S, 3, 3) axes of the segments. p: (T, S, 3) m, origins.
        omega, alpha: (T, S, 3) rad/s and rad/s^2. a: (T, S, 3) m/s^2, classical acceleration of the origins.
    """

    R: FloatArray
    p: FloatArray
    omega: FloatArray
    alpha: FloatArray
    a: FloatArray

    def select_frames(self, frames: BoolArray | IntArray | slice) -> SegmentMotion:
        """Return only the given frames."""
        return SegmentMotion(*(value[frames] for value in self.arrays))

    def select_segments(self, segments: Sequence[int]) -> SegmentMotion:
        """Return only the given segments."""
        return SegmentMotion(*(value[:, list(segments)] for value in self.arrays))

    def rotate_world(self, Q: FloatArray) -> SegmentMotion:
        """Return the motion in other World axes, which are rotated by Q (3, 3)."""
        return SegmentMotion(Q @ self.R, *(value @ Q.T for value in self.arrays[1:]))

    def offset_origins(self, offset: FloatArray) -> SegmentMotion:
        """Return the motion with the segment origins displaced by `offset` (S, 3) m in the axes of the segments."""
        arm = np.einsum("tsij,sj->tsi", self.R, offset)
        a = self.a + np.cross(self.alpha, arm) + np.cross(self.omega, np.cross(self.omega, arm))
        return replace(self, p=self.p + arm, a=a)

    @property
    def arrays(self) -> tuple[FloatArray, ...]:
        """Return the arrays R, p, omega, alpha and a."""
        return self.R, self.p, self.omega, self.alpha, self.a


@dataclass(frozen=True)
class SegmentInertias:
    """Mass (S,) kg, mass centre (S, 3) m and inertia about it (S, 3, 3) kg m^2, in the axes of the segments."""

    mass: FloatArray
    com: FloatArray
    tensor: FloatArray

    def scale_mass(self, factor: float) -> SegmentInertias:
        """Return the inertias with mass and inertia multiplied by a factor."""
        return SegmentInertias(self.mass * factor, self.com, self.tensor * factor)

    def select_segments(self, segments: Sequence[int]) -> SegmentInertias:
        """Return only the given segments."""
        rows = list(segments)
        return SegmentInertias(self.mass[rows], self.com[rows], self.tensor[rows])


@dataclass(frozen=True)
class MovingBody:
    """One analysis of a recording as moving rigid segments in World.

    Attributes:
        names, parents: names of the segments, the root first, and indices of their parents (-1 for the root).
        joints, sides: name and side of the joint of each segment with its parent; "" if there is none.
        motion, inertias: motion and inertias of the segments.
        wrench: (T, S, 6) [moment; force] of the ground on each segment about the World origin.
        R_WL: (3, 3) from the laboratory's axes to World. gravity_W: (3,) m/s^2.
        mass_kg: mass of the whole body, including omitted segments. time_s: (T,) s.
        known: (T,) frames with motion. valid: (T, S) frames with a known moment at the joint of the segment.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    joints: tuple[str, ...]
    sides: tuple[str, ...]
    motion: SegmentMotion
    inertias: SegmentInertias
    wrench: FloatArray
    R_WL: FloatArray
    gravity_W: FloatArray
    mass_kg: float
    time_s: FloatArray
    known: BoolArray
    valid: BoolArray

    @cached_property
    def is_distal(self) -> BoolArray:
        """Return a mask (S, S): True if the segment of the column is distal to the joint of the row or its own segment."""
        distal = np.eye(len(self.names), dtype=bool)
        for s in range(len(self.names)):
            up = self.parents[s]
            while up >= 0:
                distal[up, s] = True
                up = self.parents[up]
        return distal

    def transform_to_world_of(self, other: MovingBody) -> MovingBody:
        """Return the analysis in the World axes of another analysis of the recording."""
        Q = other.R_WL @ self.R_WL.T
        if np.allclose(Q, np.eye(3), atol=1e-12):
            return self
        wrench = np.concatenate([self.wrench[..., :3] @ Q.T, self.wrench[..., 3:] @ Q.T], axis=-1)
        return replace(self, motion=self.motion.rotate_world(Q), wrench=wrench, R_WL=other.R_WL)

    def select(self, names: Sequence[str], frames: BoolArray) -> MovingBody:
        """Return some segments and frames; a segment without its parent is attached to the next proximal segment."""
        keep = [self.names.index(name) for name in names]
        return replace(
            self,
            names=tuple(names),
            parents=tuple(self._nearest_kept_parent(s, keep) for s in keep),
            joints=tuple(self.joints[s] for s in keep),
            sides=tuple(self.sides[s] for s in keep),
            motion=self.motion.select_segments(keep).select_frames(frames),
            inertias=self.inertias.select_segments(keep),
            wrench=self.wrench[:, keep][frames],
            time_s=self.time_s[frames],
            known=self.known[frames],
            valid=self.valid[:, keep][frames],
        )

    def _nearest_kept_parent(self, segment: int, keep: Sequence[int]) -> int:
        up = self.parents[segment]
        while up >= 0 and up not in keep:
            up = self.parents[up]
        return keep.index(up) if up >= 0 else -1


def moving_body_from_arrays(arrays: Mapping[str, np.ndarray]) -> MovingBody:
    """Return the analysis in the arrays of a result."""
    multibody = multibody_from_arrays(arrays)
    q, v, vdot = (np.asarray(arrays[name], dtype=np.float64) for name in ("q", "v", "vdot"))
    known = np.isfinite(np.concatenate([q, v, vdot], axis=1)).all(axis=1)
    links = [int(link) for link in arrays["segment_links"]]
    motion = _link_motion(multibody, q, v, vdot, known).select_segments(links)
    R_LB, p_LB = arrays["segment_R_LB"], arrays["segment_p_LB"]
    motion = motion.offset_origins(p_LB)
    motion = replace(motion, R=motion.R @ R_LB)
    wrench = np.zeros((len(q), len(links), 6))
    for k, link in enumerate(arrays["foot_wrench_bodies"]):
        wrench[:, links.index(int(link))] += arrays["foot_wrenches"][:, k]
    bodies = [multibody.bodies[link] for link in links]
    com = np.stack([body.com_m for body in bodies]) - p_LB
    return MovingBody(
        names=tuple(str(name) for name in arrays["segment_names"]),
        parents=tuple(_parent_segments(multibody.parents, links)),
        joints=tuple(str(name) for name in arrays["segment_joints"]),
        sides=tuple(str(side) for side in arrays["segment_sides"]),
        motion=motion,
        inertias=SegmentInertias(
            mass=np.array([body.mass_kg for body in bodies]),
            com=np.einsum("sji,sj->si", R_LB, com),
            tensor=np.swapaxes(R_LB, 1, 2) @ np.stack([body.inertia_com for body in bodies]) @ R_LB,
        ),
        wrench=wrench,
        R_WL=np.asarray(arrays["R_WL"]),
        gravity_W=np.asarray(arrays["gravity_W"]),
        mass_kg=multibody.total_mass_kg,
        time_s=np.asarray(arrays["time_s"]),
        known=known,
        valid=_valid_frames(arrays, multibody, links) & known[:, None],
    )


def _valid_frames(arrays: Mapping[str, np.ndarray], multibody: Multibody, links: Sequence[int]) -> BoolArray:
    """Return a mask (T, S) of the frames with torques of all measured coordinates of the joint of each segment."""
    valid = np.zeros((len(arrays["q"]), len(links)), dtype=bool)
    places = [int(place) for place in arrays["coordinate_v"]]
    for s, link in enumerate(links):
        columns = []
        at = link
        while at >= 0 and (at == link or at not in links):
            span = multibody.v_slice(multibody.body_names[at])
            columns += [c for c, place in enumerate(places) if span.start <= place < span.stop]
            at = int(multibody.parents[at])
        if columns:
            valid[:, s] = arrays["torque_valid"][:, columns].all(axis=1)
    return valid


def _link_motion(
    multibody: Multibody, q: FloatArray, v: FloatArray, vdot: FloatArray, known: BoolArray
) -> SegmentMotion:
    frames, links = len(q), len(multibody.bodies)
    R, p = np.full((frames, links, 3, 3), np.nan), np.full((frames, links, 3), np.nan)
    omega, alpha, a = (np.full((frames, links, 3), np.nan) for _ in range(3))
    R[known], p[known] = body_poses(multibody, q[known])
    V = body_velocities(multibody, q[known], v[known])
    A = body_accelerations(multibody, q[known], v[known], vdot[known])
    R_known = R[known]
    omega[known] = np.einsum("tsij,tsj->tsi", R_known, V[..., :3])
    alpha[known] = np.einsum("tsij,tsj->tsi", R_known, A[..., :3])
    # classical, not spatial, acceleration (Featherstone 2008, eq. 2.46)
    a[known] = np.einsum("tsij,tsj->tsi", R_known, A[..., 3:] + np.cross(V[..., :3], V[..., 3:]))
    return SegmentMotion(R, p, omega, alpha, a)


def _parent_segments(of_links: IntArray, links: Sequence[int]) -> list[int]:
    parents = []
    for link in links:
        up = int(of_links[link])
        while up >= 0 and up not in links:
            up = int(of_links[up])
        parents.append(links.index(up) if up >= 0 else -1)
    return parents


#: The planes of a joint, in the order of the last axis of its angles and moments: about the parent's transverse axis (z),
#: the floating axis (x) and the segment's long axis (y), Grood & Suntay 1983, doi 10.1115/1.3138397.
PLANES = ("sagittal", "frontal", "transverse")

# -- joint angles and net joint moments: Newton and Euler in World ------------------------------------------------------


def inertial_joint_moments(
    motion: SegmentMotion, inertias: SegmentInertias, gravity_W: FloatArray, is_distal: BoolArray
) -> FloatArray:
    """Return the part of the joint moments (T, S, 3) Nm, World, due to inertia and weight of the distal segments."""
    at_com = motion.offset_origins(inertias.com)
    force = inertias.mass[:, None] * (at_com.a - gravity_W)
    tensor_W = motion.R @ inertias.tensor @ np.swapaxes(motion.R, -1, -2)
    spin = np.einsum("tsij,tsj->tsi", tensor_W, motion.omega)
    moment = np.einsum("tsij,tsj->tsi", tensor_W, motion.alpha) + np.cross(motion.omega, spin)
    return _moments_about_joints(moment + np.cross(at_com.p, force), force, motion.p, is_distal)


def ground_joint_moments(motion: SegmentMotion, wrench: FloatArray, is_distal: BoolArray) -> FloatArray:
    """Return the part of the joint moments (T, S, 3) Nm, World, that balances the ground wrenches (T, S, 6)."""
    return -_moments_about_joints(wrench[..., :3], wrench[..., 3:], motion.p, is_distal)


def _moments_about_joints(moment_Wo: FloatArray, force: FloatArray, p: FloatArray, is_distal: BoolArray) -> FloatArray:
    below = is_distal.astype(np.float64)
    total = np.einsum("js,tsi->tji", below, force)
    return np.asarray(np.einsum("js,tsi->tji", below, moment_Wo) - np.cross(p, total))


def resolve_in_planes(moment_W: FloatArray, motion: SegmentMotion, parents: tuple[int, ...]) -> FloatArray:
    """Return moments (T, S, 3) along the axes of their joint, in the order of `PLANES`; NaN for the root."""
    plane_axes = (2, 0, 1)  # z, x, y
    by_plane = np.full_like(moment_W, np.nan)
    for s, parent in enumerate(parents):
        if parent >= 0:
            axes = joint_coordinate_axes(motion.R[:, parent], motion.R[:, s])
            by_plane[:, s] = np.einsum("tij,ti->tj", axes, moment_W[:, s])[:, plane_axes]
    return by_plane


def joint_moments(body: MovingBody) -> FloatArray:
    """Return net joint moments (T, S, 3) Nm by plane; NaN for the root."""
    total = inertial_joint_moments(body.motion, body.inertias, body.gravity_W, body.is_distal)
    return resolve_in_planes(
        total + ground_joint_moments(body.motion, body.wrench, body.is_distal), body.motion, body.parents
    )


def joint_angles(motion: SegmentMotion, parents: tuple[int, ...]) -> FloatArray:
    """Return unwrapped joint angles (T, S, 3) rad by plane; NaN for the root."""
    by_plane = np.full(motion.p.shape, np.nan)
    for s, parent in enumerate(parents):
        if parent >= 0:
            angles = cardan_zxy(np.swapaxes(motion.R[:, parent], -1, -2) @ motion.R[:, s])
            by_plane[:, s] = np.unwrap(angles, axis=0)
    return by_plane
