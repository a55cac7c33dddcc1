"""Inertial parameters of the bodies from motion and force data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import ModelError
from biodyn.rigid_body.frames import checked, state
from biodyn.rigid_body.multibody import Multibody
from biodyn.rigid_body.second_order import inertial_parameters, regressor

# A body is identifiable when changing its mass changes the forces by this fraction of what the best seen body does.
IDENTIFIABLE = 1e-8


@dataclass(frozen=True)
class Masses:
    """Estimated masses.

    Attributes:
        model: the Multibody with the estimated masses.
        mass_kg: (B,) in the order of the bodies.
        standard_error_kg: (B,) from the residual, taken as independent noise; NaN at a bound.
        residual: root mean square of the unexplained generalised forces.
        at_bound: (B,) bodies whose mass ended at a bound.
    """

    model: Multibody
    mass_kg: FloatArray
    standard_error_kg: FloatArray
    residual: float
    at_bound: BoolArray


def estimate_masses(
    mb: Multibody,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    tau: ArrayLike,
    known: ArrayLike,
    bounds: tuple[float, float] = (0.5, 2.0),
    prior_weight: float = 0.0,
    total_mass_kg: float | None = None,
) -> Masses:
    """Estimate the masses of the bodies from measured generalised forces, by the regressor and bounded least squares.

    Each body keeps its shape: mass and inertia are scaled by one factor, its centre of mass stays, so that whatever
    factor comes out is a body that can exist.

    Args:
        q, v, vdot: (T, nq), (T, nv), (T, nv) of the motion.
        tau: (T, nv) forces along the coordinates without external wrenches, e.g. J^T of the measured ground wrenches
            on the six coordinates of a floating base.
        known: (nv,) bool, the coordinates whose tau was measured.
        bounds: least and largest factor on each mass, both positive.
        prior_weight: pull of every factor towards 1, in units of tau squared; needed where bodies always move together.
        total_mass_kg: the sum of the masses, where it is known.

    Raises ModelError for wrong shapes, impossible bounds, or masses the data do not determine.
    """
    positions, rates, accelerations = state(mb, q, v=v, vdot=vdot)
    forces = checked(tau, (positions.shape[0], mb.nv), "tau")
    rows = np.asarray(known, dtype=np.bool_)
    if rows.shape != (mb.nv,) or not rows.any():
        raise ModelError(f"known must mark some of the {mb.nv} coordinates, found {known!r}.")
    low, high = bounds
    if not 0 < low < high:
        raise ModelError(f"bounds must be 0 < least < largest factor, found {bounds!r}.")
    heavy = np.array([body.mass_kg > 0 for body in mb.bodies])
    matrix, right = _equations(mb, regressor(mb, positions, rates, accelerations), forces, rows, heavy)
    masses = np.array([body.mass_kg for body in mb.bodies])[heavy]
    data = len(right)
    matrix, right = _with_prior(matrix, right, masses, prior_weight, total_mass_kg)
    _require_determined(matrix, len(right), total_mass_kg is not None)
    found = lsq_linear(matrix, right, bounds=(low, high), method="bvls")
    factors = np.ones(len(mb.bodies))
    factors[heavy] = found.x
    left = matrix[:data] @ found.x - right[:data]
    free = found.active_mask == 0
    variance = float(left @ left) / max(data - int(free.sum()), 1)
    error = np.full(len(masses), np.nan)
    error[free] = np.sqrt(variance * np.diag(np.linalg.inv(matrix[:, free].T @ matrix[:, free]))) * masses[free]
    errors, bound = np.zeros(len(factors)), np.zeros(len(factors), dtype=np.bool_)
    errors[heavy], bound[heavy] = error, ~free
    bodies = tuple(
        replace(body, mass_kg=body.mass_kg * x, inertia_com=body.inertia_com * x)
        for body, x in zip(mb.bodies, factors, strict=True)
    )
    return Masses(
        model=Multibody(bodies, mb.gravity_W),
        mass_kg=np.array([body.mass_kg for body in bodies]),
        standard_error_kg=errors,
        residual=float(np.sqrt(np.mean(left**2))),
        at_bound=bound,
    )


def _equations(
    mb: Multibody, Y: FloatArray, forces: FloatArray, rows: BoolArray, heavy: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return matrix (n, heavy bodies) and right side (n,): known forces = sum over bodies of factor x force at factor 1."""
    count = len(mb.bodies)
    Y = Y[:, rows]
    by_body = np.einsum("tjbk,bk->tjb", Y.reshape(*Y.shape[:2], count, 10), inertial_parameters(mb).reshape(count, 10))
    matrix, right = by_body.reshape(-1, count)[:, heavy], forces[:, rows].ravel()
    good = np.isfinite(matrix).all(axis=1) & np.isfinite(right)
    return matrix[good], right[good]


def _with_prior(
    matrix: FloatArray, right: FloatArray, masses: FloatArray, prior_weight: float, total_mass_kg: float | None
) -> tuple[FloatArray, FloatArray]:
    """Return the equations with those that pull factors towards 1 and that hold the sum of the masses."""
    if prior_weight > 0:
        matrix = np.concatenate([matrix, np.sqrt(prior_weight) * np.eye(len(masses))])
        right = np.concatenate([right, np.full(len(masses), np.sqrt(prior_weight))])
    if total_mass_kg is not None:  # so heavy a row that the sum holds to 1e-6 of it
        firm = 1e6 * np.abs(matrix).max() / masses.sum()
        matrix = np.concatenate([matrix, firm * masses[None]])
        right = np.concatenate([right, [firm * total_mass_kg]])
    return matrix, right


def _require_determined(matrix: FloatArray, equations: int, has_total: bool) -> None:
    singular = np.linalg.svd(matrix, compute_uv=False) if equations >= matrix.shape[1] else np.zeros(1)
    if not singular[-1] > IDENTIFIABLE * singular[0] * (1e-6 if has_total else 1.0):
        raise ModelError(
            "The motion and the known forces do not determine all masses.",
            "Give a prior_weight, more coordinates or a livelier motion.",
        )
