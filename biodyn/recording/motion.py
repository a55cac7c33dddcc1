"""A motion of the skeleton: configuration, velocity and acceleration that belong together."""

from __future__ import annotations

from dataclasses import dataclass

from biodyn.conventions import FloatArray


@dataclass(frozen=True)
class Motion:
    """Configuration-space motion of a multibody model.

    Attributes:
        time_s: (T,) s.
        q: (T, nq) [x y z, qw qx qy qz, coordinates ...] m and rad.
        v: (T, nv) [omega_B, v_B, coordinate rates ...]: the base part is the body-frame twist, rad/s and m/s.
        vdot: (T, nv) time derivative of the components of v (for the base the spatial acceleration in body axes).
    """

    time_s: FloatArray
    q: FloatArray
    v: FloatArray
    vdot: FloatArray
