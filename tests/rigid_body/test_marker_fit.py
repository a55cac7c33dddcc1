"""Inverse kinematics: simulated truth, limits, gaps, priors, and an independently computed optimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from support.real import reference_vectors
from support.reference_vectors import reference_model
from support.trees import random_tree

from biodyn.errors import ModelError
from biodyn.rigid_body import Body, Joint, Multibody, body_poses, difference, integrate, inverse_kinematics
from biodyn.rigid_body.marker_fit import CONVERGED, UNDETERMINED, UNSEEN


def leg():
    """Return a floating pelvis with a ball-jointed thigh and a hinged shank."""
    knee = Joint("revolute", (0.0, 0.0, 1.0))
    return Multibody(
        (
            Body("pelvis", None, Joint("free")),
            Body("thigh", "pelvis", Joint("spherical"), p_PJ=[0.0, -0.1, 0.1]),
            Body("shank", "thigh", knee, p_PJ=[0.0, -0.4, 0.0]),
        )
    )


def on_every_body(mb, seed=0, each=4):
    """Return marker bodies (M,) and places (M, 3), `each` a body."""
    rng = np.random.default_rng(seed)
    bodies = np.repeat(np.arange(len(mb.bodies)), each)
    return bodies, rng.normal(scale=0.15, size=(len(bodies), 3))


def markers_at(mb, q, bodies, p_BM):
    """Return the markers p_WM (T, M, 3) of the configurations."""
    R_WB, p_WB = body_poses(mb, q)
    return np.einsum("tmij,mj->tmi", R_WB[:, bodies], p_BM) + p_WB[:, bodies]


def walk(mb, seed, frames=12):
    """Return a smooth motion q (T, nq) that begins away from the neutral configuration."""
    rng = np.random.default_rng(seed)
    start = integrate(mb, mb.neutral_q()[None], 0.3 * rng.normal(size=(1, mb.nv)))
    rate = rng.normal(size=mb.nv)
    return np.concatenate([integrate(mb, start, 0.02 * t * rate[None]) for t in range(frames)])


def apart(mb, q0, q1):
    return float(np.abs(difference(mb, q0, q1)).max())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_recovers_the_truth(seed, count):
    mb = random_tree(seed, count, kinds=("revolute", "prismatic", "spherical", "weld"))
    q = walk(mb, seed)
    bodies, p_BM = on_every_body(mb, seed)
    fit = inverse_kinematics(mb, bodies, p_BM, markers_at(mb, q, bodies, p_BM), np.ones(len(bodies)))
    assert (fit.status == CONVERGED).all()
    assert np.nanmax(fit.marker_error) < 3e-8  # the tolerance of 1e-8 rad over levers of some metres
    assert apart(mb, fit.q, q) < 1e-7


def test_gaps_and_too_few_markers():
    mb = leg()
    q = walk(mb, 3)
    bodies, p_BM = on_every_body(mb)
    p_WM = markers_at(mb, q, bodies, p_BM)
    p_WM[2, ::3] = np.nan  # four of twelve gone
    p_WM[5, 2:] = np.nan  # two left
    p_WM[7, bodies == 2] = np.nan  # the shank unseen: its angle stays
    fit = inverse_kinematics(mb, bodies, p_BM, p_WM, np.ones(len(bodies)))
    assert fit.status[2] == CONVERGED
    assert fit.status[5] == UNSEEN
    assert np.isnan(fit.q[5]).all()
    assert np.isnan(fit.cost[5])
    assert fit.status[7] == UNDETERMINED
    assert fit.q[7, -1] == pytest.approx(fit.q[6, -1], abs=1e-12)
    p_WM[5] = np.nan  # a frame without a fit has no errors either
    np.testing.assert_array_equal(np.isnan(fit.marker_error), np.isnan(p_WM[..., 0]))
    seen = fit.status == CONVERGED
    assert seen.sum() == len(q) - 2
    assert apart(mb, fit.q[seen], q[seen]) < 1e-7


def test_limits_hold_and_the_rest_is_optimal():
    free = leg()
    q = walk(free, 4)
    q[:, -1] = np.linspace(-0.6, 0.5, len(q))
    bodies, p_BM = on_every_body(free)
    p_WM = markers_at(free, q, bodies, p_BM)
    weights = np.ones(len(bodies))
    fit = inverse_kinematics(free, bodies, p_BM, p_WM, weights, np.r_[[-np.inf] * 9, -0.2], np.r_[[np.inf] * 9, 0.1])
    assert (fit.status == CONVERGED).all()
    knee = fit.q[:, -1]
    assert knee.min() == -0.2
    assert knee.max() == 0.1
    inside = (knee > -0.2) & (knee < 0.1)
    assert inside.any()
    assert apart(free, fit.q[inside], q[inside]) < 1e-7
    # at the limit the other coordinates are those of a leg whose knee is locked there
    locked = inverse_kinematics(
        free, bodies, p_BM, p_WM, weights, np.r_[[-np.inf] * 9, -0.2], np.r_[[np.inf] * 9, -0.2]
    )
    at = knee == -0.2
    assert apart(free, fit.q[at], locked.q[at]) < 1e-7


def test_weights_and_priors_give_the_minimum_of_the_stated_cost():
    """With noise, against a general-purpose minimiser started at the truth."""
    mb = leg()
    rng = np.random.default_rng(8)
    q = walk(mb, 5, frames=2)
    bodies, p_BM = on_every_body(mb)
    p_WM = markers_at(mb, q, bodies, p_BM) + rng.normal(scale=0.02, size=(2, 12, 3))
    weights = rng.uniform(0.2, 2.0, size=(2, 12))
    pull = rng.uniform(0.0, 0.3, size=mb.nv)
    fit = inverse_kinematics(
        mb, bodies, p_BM, p_WM, weights, tolerance=1e-10, prior_weights=pull, q_prior=mb.neutral_q()
    )

    def cost(step, t):
        at = integrate(mb, q[t : t + 1], step[None])
        residual = p_WM[t] - markers_at(mb, at, bodies, p_BM)[0]
        away = difference(mb, at, mb.neutral_q()[None])[0]
        away[3:6] = -at[0, :3]  # a free joint's place counts as it stands in q, not along a screw
        return float(weights[t] @ (residual**2).sum(axis=1) + pull @ away**2)

    for t in range(2):
        best = minimize(cost, np.zeros(mb.nv), args=(t,), method="BFGS", options={"gtol": 1e-9})
        assert fit.cost[t] == pytest.approx(best.fun, rel=1e-9)
        # BFGS with finite differences finds the place to about the root of its precision
        assert apart(mb, fit.q[t : t + 1], integrate(mb, q[t : t + 1], best.x[None])) < 1e-5


def test_any_place_and_heading_of_the_base():
    mb = leg()
    bodies, p_BM = on_every_body(mb)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        q = walk(mb, seed, frames=1)
        q[:, :3] = rng.normal(scale=5.0, size=3)
        turn = rng.normal(size=4)
        q[:, 3:7] = turn / np.linalg.norm(turn)
        fit = inverse_kinematics(mb, bodies, p_BM, markers_at(mb, q, bodies, p_BM), np.ones(len(bodies)))
        assert fit.status[0] == CONVERGED
        assert apart(mb, fit.q, q) < 1e-7


def test_who_comes_back_facing_the_other_way_is_found_again():
    """Turned by any angle from one frame to the next, across a gap or not: from the pose before, the fit would end elsewhere."""
    mb = leg()
    bodies, p_BM = on_every_body(mb)
    rng = np.random.default_rng(11)
    for _ in range(20):
        q = walk(mb, int(rng.integers(1000)), frames=12)
        turns = np.repeat(rng.normal(size=(4, 4)), 3, axis=0)
        q[:, 3:7] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
        q[:, :3] += np.repeat(rng.normal(size=(4, 3)), 3, axis=0)
        p_WM = markers_at(mb, q, bodies, p_BM)
        p_WM[5] = np.nan
        seen = np.arange(12) != 5
        shares = rng.uniform(0.5, 2.0, size=(12, len(bodies)))
        fit = inverse_kinematics(mb, bodies, p_BM, p_WM, shares)
        assert (fit.status == np.where(seen, CONVERGED, UNSEEN)).all()
        assert apart(mb, fit.q[seen], q[seen]) < 1e-7
        held = inverse_kinematics(mb, bodies, p_BM, p_WM, shares, prior_weights=np.full(mb.nv, 1e3), q_prior=q)
        assert apart(mb, held.q[seen], q[seen]) < 1e-7  # the prior is the truth of each frame


def test_an_exchanged_pair_of_root_markers_is_no_turn(monkeypatch):
    """Its line turns round, the markers together do not: every frame starts from the one before, as ever."""
    mb = leg()
    bodies, p_BM = on_every_body(mb)
    p_WM = markers_at(mb, walk(mb, 2), bodies, p_BM)
    own = np.flatnonzero(bodies == 0)
    apart_m = np.linalg.norm(p_BM[own][:, None] - p_BM[own][None], axis=2)
    one, other = own[list(np.unravel_index(np.argmax(apart_m), apart_m.shape))]
    p_WM[4:7, [one, other]] = p_WM[4:7, [other, one]]
    placed = []
    monkeypatch.setattr(
        "biodyn.rigid_body.marker_fit._align_base", lambda mb, q0, *rest, **options: placed.append(1) or q0[None]
    )
    inverse_kinematics(mb, bodies, p_BM, p_WM, np.ones(len(bodies)), q0=walk(mb, 2)[0])
    assert len(placed) == 1  # the first frame's


def test_wrong_input_is_named():
    mb = leg()
    bodies, p_BM = on_every_body(mb)
    p_WM = markers_at(mb, walk(mb, 1, 2), bodies, p_BM)
    ones = np.ones(len(bodies))
    with pytest.raises(ModelError, match="indices from 0 to 7"):
        inverse_kinematics(mb, np.where(bodies == 2, 7, bodies), p_BM, p_WM, ones)
    with pytest.raises(ModelError, match="weights must be"):
        inverse_kinematics(mb, bodies, p_BM, p_WM, -ones)
    with pytest.raises(ModelError, match="p_WM must have shape"):
        inverse_kinematics(mb, bodies, p_BM, p_WM[:, :5], ones)
    with pytest.raises(ModelError, match="above the upper limit in the joint of shank"):
        inverse_kinematics(mb, bodies, p_BM, p_WM, ones, lower=np.r_[[-np.inf] * 9, 1.0], upper=np.zeros(10))
    with pytest.raises(ModelError, match=r"Markers \[3\] have no position"):
        inverse_kinematics(mb, bodies, np.where(np.arange(12)[:, None] == 3, np.nan, p_BM), p_WM, ones)


def test_angles_do_not_wind_up_where_markers_are_missing():
    """A chain of eight hinges, every marker missing three frames in ten: found again in every determined frame."""
    hinge = [Joint("revolute", tuple(axis)) for axis in np.random.default_rng(2).normal(size=(8, 3))]
    chain = [Body(f"b{i}", f"b{i - 1}" if i else "base", j, p_PJ=[0.0, -0.2, 0.0]) for i, j in enumerate(hinge)]
    mb = Multibody((Body("base", None, Joint("free")), *chain))
    rng = np.random.default_rng(3)
    times = np.linspace(0.0, 4.0, 400)
    q = np.tile(mb.neutral_q(), (400, 1))
    q[:, 7:] = 0.6 * np.sin(rng.uniform(2, 6, size=8) * times[:, None] + rng.uniform(0, 6, size=8))
    on, p_BM = on_every_body(mb, each=3)
    p_WM = markers_at(mb, q, on, p_BM)
    p_WM[rng.random(p_WM.shape[:2]) < 0.3] = np.nan
    p_WM[0] = markers_at(mb, q[:1], on, p_BM)[0]
    fit = inverse_kinematics(mb, on, p_BM, p_WM, np.ones(len(on)))
    determined = fit.status == CONVERGED
    assert determined.mean() > 0.5
    assert apart(mb, fit.q[determined], q[determined]) < 1e-5


@pytest.mark.parametrize("name", ["full22", "lower12"])
def test_reaches_the_reference_optimum_in_every_frame(name):
    """Noisy markers of a walking-like motion; the optimum was found by an independent Gauss-Newton program."""
    mb = reference_model(f"{name}_rev")
    folder = reference_vectors() / "ik_synthetic"
    problem, optimum = np.load(folder / f"{name}.npz"), np.load(folder / f"{name}_optimum.npz")
    bodies = np.array([mb.body_index(body) for body in problem["marker_body"]])
    fit = inverse_kinematics(mb, bodies, problem["marker_local"], problem["markers"], np.ones(len(bodies)))
    assert (fit.status == CONVERGED).all()
    q = optimum["q"].copy()
    q[:, 3:7] = q[:, [6, 3, 4, 5]]
    assert np.degrees(np.abs(difference(mb, fit.q, q)).max()) < 0.001
    np.testing.assert_allclose(fit.cost, optimum["cost"], rtol=1e-8)


def test_frames_start_where_they_are_known_to_lie():
    """The same fit in fewer steps, and a frame of which nothing is known starts from the one before."""
    mb = leg()
    bodies, p_BM = on_every_body(mb)
    q = walk(mb, 7)
    p_WM = markers_at(mb, q, bodies, p_BM) + np.random.default_rng(0).normal(scale=0.003, size=(len(q), len(bodies), 3))
    first = inverse_kinematics(mb, bodies, p_BM, p_WM, np.ones(len(bodies)))
    near = first.q.copy()
    near[5] = np.nan
    again = inverse_kinematics(mb, bodies, p_BM, p_WM, np.ones(len(bodies)), q_near=near)
    assert apart(mb, first.q, again.q) < 1e-8  # the tolerance of the fit
    known = np.arange(len(q)) != 5
    assert (again.iterations[known] < first.iterations[known]).all()
    assert again.iterations[5] == first.iterations[5]
    with pytest.raises(ModelError, match="q_near"):
        inverse_kinematics(mb, bodies, p_BM, p_WM, np.ones(len(bodies)), q_near=near[:3])
