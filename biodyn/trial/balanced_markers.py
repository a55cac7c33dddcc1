"""A model that was fitted to markers and measured forces become one estimate (`signals.method = "estimate"`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import InputFileError
from biodyn.estimation.on_coordinates import FittedMarkers
from biodyn.estimation.parameters import EstimationSettings
from biodyn.processing.kinematics.model_markers import ModelFit
from biodyn.processing.signals.coordinate_motion import LEAST_ROWS
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.rigid_body import OpenSimModel
from biodyn.trial.balanced_coordinates import BalancedMotion, balanced
from biodyn.trial.model_torques import Loads

# Over longer gaps nothing tells the motion that the forces are balanced with.
_LONGEST_GAP_S: Final = 0.2


@dataclass(frozen=True, eq=False)
class BalancedFit:
    """The estimate of a motion fitted to markers.

    Attributes:
        motion: what was found, in the rows `rows` of the recording. seen: (T,) frames of the recording that have a motion.
        fit: the fit, its marker errors those of the estimated motion and model.
    """

    motion: BalancedMotion
    rows: slice
    seen: BoolArray
    fit: ModelFit

    def of_recording(self, values: FloatArray) -> FloatArray:
        """Return values of the rows as values (T, n) of the whole recording, NaN where no motion is."""
        found = np.full((len(self.seen), values.shape[1]), np.nan)
        found[self.rows] = values
        found[~self.seen] = np.nan
        return found


def balanced_fit(
    model: OpenSimModel,
    fit: ModelFit,
    time_s: FloatArray,
    cutoff_hz: float,
    loads: Loads,
    settings: EstimationSettings,
) -> BalancedFit:
    """Return the motion and inertias that explain markers and forces best together.

    time_s: (T,) of the recording, even. cutoff_hz: of the fitted motion that the estimate starts from and deviates from.
    Raises InputFileError: too few frames show the markers, gaps too long, nothing to balance (`balanced`).
    """
    seen = np.asarray(np.isfinite(fit.q).all(axis=1))
    frames = np.flatnonzero(seen)
    if len(frames) < LEAST_ROWS:
        raise InputFileError(f"No {LEAST_ROWS} frames show enough markers of the model; accelerations need as many.")
    rows = slice(int(frames[0]), int(frames[-1]) + 1)
    rate_hz = (len(time_s) - 1) / float(time_s[-1] - time_s[0])
    longest = max((stop - first for first, stop in finite_stretches(~seen[rows])), default=0)
    if longest > _LONGEST_GAP_S * rate_hz:
        raise InputFileError(
            f"For {longest / rate_hz:.2f} s too few markers are seen: the estimate needs a motion without such gaps "
            f"(at most {_LONGEST_GAP_S:g} s).",
            "Fill or cut the recording, or leave signals.method out.",
        )
    given = fit.q[rows].copy()
    for k in range(given.shape[1]):
        given[:, k] = np.interp(time_s[rows], time_s[seen], fit.q[seen, k])
    found = balanced(
        model, time_s[rows], given, cutoff_hz, loads.only(rows), settings, _measured(model, fit, rows, given)
    )
    whole = BalancedFit(found, rows, seen, fit)
    return replace(whole, fit=_as_estimated(whole, len(time_s)))


def _measured(model: OpenSimModel, fit: ModelFit, rows: slice, given: FloatArray) -> FittedMarkers:
    names, coupled = model.independent()
    every = [one.name for one in model.coordinates]
    q = given[:, [every.index(name) for name in names]]
    assert fit.followed is not None
    assert fit.pulls is not None
    missing = np.isnan(fit.q[rows, 0])
    weights = np.where(missing[:, None], 0.0, fit.followed.weights[rows])
    followed = replace(fit.followed, weights=weights)
    return FittedMarkers(followed, followed.positions(coupled, q), fit.pulls, q)


def _as_estimated(found: BalancedFit, frames: int) -> ModelFit:
    """The fit with the distances of the markers from the estimated motion."""
    fit, model = found.fit, found.motion.model
    assert fit.followed is not None
    errors = np.full((frames, len(fit.labels)), np.nan)
    x = fit.followed.positions(model.coupled, found.motion.q)
    errors[found.rows] = np.linalg.norm(x - fit.recorded[found.rows], axis=2)
    errors[np.isnan(fit.solution.marker_error)] = np.nan
    return replace(fit, solution=replace(fit.solution, marker_error=errors))
