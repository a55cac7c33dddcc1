"""Hip centre from movement: the point that rests in the pelvis and in the thigh while the thigh moves about the hip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.geometry.points import rigid_fit
from biodyn.model.from_library.hip_centre import FunctionalTrial, HipInput, hip_method

# A rigid pose needs three markers; six unknowns need some frames.
_LEAST_MARKERS = 3
_LEAST_FRAMES = 20
_HINT = "Record flexion, abduction and circles of the straight leg, pelvis and thigh markers in sight; or take a regression."


@hip_method("score", numbers=("least_excursion_deg", "largest_condition", "largest_residual_mm"), needs_trial=True)
def score(row: Mapping[str, Any], given: HipInput) -> FloatArray:
    """Centre by the symmetrical centre of rotation estimation (Ehrig et al. 2006, doi 10.1016/j.jbiomech.2005.10.002).

    With R_k, p_k the thigh's pose in the pelvis frame, c_P and c_T the centre on both segments: the least sum over the frames
    of |c_P - R_k c_T - p_k|^2.
    """
    if given.trial is None:
        raise ModelError(
            f"The hip centre '{row['title']}' needs a trial in which the thigh moves about the hip, and there is none.",
            _HINT,
        )
    R, p = thigh_poses(given.trial, given)
    limits = row["numbers"]
    excursion_deg = np.rad2deg(second_excursion(R))
    if excursion_deg < limits["least_excursion_deg"]:
        raise _refused(
            f"the thigh moves about one axis only: {excursion_deg:.0f} degrees about the second one, expected at least "
            f"{limits['least_excursion_deg']:g}"
        )
    A = np.concatenate([np.broadcast_to(np.eye(3), R.shape), -R], axis=2).reshape(-1, 6)
    centres, _, _, singular = np.linalg.lstsq(A, p.reshape(-1), rcond=None)
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0.0 else np.inf
    if condition > limits["largest_condition"]:
        raise _refused(
            f"the motion does not fix a centre: condition number {condition:.0f}, expected at most "
            f"{limits['largest_condition']:g}"
        )
    apart = (A @ centres - p.reshape(-1)).reshape(-1, 3)
    residual_mm = 1e3 * float(np.sqrt(np.mean(np.sum(apart**2, axis=1))))
    if residual_mm > limits["largest_residual_mm"]:
        raise _refused(
            f"the centre in the pelvis and that in the thigh lie {residual_mm:.0f} mm apart (RMS), expected at most "
            f"{limits['largest_residual_mm']:g}"
        )
    return np.asarray(centres[:3])


def thigh_poses(trial: FunctionalTrial, given: HipInput) -> tuple[FloatArray, FloatArray]:
    """Return R (K, 3, 3), p (K, 3) m of the thigh's markers in the pelvis frame, in the frames in which all of them are seen."""
    for place, points in (("on the pelvis", trial.pelvis_W), ("on the thigh", trial.thigh_W)):
        if points.shape[1] < _LEAST_MARKERS:
            raise _refused(f"{points.shape[1]} markers {place}, expected at least {_LEAST_MARKERS}")
    seen = np.isfinite(trial.pelvis_W).all(axis=(1, 2)) & np.isfinite(trial.thigh_W).all(axis=(1, 2))
    if np.count_nonzero(seen) < _LEAST_FRAMES:
        raise _refused(
            f"all markers of pelvis and thigh are seen in {np.count_nonzero(seen)} frames, expected {_LEAST_FRAMES}"
        )
    R_WP, p_WP = rigid_fit(given.in_pelvis(trial.pelvis_standing_W), trial.pelvis_W[seen])
    thigh_P = (trial.thigh_W[seen] - p_WP[:, None]) @ R_WP
    # The cluster's mean shape: skin lets every single frame differ from it.
    first = thigh_P[0] - thigh_P[0].mean(axis=0)
    R, p = rigid_fit(first, thigh_P)
    return rigid_fit(((thigh_P - p[:, None]) @ R).mean(axis=0), thigh_P)


def second_excursion(R: FloatArray) -> float:
    """Range (rad) of the rotation about the axis about which the thigh turns second most; R (K, 3, 3)."""
    rotations = Rotation.from_matrix(R)
    turns = (rotations.mean().inv() * rotations).as_rotvec()
    axes = np.linalg.svd(turns - turns.mean(axis=0), full_matrices=False)[2]
    return float(np.ptp(turns @ axes[1]))


def _refused(why: str) -> ModelError:
    return ModelError(f"The functional hip trial gives no joint centre: {why}.", _HINT)
