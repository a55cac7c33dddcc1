"""Pinocchio and MuJoCo with the reference models: arrays as theirs, their native loops, and their results as ours.

biodyn: q scalar first, v and tau of a free joint [angular; linear] in body axes. Pinocchio: scalar last, [linear; angular]
in body axes. MuJoCo: scalar first, [linear in world axes; angular in body axes].
"""

from __future__ import annotations

import ctypes
import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.rigid_body import Multibody, body_poses
from common.data import reference_vectors
from common.native import mujoco_library, pinocchio_library, pointer

TASKS = ("inverse dynamics", "forward dynamics", "mass matrix", "joint Jacobians")
_SWAP = [3, 4, 5, 0, 1, 2]


@dataclass(frozen=True)
class States:
    """What all engines are asked for, in our conventions: wrenches (T, K, 6) F_Wo_W on the links (K,)."""

    q: FloatArray
    v: FloatArray
    vdot: FloatArray
    tau: FloatArray
    wrenches: FloatArray
    links: IntArray


class Peer(ABC):
    """An engine of another language. Its arrays are made beforehand, outside of all timing."""

    name: str
    library: ctypes.CDLL
    _handle: ctypes.c_void_p
    _q: FloatArray
    _v: FloatArray
    _vdot: FloatArray
    _tau: FloatArray
    _wrenches: FloatArray
    _bodies: IntArray

    def call(self, task: str, out: FloatArray | None) -> Callable[[], None]:
        """Return a call of the native loop over all frames; results are kept in `out`, or in the engine's own memory."""
        function = getattr(self.library, {"joint Jacobians": "jacobians"}.get(task, task.replace(" ", "_")))
        frames = ctypes.c_int64(len(self._q))
        arguments = [self._handle, frames, pointer(self._q)]
        if task.endswith("dynamics"):
            given = self._vdot if task.startswith("inverse") else self._tau
            count = ctypes.c_int64(len(self._bodies))
            arguments += [pointer(self._v), pointer(given), count, pointer(self._wrenches), pointer(self._bodies)]
        arguments.append(pointer(out))
        function.restype = None
        return lambda: function(*arguments)

    def result(self, task: str, nv: int) -> FloatArray:
        """Return a task's results for all frames, as this engine has them."""
        shape = {"mass matrix": (nv, nv), "joint Jacobians": (6 * nv,)}.get(task, (nv,))
        out = np.zeros((len(self._q), *shape))
        self.call(task, out)()
        return out

    @abstractmethod
    def in_our_terms(self, task: str, result: FloatArray) -> FloatArray:
        """Return a result in biodyn's order and axes."""

    @abstractmethod
    def comparable(self, task: str, ours: FloatArray) -> FloatArray:
        """Return the part of our result that this engine gives as well."""


class Pinocchio(Peer):
    """rnea, aba, crba (upper triangle) and computeJointJacobians; wrenches are turned into joint axes beforehand."""

    name = "Pinocchio"

    def __init__(self, model: str, mb: Multibody, states: States) -> None:
        self.library = pinocchio_library()
        links = json.loads((reference_vectors() / "rigid_body" / f"{model}.json").read_text())
        with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
            file.write(_lines(links))
        self.library.make.restype = ctypes.c_void_p
        self._handle = ctypes.c_void_p(self.library.make(file.name.encode()))
        Path(file.name).unlink()
        q = states.q.copy()
        for body in mb.bodies:
            if body.joint.kind in ("free", "spherical"):
                at = mb.q_slice(body.name).stop - 4
                q[:, at : at + 4] = states.q[:, [at + 1, at + 2, at + 3, at]]
        self._q, self._order = q, np.r_[_SWAP, 6 : mb.nv]
        self._v, self._vdot, self._tau = (
            np.ascontiguousarray(x[:, self._order]) for x in (states.v, states.vdot, states.tau)
        )
        R_WB, p_WB = (x[:, states.links] for x in body_poses(mb, states.q))
        force = states.wrenches[..., 3:]
        moment = states.wrenches[..., :3] - np.cross(p_WB, force)
        local = [np.einsum("tkij,tki->tkj", R_WB, x) for x in (force, moment)]
        self._wrenches, self._bodies = np.ascontiguousarray(np.concatenate(local, axis=2)), states.links

    def in_our_terms(self, task: str, result: FloatArray) -> FloatArray:
        if task == "mass matrix":  # a matrix of columns there, a triangle
            upper = np.triu(result.transpose(0, 2, 1))
            full = upper + np.triu(upper, 1).transpose(0, 2, 1)
            return full[:, self._order][:, :, self._order]
        if task == "joint Jacobians":  # columns of [linear; angular], one after the other
            return result.reshape(len(result), -1, 6)[:, self._order][:, :, _SWAP].transpose(0, 2, 1)
        return result[:, self._order]

    def comparable(self, task: str, ours: FloatArray) -> FloatArray:
        return ours


class MuJoCo(Peer):
    """The fewest of its functions that give the result; Jacobians: the axes of all coordinates (cdof)."""

    name = "MuJoCo"

    def __init__(self, model: str, mb: Multibody, states: States) -> None:
        import mujoco

        self.library = mujoco_library()
        path = str(reference_vectors() / "rigid_body" / f"{model}.mjcf.xml")
        self.library.make.restype = ctypes.c_void_p
        self._handle = ctypes.c_void_p(self.library.make(path.encode()))
        names = [mb.body_names[link] for link in states.links]
        theirs = mujoco.MjModel.from_xml_path(path)
        ids = [mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_BODY, name) for name in names]
        self._q, self._bodies = states.q, np.array(ids, dtype=np.int64)
        self._R_WB = body_poses(mb, states.q)[0][:, 0]
        self._w, self._u = states.v[:, :3], states.v[:, 3:6]
        self._v, self._tau = self._of_root(states.v), self._of_root(states.tau)
        moving = states.vdot.copy()
        moving[:, 3:6] += np.cross(self._w, self._u)  # spatial to classical acceleration
        self._vdot, self._wrenches = self._of_root(moving), np.ascontiguousarray(states.wrenches[..., _SWAP])

    def _of_root(self, x: FloatArray) -> FloatArray:
        linear = np.einsum("tij,tj->ti", self._R_WB, x[:, 3:6])
        return np.concatenate([linear, x[:, :3], x[:, 6:]], axis=1)

    def in_our_terms(self, task: str, result: FloatArray) -> FloatArray:
        if task == "mass matrix":
            return result[:, 6:, 6:]
        if task == "joint Jacobians":
            return result.reshape(len(result), -1, 6)[:, 6:, :3].transpose(0, 2, 1)
        linear = np.einsum("tij,ti->tj", self._R_WB, result[:, :3])
        if task == "forward dynamics":
            linear -= np.cross(self._w, self._u)
        return np.concatenate([result[:, 3:6], linear, result[:, 6:]], axis=1)

    def comparable(self, task: str, ours: FloatArray) -> FloatArray:
        if task == "mass matrix":
            return ours[:, 6:, 6:]
        return ours[:, :3, 6:] if task == "joint Jacobians" else ours


def _lines(model: dict) -> str:
    """Return the lines `make` of native/pinocchio.cpp reads."""
    kinds = {"free": 0, "spherical": 1, "revolute": 2}
    lines = [" ".join(map(repr, model["gravity"]))]
    for link in model["links"]:
        joint = link["joint"]
        numbers = [*joint.get("axis", [0, 0, 0]), *np.ravel(link["placement_R"]), *link["placement_p"], link["mass"]]
        numbers += [*link["com"], *np.ravel(link["inertia_com"])]
        lines.append(" ".join([str(link["parent"]), str(kinds[joint["type"]]), *(repr(float(x)) for x in numbers)]))
    return "\n".join(lines) + "\n"
