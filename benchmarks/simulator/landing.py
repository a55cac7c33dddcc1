"""How a foot comes down: its heel leaves the course of the smooth walk and rests some milliseconds after the strike."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from biodyn.conventions import FloatArray

_STEP_S = 1e-3  # of the differences for velocity and acceleration
# d^k/dt^k of t^n at the beginning and at the end of a quintic over the time 1, k = 0 .. 2
_ENDS = np.array(
    [
        [1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [0, 0, 2, 0, 0, 0],
        [1, 1, 1, 1, 1, 1],
        [0, 1, 2, 3, 4, 5],
        [0, 0, 2, 6, 12, 20],
    ],
    dtype=float,
)


def landing_heel(
    smooth: Callable[[FloatArray], FloatArray],
    since_s: FloatArray,
    stance_s: float,
    table: Mapping[str, float],
) -> FloatArray:
    """Return where the heel (T, 3) m of a foot that strikes at time 0 is at times (T,) s.

    Up to `begins_s` before the strike it is where the smooth motion has it, from there a quintic leads to the place where it
    comes to rest, `rests_s` after the strike. It stays where the smooth motion has planted it (`planted`, share of the
    stance) and returns to that motion's course, a millimetre or two, over a time of `returns` shares of the stance.

    Parameters:
        smooth: places (T, 3) m of the heel in the smooth motion at times (T,) s; X is the way.
        stance_s: how long the foot stands. table: `landing` of rough.toml.
    """
    begin, rest = -table["begins_s"], table["rests_s"]
    before, first, after, stays = smooth(
        np.array([begin - _STEP_S, begin, begin + _STEP_S, table["planted"] * stance_s])
    )
    start = np.stack([first, (after - before) / (2.0 * _STEP_S), (after - 2.0 * first + before) / _STEP_S**2])
    end = np.stack([stays, np.zeros(3), np.zeros(3)])
    heel = smooth(since_s)
    falls = (since_s >= begin) & (since_s < rest)
    heel[falls] = _quintic(start, end, rest - begin, since_s[falls] - begin)
    stands = since_s >= rest
    back = _eased((since_s[stands] / stance_s - table["planted"]) / table["returns"])[:, None]
    heel[stands] = stays + back * (heel[stands] - stays)
    return heel


def _quintic(start: FloatArray, end: FloatArray, length_s: float, time_s: FloatArray) -> FloatArray:
    """Places (T, 3) at times (T,) s on the way between two states (3, 3): place, velocity, acceleration."""
    scale = np.array([1.0, length_s, length_s**2])[:, None]
    coefficients = np.linalg.solve(_ENDS, np.concatenate([start * scale, end * scale]))
    return np.asarray(np.vander(time_s / length_s, 6, increasing=True) @ coefficients)


def _eased(x: FloatArray) -> FloatArray:
    s = np.clip(x, 0.0, 1.0)
    return np.asarray(s**3 * (10.0 - 15.0 * s + 6.0 * s**2))
