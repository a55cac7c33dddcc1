"""How far a walk is from normal: gait variable scores, gait profile score, movement analysis profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import FloatArray
from biodyn.errors import StatisticsError


@dataclass(frozen=True)
class MovementProfile:
    """Movement analysis profile: the scores that make up the gait profile score, as one draws them side by side.

    Attributes:
        variable_scores: gait variable score of each curve, in the curves' unit (degrees by convention).
        profile_scores: gait profile score of each group of curves, e.g. right, left, overall.
    """

    variable_scores: dict[str, float]
    profile_scores: dict[str, float]


def gait_variable_score(curves: ArrayLike, reference: ArrayLike) -> FloatArray:
    """Return the root mean square over the cycle (last axis) of curve - reference mean.

    Baker et al. 2009, Gait Posture 30:265-269. NaN where a node is missing.
    Never zero for a healthy person: the scores of controls are the yardstick.
    """
    apart = np.asarray(curves, dtype=float) - np.asarray(reference, dtype=float)
    return np.asarray(np.sqrt(np.mean(apart**2, axis=-1)))


def gait_profile_score(variable_scores: ArrayLike) -> FloatArray:
    """Return the root mean square of gait variable scores (last axis), as defined: not their arithmetic mean.

    NaN if one of them is missing.
    """
    return np.asarray(np.sqrt(np.mean(np.asarray(variable_scores, dtype=float) ** 2, axis=-1)))


def movement_profile(
    curves: Mapping[str, ArrayLike], reference: Mapping[str, ArrayLike], groups: Mapping[str, Sequence[str]]
) -> MovementProfile:
    """Return all scores of one walk.

    Parameters: `curves` and `reference` (Q,) by name, same names, unit and sign; `groups`: the names each profile score is
    made of (Baker 2009: nine per side; fifteen overall, the pelvis counted once).

    Raises:
        StatisticsError: a curve has no reference, lengths differ, or a group names an unknown curve or none.
    """
    scores: dict[str, float] = {}
    for name, curve in curves.items():
        if name not in reference:
            raise StatisticsError(f"{name!r} has no reference curve (there are: {', '.join(sorted(reference))}).")
        if np.shape(curve) != np.shape(reference[name]):
            raise StatisticsError(f"{name!r} has {np.shape(curve)} nodes, its reference {np.shape(reference[name])}.")
        scores[name] = float(gait_variable_score(curve, reference[name]))
    for group, names in groups.items():
        unknown = [name for name in names if name not in scores]
        if unknown or not names:
            raise StatisticsError(
                f"Profile score {group!r} needs curves {unknown or 'but names none'} (has: {', '.join(scores)})."
            )
    totals = {group: float(gait_profile_score([scores[name] for name in names])) for group, names in groups.items()}
    return MovementProfile(scores, totals)
