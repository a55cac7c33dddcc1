"""Joints and bodies as a person writes them, checked on creation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError

Vector3 = tuple[float, float, float]

#: Velocity coordinates of each kind of joint.
VELOCITY_COUNT: Final[dict[str, int]] = {
    "weld": 0,
    "revolute": 1,
    "prismatic": 1,
    "helical": 1,
    "cylindrical": 2,
    "universal": 2,
    "planar": 3,
    "cardan": 3,
    "spherical": 3,
    "free": 6,
}
#: How many axes each kind needs; the others have none.
AXES_NEEDED: Final[dict[str, int]] = {
    "revolute": 1,
    "prismatic": 1,
    "helical": 1,
    "cylindrical": 1,
    "universal": 2,
    "planar": 2,
    "cardan": 3,
}
_QUATERNION_KINDS: Final = ("spherical", "free")
# Symmetry and triangle inequality of an inertia may fail by this fraction of its trace: tables are printed with
# three digits or more, and rotating an exact inertia costs 1e-16.
INERTIA_TOLERANCE: Final = 1e-6
# How far rows of a rotation may be from length one and from right angles.
_LENGTH_SLACK: Final = 1e-9 + 1e-5
_ANGLE_SLACK: Final = 1e-9


def unit_axis(axis: object, name: str) -> Vector3:
    """Return the axis scaled to length one. Raises ModelError where it is not three finite numbers or is zero."""
    values = np.asarray(axis, dtype=np.float64)
    if values.shape != (3,) or not np.isfinite(values).all() or np.linalg.norm(values) < 1e-12:
        raise ModelError(f"The axis of {name} must be three finite numbers, not all zero; found {axis!r}.")
    unit = values / np.linalg.norm(values)
    return (float(unit[0]), float(unit[1]), float(unit[2]))


@dataclass(frozen=True)
class Joint:
    """How a body moves against its parent.

    Attributes:
        kind: weld, free (q = x y z and quaternion w x y z; v = body-frame twist [omega_B; v_B]), spherical (q =
            quaternion; v = omega in the body's axes), revolute (angle about `axis`), prismatic (travel along `axis`),
            helical (angle about `axis`, advancing `pitch` m/rad along it), cylindrical (angle about, then travel
            along `axis`), universal (angles about the two `axes`, the second carried by the first), cardan (angles
            about the three `axes`, each carried by those before: clinical angles), planar (travel along the two
            `axes`, which must be perpendicular, then angle about their normal).
        axis, axes: directions in the joint frame at q = 0 (m, any length; stored with length one).
        pitch: advance of a helical joint, m/rad.
        lower, upper: limits of the joint's coordinates, empty = none; rad or m. Quaternion joints have no limits.
    """

    kind: str
    axis: Vector3 | None = None
    axes: tuple[Vector3, ...] = ()
    pitch: float = 0.0
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in VELOCITY_COUNT:
            raise ModelError(f"Unknown joint kind '{self.kind}'.", f"Known kinds: {', '.join(VELOCITY_COUNT)}.")
        needed = AXES_NEEDED.get(self.kind, 0)
        given = self.axes if self.axes else (() if self.axis is None else (self.axis,))
        if len(given) != needed:
            raise ModelError(f"A {self.kind} joint needs {needed} axes, found {len(given)}.")
        axes = tuple(unit_axis(axis, f"a {self.kind} joint") for axis in given)
        if self.kind == "planar" and abs(float(np.dot(axes[0], axes[1]))) > 1e-9:
            raise ModelError(f"The two axes of a planar joint must be perpendicular; found {given!r}.")
        if self.kind == "helical" and not np.isfinite(self.pitch):
            raise ModelError(f"The pitch of a helical joint must be finite, found {self.pitch!r}.")
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "axis", axes[0] if needed == 1 else None)
        for name in ("lower", "upper"):
            limits = tuple(float(x) for x in getattr(self, name))
            if limits and (self.kind in _QUATERNION_KINDS or len(limits) != self.nv or np.isnan(limits).any()):
                raise ModelError(
                    f"A {self.kind} joint takes {0 if self.kind in _QUATERNION_KINDS else self.nv} {name} limits, "
                    f"found {limits!r}."
                )
            object.__setattr__(self, name, limits)
        if self.lower and self.upper and any(a > b for a, b in zip(self.lower, self.upper, strict=True)):
            raise ModelError(f"A {self.kind} joint has lower limits {self.lower!r} above its upper {self.upper!r}.")

    @property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return VELOCITY_COUNT[self.kind]

    @property
    def nq(self) -> int:
        """Number of position coordinates: one more with a quaternion."""
        return self.nv + (self.kind in _QUATERNION_KINDS)


def _identity() -> FloatArray:
    return np.eye(3)


def _zeros3() -> FloatArray:
    return np.zeros(3)


def _zeros33() -> FloatArray:
    return np.zeros((3, 3))


def _is_rotation(R: FloatArray) -> bool:
    """Whether R (3, 3) is a right-handed rotation, in plain floats: trials build thousands of bodies, arrays take far longer."""
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    lengths = a * a + b * b + c * c, d * d + e * e + f * f, g * g + h * h + i * i
    angles = a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i
    volume = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return (
        all(abs(length - 1.0) <= _LENGTH_SLACK for length in lengths)
        and all(abs(angle) <= _ANGLE_SLACK for angle in angles)
        and volume > 0.0
    )


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body and the joint that carries it.

    Attributes:
        name: unique in its Multibody.
        parent: name of the parent body, None = the world.
        joint: how it moves; the body frame is the joint frame after the joint motion.
        R_PJ, p_PJ: (3, 3), (3,) m, the joint frame in the parent: x_P = R_PJ x_J + p_PJ at q = 0.
        mass_kg: >= 0; massless bodies are links of a chain.
        com_m: (3,) centre of mass in body axes from the body origin, m.
        inertia_com: (3, 3) about the centre of mass in body axes, kg m^2.
        any_inertia: take an inertia that breaks the triangle inequality as it is: models of others hold such ones, and
            their numbers shall come out.

    Raises ModelError naming the body: non-finite numbers, R_PJ not a rotation, negative mass, inertia not symmetric,
    not positive semidefinite or against the triangle inequality (by more than 1e-6 of its trace), inertia of a
    massless body.
    """

    name: str
    parent: str | None
    joint: Joint
    R_PJ: FloatArray = field(default_factory=_identity)
    p_PJ: FloatArray = field(default_factory=_zeros3)
    mass_kg: float = 0.0
    com_m: FloatArray = field(default_factory=_zeros3)
    inertia_com: FloatArray = field(default_factory=_zeros33)
    any_inertia: bool = False

    def __post_init__(self) -> None:
        for name, shape in (("R_PJ", (3, 3)), ("p_PJ", (3,)), ("com_m", (3,)), ("inertia_com", (3, 3))):
            try:
                values = np.array(getattr(self, name), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ModelError(f"{name} of body '{self.name}' must be numbers: {error}.") from error
            if values.shape != shape:
                raise ModelError(f"{name} of body '{self.name}' must have shape {shape}, found {values.shape}.")
            # a finite sum tells it in half the time; where it is not, the numbers may still be finite and large
            if not math.isfinite(values.sum()) and not np.isfinite(values).all():
                raise ModelError(f"{name} of body '{self.name}' holds a number that is not finite.")
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if not _is_rotation(self.R_PJ):
            raise ModelError(f"R_PJ of body '{self.name}' is not a right-handed rotation matrix (to 1e-9).")
        if not np.isfinite(self.mass_kg) or self.mass_kg < 0:
            raise ModelError(f"The mass of body '{self.name}' must be finite and >= 0 kg, found {self.mass_kg!r}.")
        object.__setattr__(self, "mass_kg", float(self.mass_kg))
        self._check_inertia()

    def _check_inertia(self) -> None:
        inertia = self.inertia_com
        if self.mass_kg == 0.0:
            if inertia.any():
                raise ModelError(f"Body '{self.name}' has no mass but an inertia; give it a mass or no inertia.")
            return
        slack = INERTIA_TOLERANCE * max(float(np.trace(inertia)), 0.0)
        if np.abs(inertia - inertia.T).max() > slack:
            raise ModelError(f"The inertia of body '{self.name}' is not symmetric.")
        a, b, c = np.linalg.eigvalsh(0.5 * (inertia + inertia.T))
        if a < -slack:
            raise ModelError(f"The inertia of body '{self.name}' has a negative principal moment, {a:.6g} kg m^2.")
        if a + b < c - slack and not self.any_inertia:
            raise ModelError(
                f"The inertia of body '{self.name}' breaks the triangle inequality: "
                f"{a:.6g} + {b:.6g} < {c:.6g} kg m^2.",
                "No mass distribution has such principal moments; check units, and the point it is taken about.",
            )
