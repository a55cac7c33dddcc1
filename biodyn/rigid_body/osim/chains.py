"""One-axis bodies gathered into OpenSim's joints: translations in the parent's frame, then turns that carry each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.rigid_body.joint import Body, Vector3
from biodyn.rigid_body.multibody import Multibody
from biodyn.rigid_body.osim.joints import Step

#: Stands in the names of bodies that are only axes before the one whose name begins theirs.
AXIS_MARK: Final = "/"
_MOST: Final = 3
_PARALLEL: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Chain:
    """A joint as OpenSim has it: x_parent = R_P (slides, then turns) (R_C x_child + p_C) + p_P.

    Attributes:
        child, parent: bodies; None = ground.
        R_P, p_P: (3, 3), (3,) m, where it sits on the parent. R_C, p_C: the child's frame in the joint's.
        slides, turns: at most three each.
    """

    child: str
    parent: str | None
    R_P: FloatArray = field(default_factory=lambda: np.eye(3))
    p_P: FloatArray = field(default_factory=lambda: np.zeros(3))
    R_C: FloatArray = field(default_factory=lambda: np.eye(3))
    p_C: FloatArray = field(default_factory=lambda: np.zeros(3))
    slides: tuple[Step, ...] = ()
    turns: tuple[Step, ...] = ()

    def placed(self, R: FloatArray, p: FloatArray) -> Chain:
        """Return the chain behind one more placement."""
        if not (self.slides or self.turns):
            return replace(self, R_P=self.R_P @ R, p_P=self.p_P + self.R_P @ p)
        return replace(self, R_C=self.R_C @ R, p_C=self.p_C + self.R_C @ p)

    def moved(self, step: Step) -> Chain | None:
        """Return the chain behind one more step; None where no joint of OpenSim has it."""
        axis = _vector(self.R_C @ np.array(step.axis))
        if step.kind == "prismatic":
            fits = not self.turns and not self.p_C.any() and _independent(self.slides, axis)
            return replace(self, slides=(*self.slides, replace(step, axis=axis))) if fits else None
        if self.turns and (self.p_C.any() or not _follows(self.turns, axis)):
            return None
        # translations commute: what lies between slides and the first turn belongs to the parent
        p_P = self.p_P + self.R_P @ self.p_C
        return replace(self, p_P=p_P, p_C=np.zeros(3), turns=(*self.turns, replace(step, axis=axis)))


def chains_of(multibody: Multibody, steps: Mapping[str, Step]) -> list[Chain]:
    """Return the joints of a tree, one for each body that is no mere axis, parents first.

    steps: what moves each one-axis body. Axes that no joint of OpenSim unites stay bodies of their own, without mass.
    """
    by_name = {body.name: body for body in multibody.bodies}
    found: list[Chain] = []
    for body in multibody.bodies:
        if AXIS_MARK not in body.name:
            found += _chains_to(_before(body, by_name), steps)
    return found


def _before(body: Body, by_name: Mapping[str, Body]) -> list[Body]:
    """The axes before a body, and it, from the parent outwards."""
    line = [body]
    while line[0].parent is not None and AXIS_MARK in line[0].parent:
        line.insert(0, by_name[line[0].parent])
    return line


def _chains_to(line: Sequence[Body], steps: Mapping[str, Step]) -> list[Chain]:
    done: list[Chain] = []
    chain = Chain(line[-1].name, line[0].parent)
    for before, body in zip((None, *line), line, strict=False):
        placed = chain.placed(body.R_PJ, body.p_PJ)
        step = steps.get(body.name)
        moved = placed if step is None else placed.moved(step)
        if moved is None:
            assert before is not None
            done.append(replace(chain, child=before.name))
            moved = Chain(line[-1].name, before.name).placed(body.R_PJ, body.p_PJ)
            moved = moved if step is None else moved.moved(step)
            assert moved is not None
        chain = moved
    return [*done, chain]


def _independent(steps: Sequence[Step], axis: Vector3) -> bool:
    axes = np.array([*(step.axis for step in steps), axis])
    return len(axes) <= _MOST and float(np.linalg.svd(axes, compute_uv=False)[-1]) > _PARALLEL


def _follows(turns: Sequence[Step], axis: Vector3) -> bool:
    """Whether a turn about `axis` may come next: neighbours must not be parallel."""
    return len(turns) < _MOST and float(np.linalg.norm(np.cross(turns[-1].axis, axis))) > _PARALLEL


def _vector(values: FloatArray) -> Vector3:
    return (float(values[0]), float(values[1]), float(values[2]))
