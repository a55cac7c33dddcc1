"""Masses from motion and force data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.trees import random_state, random_tree

from biodyn.errors import ModelError
from biodyn.rigid_body import Multibody, estimate_masses, inverse_dynamics


def known_and_true(seed=5):
    """Return a guessed model, the true one, and a motion of it."""
    guess = random_tree(seed, 5, kinds=("revolute", "spherical"))
    factors = np.random.default_rng(seed).uniform(0.7, 1.4, size=5)
    true = Multibody(
        tuple(
            replace(body, mass_kg=body.mass_kg * x, inertia_com=body.inertia_com * x)
            for body, x in zip(guess.bodies, factors, strict=True)
        ),
        guess.gravity_W,
    )
    return guess, true, random_state(true, seed, frames=60)


def test_masses_from_the_wrench_on_the_base_alone():
    guess, true, (q, v, vdot) = known_and_true()
    base = np.arange(guess.nv) < 6
    tau = inverse_dynamics(true, q, v, vdot)
    found = estimate_masses(guess, q, v, vdot, tau, base)
    np.testing.assert_allclose(found.mass_kg, [body.mass_kg for body in true.bodies], rtol=1e-8)
    np.testing.assert_allclose(inverse_dynamics(found.model, q, v, vdot), tau, rtol=1e-7, atol=1e-7)
    assert not found.at_bound.any()
    assert found.residual < 1e-9 * np.abs(tau).max()


def test_noise_is_told_by_the_standard_error():
    guess, true, (q, v, vdot) = known_and_true()
    base = np.arange(guess.nv) < 6
    tau = inverse_dynamics(true, q, v, vdot)
    masses = np.array([body.mass_kg for body in true.bodies])
    rng = np.random.default_rng(0)
    normalised = []
    for _ in range(60):
        found = estimate_masses(guess, q, v, vdot, tau + rng.normal(scale=3.0, size=tau.shape), base, (0.1, 10.0))
        normalised.append((found.mass_kg - masses) / found.standard_error_kg)
    # 300 draws of a unit normal: the spread lies within 4 standard errors of 1 / sqrt(600)
    assert np.std(normalised) == pytest.approx(1.0, abs=4 / np.sqrt(600))


def test_bounds_and_total_mass_hold():
    guess, true, (q, v, vdot) = known_and_true()
    base = np.arange(guess.nv) < 6
    tau = inverse_dynamics(true, q, v, vdot)
    tight = estimate_masses(guess, q, v, vdot, tau, base, bounds=(0.95, 1.05))
    ratio = tight.mass_kg / [body.mass_kg for body in guess.bodies]
    assert ratio.min() >= 0.95 - 1e-12
    assert ratio.max() <= 1.05 + 1e-12
    assert tight.at_bound.any()
    total = estimate_masses(guess, q, v, vdot, tau, base, total_mass_kg=true.total_mass_kg * 1.02)
    assert total.model.total_mass_kg == pytest.approx(true.total_mass_kg * 1.02, rel=1e-5)


def test_what_the_data_cannot_tell_is_said():
    guess, _, (q, v, _) = known_and_true()
    still = np.zeros_like(v)
    base = np.arange(guess.nv) < 6
    tau = inverse_dynamics(guess, q, still, still)
    with pytest.raises(ModelError, match="do not determine all masses"):
        estimate_masses(guess, q[:1], still[:1], still[:1], tau[:1], np.arange(guess.nv) == 5)
    eased = estimate_masses(guess, q[:1], still[:1], still[:1], tau[:1], base, prior_weight=1.0)
    np.testing.assert_allclose(eased.mass_kg, [body.mass_kg for body in guess.bodies], rtol=1e-6)
