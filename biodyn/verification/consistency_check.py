"""What a consistency check is, and the first of them: velocity and acceleration belong to the path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.processing.dynamics.actuated import ActuatedMotion
from biodyn.processing.signals.derivatives import configuration_spline
from biodyn.rigid_body import difference

#: Largest relative error. Double precision leaves 1e-16 an operation; solving for the accelerations multiplies it by the
#: condition number of a body's mass matrix, up to some 1e6 (trunk against wrist).
RELATIVE_LIMIT = 1e-9
# Differences are no algebra: where the curve's fifth derivative jumps, at a frame, they err by (h / frame time)^3 at most, and
# round-off grows with 1 / h. At this step the first is 3e-8 of the largest rate, the second less.
_DIFFERENCE_LIMIT = 1e-6
_STEP_SHARE = 0.003  # h as a share of the time between frames
# Fourth-order central difference: f'(0) = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h.
_REACH = 2


@dataclass(frozen=True)
class ConsistencyCheck:
    """One equation, checked in every frame.

    Attributes:
        code: stable short name; title, equation, words: for people.
        error: (T,) largest relative error of the frame, NaN where it could not be checked.
        absolute: largest error in `unit`.
        limit: of the relative error.
    """

    code: str
    title: str
    equation: str
    words: str
    error: FloatArray
    absolute: float
    unit: str
    limit: float = RELATIVE_LIMIT

    @property
    def frames(self) -> int:
        """Number of frames checked."""
        return int(np.isfinite(self.error).sum())

    @property
    def worst(self) -> float:
        """Largest relative error; NaN if no frame was checked."""
        return float(np.nanmax(self.error)) if self.frames else float("nan")

    @property
    def worst_frame(self) -> int | None:
        """Frame of the largest error (0-based)."""
        return int(np.nanargmax(self.error)) if self.frames else None

    @property
    def holds(self) -> bool | None:
        """True within the limit, False beyond, None if nothing was checked."""
        return bool(self.worst <= self.limit) if self.frames else None

    @property
    def sentence(self) -> str:
        """The finding in one plain sentence."""
        if not self.frames:
            return f"{self.title}: no frame has torques, so nothing could be checked."
        verdict = "holds" if self.holds else "DOES NOT hold"
        return (
            f"{self.words} This {verdict} in {self.frames} frames: largest relative error {self.worst:.1e} "
            f"(limit {self.limit:.0e}), {self.absolute:.1e} {self.unit}, in frame {self.worst_frame}."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values without the curve."""
        return {
            "code": self.code,
            "title": self.title,
            "equation": self.equation,
            "holds": self.holds,
            "relative_error": self.worst,
            "limit": self.limit,
            "absolute_error": self.absolute,
            "unit": self.unit,
            "frames": self.frames,
            "worst_frame": self.worst_frame,
            "text": self.sentence,
        }


@dataclass(frozen=True)
class Consistency:
    """All consistency checks of a trial."""

    checks: tuple[ConsistencyCheck, ...]

    @property
    def holds(self) -> bool:
        """True if every check was made and holds."""
        return all(check.holds is True for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as `run.json` keeps them under "proof"."""
        return {"holds": self.holds, "identities": [check.as_dict() for check in self.checks]}


def consistent_motion(actuated: ActuatedMotion) -> ConsistencyCheck:
    """Check v and vdot against differences of configurations and velocities along the curve between the frames.

    The other checks take v and vdot for granted; this one finds a velocity that is not the path's, or a spatial
    acceleration mistaken for a classical one.
    """
    mb, kinds = actuated.multibody, actuated.coordinate_kinds()
    error = np.full(len(actuated.time_s), np.nan)
    known = actuated.known
    h = _STEP_SHARE / actuated.rate_hz
    scales = [np.maximum(np.abs(x[known]).max(axis=0, initial=0.0), 1.0) for x in (actuated.v, actuated.vdot)]
    absolute = 0.0
    for first, stop, start, end in actuated.stretches():
        curve = configuration_spline(actuated.time_s[first:stop], actuated.q[first:stop], kinds)
        inside = slice(max(start, first + 1), min(end, stop - 1))  # the stencil needs the curve on both sides
        time_s = actuated.time_s[inside]
        around = {k: curve(time_s + k * h) for k in (-_REACH, -1, 1, _REACH)}
        here = actuated.q[inside]
        steps = {k: difference(mb, here, q) for k, (q, _, _) in around.items()}
        rates = {k: v for k, (_, v, _) in around.items()}
        found = [(8.0 * (f[1] - f[-1]) - (f[_REACH] - f[-_REACH])) / (12.0 * h) for f in (steps, rates)]
        gaps = [np.abs(found[0] - actuated.v[inside]), np.abs(found[1] - actuated.vdot[inside])]
        error[inside] = np.maximum(*((gap / scale).max(axis=1) for gap, scale in zip(gaps, scales, strict=True)))
        absolute = max(absolute, *(float(gap.max(initial=0.0)) for gap in gaps))
    return ConsistencyCheck(
        "motion",
        "Velocity and acceleration belong to the path",
        "v = dq/dt, vdot = dv/dt",
        "Configurations and velocities a 300th of a frame apart on the curve through the frames differ as velocities "
        "and accelerations say. The limit is that of differences, not of round-off.",
        error,
        absolute,
        "rad, m per s or s²",
        _DIFFERENCE_LIMIT,
    )
