"""Random trees of bodies, states for them, and the same trees in Pinocchio."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.rigid_body import Body, Joint, Multibody

KINDS = ("weld", "revolute", "prismatic", "spherical", "free")


def random_rotation(rng):
    """Return a random (3, 3) rotation."""
    return Rotation.from_quat(rng.normal(size=4)).as_matrix()


def random_joint(rng, kind):
    """Return a joint of the kind with a random axis."""
    return Joint(kind, tuple(rng.normal(size=3)) if kind in ("revolute", "prismatic") else None)


def random_inertia(rng, mass):
    """Return the inertia about the centre of mass of a box of the mass with random edges and axes."""
    squares = rng.uniform(0.05, 0.4, size=3) ** 2
    R = random_rotation(rng)
    return R @ np.diag(mass / 12 * (squares.sum() - squares)) @ R.T


def random_tree(seed, count, kinds=KINDS, root="free", massless=0.0):
    """Return a Multibody of `count` bodies; a share `massless` of those with children has no mass."""
    rng = np.random.default_rng(seed)
    parents = [None] + [int(rng.integers(max(0, i - 4), i)) for i in range(1, count)]
    chosen = [root] + [str(rng.choice(kinds)) for _ in range(1, count)]
    bodies = []
    for i, kind in enumerate(chosen):
        mass = float(rng.uniform(0.2, 10.0))
        # only between one-axis joints: in front of a free joint, say, nothing would resist the massless body
        carried = [chosen[j] for j in range(count) if parents[j] == i]
        if carried and {kind, *carried} <= {"revolute", "weld"} and rng.random() < massless:
            mass = 0.0
        bodies.append(
            Body(
                f"b{i}",
                None if parents[i] is None else f"b{parents[i]}",
                random_joint(rng, kind),
                random_rotation(rng),
                rng.normal(scale=0.3, size=3),
                mass,
                rng.normal(scale=0.2, size=3) if mass else np.zeros(3),
                random_inertia(rng, mass),
            )
        )
    return Multibody(tuple(bodies), gravity_W=tuple(rng.normal(scale=9.0, size=3)))


def random_state(mb, seed, frames=5):
    """Return q, v, vdot of some frames: angles to +-1.3 rad, rates of some rad/s."""
    rng = np.random.default_rng([seed, 1])
    q = rng.uniform(-1.3, 1.3, size=(frames, mb.nq))
    for body in mb.bodies:
        if body.joint.kind in ("free", "spherical"):
            at = mb.q_slice(body.name).stop - 4
            q[:, at : at + 4] /= np.linalg.norm(q[:, at : at + 4], axis=1, keepdims=True)
    return q, rng.normal(scale=2.0, size=(frames, mb.nv)), rng.normal(scale=10.0, size=(frames, mb.nv))


def relative(found, expected):
    """Return the largest difference relative to the largest expected number."""
    return float(np.abs(found - expected).max(initial=0.0) / max(float(np.abs(expected).max(initial=0.0)), 1e-12))


class InPinocchio:
    """A Multibody built again with Pinocchio's own joints, and the maps between the two conventions."""

    def __init__(self, mb):
        import pinocchio as pin

        self.pin, self.mb = pin, mb
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(mb.gravity_W), np.zeros(3))
        self.joint_of_body = [0] * len(mb.bodies)
        self.v_order, self.q_order = [], []  # ours at each of Pinocchio's coordinates
        # Pinocchio wants whole branches one after the other
        waiting = list(np.flatnonzero(mb.parents < 0)[::-1])
        while waiting:
            b = int(waiting.pop())
            waiting += list(np.flatnonzero(mb.parents == b)[::-1])
            self._add(b)
        self.data = self.model.createData()

    def _add(self, b):
        pin, body = self.pin, self.mb.bodies[b]
        joint = 0 if self.mb.parents[b] < 0 else self.joint_of_body[self.mb.parents[b]]
        placement = pin.SE3(body.R_PJ, body.p_PJ)
        joint = self.model.addJoint(joint, self._joint(body.joint), placement, body.name)
        self.joint_of_body[b] = joint
        inertia = pin.Inertia(body.mass_kg, body.com_m, np.array(body.inertia_com))
        self.model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        v, q = np.arange(self.mb.nv)[self.mb.v_slice(body.name)], np.arange(self.mb.nq)[self.mb.q_slice(body.name)]
        if body.joint.kind == "free":  # [linear; angular]
            v = v[[3, 4, 5, 0, 1, 2]]
        if body.joint.kind in ("free", "spherical"):  # scalar last
            q = np.r_[q[:-4], q[-3:], q[-4]]
        self.v_order += list(v)
        self.q_order += list(q)

    def _joint(self, joint):
        pin = self.pin
        if joint.kind == "free":
            return pin.JointModelFreeFlyer()
        if joint.kind == "spherical":
            return pin.JointModelSpherical()
        if joint.kind == "prismatic":
            return pin.JointModelPrismaticUnaligned(np.array(joint.axis))
        return pin.JointModelRevoluteUnaligned(np.array(joint.axis))

    def q(self, q):
        """Return the same configurations in Pinocchio's order."""
        return q[..., self.q_order]

    def order(self):
        """Return for each of Pinocchio's velocity coordinates ours."""
        return np.array(self.v_order)
