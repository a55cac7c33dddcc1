"""Two points of every body that has mass: the joint it hangs on, and the end that shows where it points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.rigid_body.jacobians import joint_jacobians, on_path
from biodyn.rigid_body.motion import body_poses
from biodyn.rigid_body.multibody import Multibody


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

        An end lies in the middle of the joints that the body carries, but at least as far beyond its mass centre as its own joint
        lies before it.
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
        moved = np.stack([on_path(mb, int(body)) for body in self.bodies]).astype(np.float64)
        omega = columns[:, :, :3]
        turned = np.stack(
            [omega[:, :, b] * x[:, :, c] - omega[:, :, c] * x[:, :, b] for b, c in ((1, 2), (2, 0), (0, 1))], axis=2
        )
        return np.asarray((columns[:, :, 3:] + turned) * np.concatenate([moved, moved])[None, :, None])
