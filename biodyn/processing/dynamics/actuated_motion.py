"""Motion, torques and ground wrenches of a trial for consistency checks, forward replay and result folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.errors import ResultError
from biodyn.processing.dynamics.inverse_dynamics import Dynamics
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.derivatives import MIN_STRETCH_FRAMES, motion_from_configuration
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.rigid_body import Body, Joint, Multibody, inverse_dynamics
from biodyn.rigid_body.coupling.reduced_tree import ReducedTree

_WITHOUT_AXIS = ("free", "weld")


@dataclass(frozen=True)
class ActuatedMotion:
    """Motion, torques and ground wrenches of a trial on its multibody tree; the first body is the free-floating base.

    Attributes:
        multibody: the tree.
        time_s: (T,) s.
        q, v, vdot: (T, nq), (T, nv), (T, nv) as in `recording.Motion`; NaN rows where unknown.
        tau: (T, nv) generalised forces, of which the first six are the base residual; NaN rows where unknown.
        wrenches: (T, K, 6) F_Wo_W ground wrenches about the world origin on the bodies `wrench_bodies` (K,).
        measured: (T,) bool, True if the ground reaction of every foot is known; otherwise the residual includes it.
        reduced: system of independent coordinates on which the coupled joints depend; None without couplings.
    """

    multibody: Multibody
    time_s: FloatArray
    q: FloatArray
    v: FloatArray
    vdot: FloatArray
    tau: FloatArray
    wrenches: FloatArray
    wrench_bodies: IntArray
    measured: BoolArray
    reduced: ReducedTree | None = None

    @property
    def mechanics(self) -> Multibody | ReducedTree:
        """System to which q, v, vdot and tau refer: the tree, or its reduction to independent coordinates."""
        return self.multibody if self.reduced is None else self.reduced

    @property
    def known(self) -> BoolArray:
        """Mask (T,) of the frames in which motion and generalised forces are known."""
        columns = np.concatenate([self.q, self.v, self.vdot, self.tau], axis=1)
        return np.asarray(np.isfinite(columns).all(axis=1))

    @property
    def rate_hz(self) -> float:
        """Frames per second, Hz."""
        return float((len(self.time_s) - 1) / float(self.time_s[-1] - self.time_s[0]))

    def known_stretches(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield frames (first, stop, known first, known stop).

        The first pair limits a run of frames with a configuration, the second pair a part of it in which the forces are also
        known.
        """
        posed = np.asarray(np.isfinite(self.q).all(axis=1))
        known = self.known
        for first, stop in finite_stretches(posed):
            if stop - first < MIN_STRETCH_FRAMES:
                continue
            for start, end in finite_stretches(known[first:stop]):
                if end - start >= MIN_STRETCH_FRAMES:
                    yield first, stop, first + start, first + end


def actuated_motion(fit: Fit, dynamics: Dynamics) -> ActuatedMotion:
    """Return the actuated motion of a fit and its inverse dynamics."""
    motion = fit.motion
    return ActuatedMotion(
        multibody=fit.model.multibody,
        time_s=motion.time_s,
        q=motion.q,
        v=motion.v,
        vdot=motion.vdot,
        tau=dynamics.tau,
        wrenches=dynamics.foot_wrenches,
        wrench_bodies=dynamics.foot_wrench_links,
        measured=dynamics.residual_valid,
    )


def actuated_motion_from_arrays(arrays: Mapping[str, np.ndarray]) -> ActuatedMotion:
    """Return the actuated motion from the arrays of a `result.npz`; ResultError names a missing array."""
    try:
        return ActuatedMotion(
            multibody=multibody_from_arrays(arrays),
            time_s=arrays["time_s"],
            q=arrays["q"],
            v=arrays["v"],
            vdot=arrays["vdot"],
            tau=arrays["tau"],
            wrenches=arrays["foot_wrenches"],
            wrench_bodies=arrays["foot_wrench_bodies"],
            measured=arrays["residual_valid"],
        )
    except KeyError as error:
        raise ResultError(f"The result has no array {error}.", "Run the trial again.") from error


def split_derived_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a `result.npz` without `v`, `vdot` and `tau`, which `with_derived_arrays` computes.

    `tau_known` (T,) has the frames with `tau`. The arrays of an imported model are unchanged: its motion is not the spline
    through `q`.
    """
    if "own_q" in arrays:
        return dict(arrays)
    kept = {name: values for name, values in arrays.items() if name not in ("v", "vdot", "tau")}
    return kept | {"tau_known": np.isfinite(arrays["tau"]).all(axis=1)}


def with_derived_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays with `v`, `vdot` and `tau`: the spline through `q`, and its inverse dynamics where `tau_known`."""
    if "tau_known" not in arrays:
        return dict(arrays)
    known = arrays["tau_known"]
    motion = motion_from_configuration(arrays["time_s"], arrays["q"])
    tau = np.full_like(motion.v, np.nan)
    state = (motion.q[known], motion.v[known], motion.vdot[known])
    loads = arrays["foot_wrenches"][known], arrays["foot_wrench_bodies"]
    tau[known] = inverse_dynamics(multibody_from_arrays(arrays), *state, *loads)
    stored = {name: values for name, values in arrays.items() if name != "tau_known"}
    return stored | {"v": motion.v, "vdot": motion.vdot, "tau": tau}


def multibody_from_arrays(arrays: Mapping[str, np.ndarray]) -> Multibody:
    """Return the tree written by `output.store.result_writer.multibody_arrays`: joints with at most one axis."""
    names = [str(name) for name in arrays["body_names"]]
    bodies = []
    for i, name in enumerate(names):
        kind, parent = str(arrays["body_joint_kinds"][i]), int(arrays["body_parents"][i])
        x, y, z = (float(value) for value in arrays["body_joint_axes"][i])
        bodies.append(
            Body(
                name,
                None if parent < 0 else names[parent],
                Joint(kind) if kind in _WITHOUT_AXIS else Joint(kind, (x, y, z)),
                arrays["body_R_PJ"][i],
                arrays["body_p_PJ"][i],
                float(arrays["body_mass_kg"][i]),
                arrays["body_com_m"][i],
                arrays["body_inertia_com"][i],
                any_inertia=True,  # checked when the model was built
            )
        )
    g = arrays["gravity_W"]
    return Multibody(tuple(bodies), (float(g[0]), float(g[1]), float(g[2])))
