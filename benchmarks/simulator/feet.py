"""The soles: where they touch the floor, how the pressure runs along them, how two feet share a load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body import body_poses


@dataclass(frozen=True)
class Foot:
    """One sole, flat on the floor while its owner stands.

    Attributes:
        side, link: whose foot, and the link of the tree that carries it.
        heel, ball, toe, back: (3,) m points of the sole's middle line on that link.
        outline: (K, 3) m around the sole.
        forward: (3,) m from back to toe on the link.
    """

    side: Side
    link: int
    heel: FloatArray
    ball: FloatArray
    back: FloatArray
    toe: FloatArray
    outline: FloatArray

    @property
    def forward(self) -> FloatArray:
        """Sole vector from back to toe (3,) m."""
        return self.toe - self.back


def standing_feet(model: SubjectModel, static_q: FloatArray, table: Mapping[str, Any]) -> dict[Side, Foot]:
    """Return both feet; the floor is at Y = 0 in the static configuration, whatever height the model gives its sole."""
    R, p = body_poses(model.multibody, static_q[None])
    feet: dict[Side, Foot] = {}
    for side, outline_B in model.foot_outlines.items():
        frame = model.frames[model.sole_body[side]]
        on_link = outline_B @ frame.R_LB.T + frame.p_LB
        R_WL, p_WL = R[0, frame.link], p[0, frame.link]
        points_W = (on_link @ R_WL.T + p_WL) * (1.0, 0.0, 1.0)
        outline = (points_W - p_WL) @ R_WL
        half = len(outline) // 2  # heel to toe on one side, back on the other
        back, toe = 0.5 * (outline[0] + outline[-1]), 0.5 * (outline[half - 1] + outline[half])
        feet[side] = Foot(  # type: ignore[index]
            side=side,  # type: ignore[arg-type]
            link=frame.link,
            heel=back + table["heel"] * (toe - back),
            ball=back + table["ball"] * (toe - back),
            back=back,
            toe=toe,
            outline=outline,
        )
    return feet


def points_in_world(R_W: FloatArray, p_W: FloatArray, points: FloatArray) -> FloatArray:
    """Return points (K, 3) of a link in World, (..., K, 3), for its poses (..., 3, 3) and (..., 3)."""
    return p_W[..., None, :] + np.einsum("...ij,kj->...ki", R_W, points)


def pressure_share(progress: FloatArray, table: Mapping[str, Any]) -> FloatArray:
    """Share of the sole's length at which the pressure stands, for the share of the stance that has passed."""
    return table["pressure_start"] + (table["pressure_end"] - table["pressure_start"]) * np.clip(progress, 0.0, 1.0)


def taken_over(progress: FloatArray) -> FloatArray:
    """Share of the load on the leading foot during double support: 0 to 1, without a jump in its rate."""
    s = np.clip(progress, 0.0, 1.0)
    return s**2 * (3.0 - 2.0 * s)


def zero_moment_point(wrench: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the point (..., 3) of the floor Y = 0 and the free moment (...) of wrenches (..., 6) about the world origin."""
    M, F = wrench[..., :3], wrench[..., 3:]
    x, z = M[..., 2] / F[..., 1], -M[..., 0] / F[..., 1]
    free = M[..., 1] - (z * F[..., 0] - x * F[..., 2])
    return np.stack([x, np.zeros_like(x), z], axis=-1), free


def at_point(point: FloatArray, force: FloatArray, free_moment: FloatArray) -> FloatArray:
    """Return the wrench (T, 6) about the world origin of a force (T, 3) at a point (T, 3) with a vertical moment (T,)."""
    moment = np.cross(point, force)
    moment[..., 1] += free_moment
    return np.concatenate([moment, force], axis=-1)


def shared(
    total: FloatArray, lead_share: FloatArray, lead_point: FloatArray, rear_point: FloatArray, push: float
) -> tuple[FloatArray, FloatArray]:
    """Split a total wrench (T, 6) between the leading and the rear foot; the two sum to it exactly.

    Both forces are the same share of force and free moment, parallel to each other, so that only the pressure points
    must balance: lead_share p1 + (1 - lead_share) p2 = zero moment point; the wanted points (T, 3) give way for that.
    On top the legs push the feet apart along the line between them, which adds nothing to the sum: the leading foot
    brakes, the rear one drives. `push` is that force at half time as a share of the vertical force.
    """
    point, free = zero_moment_point(total)
    a = lead_share[:, None]
    b = 1.0 - a
    missing = point - a * lead_point - b * rear_point
    weight = a**2 + b**2
    p1, p2 = lead_point + a * missing / weight, rear_point + b * missing / weight
    along = p1 - p2
    along = along / np.linalg.norm(along, axis=1, keepdims=True)
    spread = 4.0 * push * a * b * total[:, 4:5] * along
    force = total[:, 3:]
    lead = at_point(p1, a * force - spread, lead_share * free)
    return lead, total - lead
