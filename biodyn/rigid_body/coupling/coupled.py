"""A multibody whose coordinates lie one or more layers above its joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray, IntArray
from biodyn.rigid_body.algorithms import body_poses, inverse_dynamics, mass_matrix
from biodyn.rigid_body.coupling.maps import CoordinateMap, Layer
from biodyn.rigid_body.frames import checked
from biodyn.rigid_body.multibody import Multibody

#: Frames handled at once: memory stays the same however long a motion is.
BLOCK = 20_000


@dataclass(frozen=True, eq=False)
class CoupledMultibody:
    """A tree of one-axis joints and the layers through which its coordinates are reached.

    Attributes:
        multibody: the tree beneath, coordinates z.
        layers: from the coordinates q at the top down to z.
    """

    multibody: Multibody
    layers: tuple[CoordinateMap, ...]

    @property
    def nq(self) -> int:
        """Number of coordinates at the top, and of speeds."""
        return self.layers[0].nq

    def beneath(self, layer: CoordinateMap) -> CoupledMultibody:
        """Return the same multibody reached through one more layer at the top."""
        return CoupledMultibody(self.multibody, (layer, *self.layers))

    def configuration(self, q: ArrayLike) -> FloatArray:
        """Return z (T, nz) of q (T, nq): rad, m."""
        z = checked(q, (None, self.nq), "q")
        for layer in self.layers:
            z = layer.at(z).z
        return z

    def motion(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return z, zdot, zddot (T, nz) of q, v, vdot (T, nq)."""
        z, zdot, zddot, _ = self._through(*self._state(q, v, vdot))
        return z, zdot, zddot

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        vdot: ArrayLike,
        wrenches: ArrayLike | None = None,
        wrench_bodies: Sequence[int] | IntArray | None = None,
    ) -> FloatArray:
        """Return tau (T, nq), N m or N: what moves each coordinate at the top.

        wrenches (T, K, 6) act on the bodies `wrench_bodies` (K,), about the world origin, as for `inverse_dynamics`.
        """
        top, speeds, accelerations = self._state(q, v, vdot)
        loads = None if wrenches is None else checked(wrenches, (len(top), None, 6), "wrenches")
        tau = np.empty_like(top)
        for start in range(0, len(top), BLOCK):
            at = slice(start, start + BLOCK)
            z, zdot, zddot, passed = self._through(top[at], speeds[at], accelerations[at])
            forces = inverse_dynamics(
                self.multibody, z, zdot, zddot, None if loads is None else loads[at], wrench_bodies
            )
            for layer in reversed(passed):
                forces = layer.forces(forces)
            tau[at] = forces
        return tau

    def mass_matrix(self, q: ArrayLike) -> FloatArray:
        """Return M (T, nq, nq) = G^T M_z G."""
        z = checked(q, (None, self.nq), "q")
        G: FloatArray | None = None
        for layer in self.layers:
            passed = layer.at(z)
            z, below = passed.z, passed.matrix()
            G = below if G is None else below @ G
        M = mass_matrix(self.multibody, z)
        return M if G is None else G.transpose(0, 2, 1) @ M @ G

    def twice(
        self,
        q: ArrayLike,
        v: ArrayLike,
        vdot: ArrayLike,
        wrenches: ArrayLike | None = None,
        wrench_bodies: Sequence[int] | IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return tau (T, nq) by two algorithms: inverse dynamics, and mass matrix times acceleration plus bias.

        Arguments as for `inverse_dynamics`; all frames at once, so hand over blocks of a long motion.
        """
        top, speeds, accelerations = self._state(q, v, vdot)
        z, zdot, zddot, passed = self._through(top, speeds, accelerations)
        by_velocity, by_acceleration = np.zeros_like(accelerations), accelerations
        for layer in passed:
            by_velocity = layer.rates(by_velocity) + layer.bias
            by_acceleration = layer.rates(by_acceleration)
        tau = inverse_dynamics(self.multibody, z, zdot, zddot, wrenches, wrench_bodies)
        other = inverse_dynamics(self.multibody, z, zdot, by_velocity, wrenches, wrench_bodies)
        other += (mass_matrix(self.multibody, z) @ by_acceleration[..., None])[..., 0]
        for layer in reversed(passed):
            tau, other = layer.forces(tau), layer.forces(other)
        return tau, other

    def body_poses(self, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return R_WB (T, B, 3, 3) and p_WB (T, B, 3) of the bodies of `multibody`."""
        return body_poses(self.multibody, self.configuration(q))

    def _state(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        top = checked(q, (None, self.nq), "q")
        return top, checked(v, top.shape, "v"), checked(vdot, top.shape, "vdot")

    def _through(
        self, q: FloatArray, v: FloatArray, vdot: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, list[Layer]]:
        passed = []
        for layer in self.layers:
            at = layer.at(q, v)
            q, v, vdot = at.z, at.rates(v), at.rates(vdot) + at.bias
            passed.append(at)
        return q, v, vdot, passed
