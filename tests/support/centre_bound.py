"""What the best of all estimators leaves of joint centres: the Bayes bound of the people of `support.people`.

The fit linearised at the true person: unknowns with the covariance they are drawn with; skin as the simulator moves it, a sum of
known curves (flexions of the neighbouring joints, waves of the cycle) with unknown directions whose covariance is taken from 250
other skins; white noise beside it. The posterior covariance of such a problem is the smallest that any estimator can have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from simulator.person import Body
from simulator.skin import marker_labels, soft_tissue
from simulator.wearing import Scatter

from biodyn.conventions import FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.observability import marker_jacobian
from biodyn.processing.calibration.subject_fit.unknowns import (
    define_unknowns,
    joint_jacobian,
    load_priors,
    marker_placement_effect,
    model_poses,
)
from support.people import functional_motions, person_of, scaling_of, walked

_SKINS = 250
_FRAMES = 60
# Knees and ankles of these people are where their landmarks have them.
_EXACT_M, _EXACT_RAD = 3e-4, 1e-4
_WAVES = (1, 2)


def centre_bound(
    seed: int, marker_set: str, skeleton: str, scatter: Scatter, functional: bool = False, noise_m: float = 0.0005
) -> dict[str, FloatArray]:
    """Return the smallest standard deviation (3,) m of each leg's joint centres, axes of the parent, by segment."""
    person = person_of(seed, marker_set, skeleton, scatter)
    scaling = scaling_of(person)
    model, _ = scaling.model()
    known = load_priors()
    hips = [
        body.definition.name
        for body in model.moving_segments
        if body.definition.parent == model.bodies[0].definition.name
    ]
    drawn = replace(
        known,
        centre_m={name: sd if name in hips else np.full(3, _EXACT_M) for name, sd in known.centre_m.items()},
        turn_rad=dict.fromkeys(known.turn_rad, _EXACT_RAD),
        symmetry=0.9,
    )
    unknowns = marker_placement_effect(
        define_unknowns(model, frozenset(), drawn), model, scaling, scatter.placement_m / np.sqrt(2.0)
    ).unknowns
    kept = [at + k for at in unknowns.centres.values() for k in range(3)] + list(unknowns.turns.values())
    motions = [walked(person.body), *(functional_motions(person.body) if functional else [])]
    covariance = _skin_covariance(person.body, model, motions[0], scatter)
    n = len(kept)
    information = np.zeros((n + len(covariance),) * 2)
    information[:n, :n] = np.linalg.inv(unknowns.covariance[np.ix_(kept, kept)])
    information[n:, n:] = np.linalg.inv(covariance)
    for q, phase in motions:
        rows = np.linspace(0, len(q) - 1, _FRAMES).astype(int)
        at = model_poses(model, q[rows])
        J = joint_jacobian(model, unknowns, q[rows], at)[..., kept]
        G = _skin_jacobian(person.body, model, q[rows], phase[rows], at.R_WB)
        told = np.concatenate([J, G], axis=3).reshape(_FRAMES, -1, n + len(covariance))
        own = marker_jacobian(model, q[rows]).reshape(_FRAMES, told.shape[1], -1)
        for A, own_t in zip(told, own, strict=True):
            Q = np.linalg.qr(own_t)[0]
            left = A - Q @ (Q.T @ A)
            information += left.T @ left / noise_m**2
    sd = np.sqrt(np.diag(np.linalg.inv(information)))
    return {name: sd[[kept.index(at + k) for k in range(3)]] for name, at in unknowns.centres.items()}


def _curves(body: Body, q: FloatArray, phase: FloatArray) -> FloatArray:
    """The curves (T, K) that a skin is made of."""
    first = {part.definition.rotations[0].coordinate for part in body.model.bodies if part.definition.rotations}
    curves = [q[:, c.q_index] - body.static_q[c.q_index] for c in body.model.coordinates if c.name in first]
    for k in _WAVES:
        curves += [np.cos(2.0 * np.pi * k * phase), np.sin(2.0 * np.pi * k * phase)]
    return np.stack(curves, axis=1)


def _skin_covariance(
    body: Body, model: SubjectModel, motion: tuple[FloatArray, FloatArray], scatter: Scatter
) -> FloatArray:
    """Covariance (M 3 K, M 3 K) of the directions, of other people's skins; markers of one segment move together in part."""
    q, phase = motion
    curves = _curves(body, q, phase)
    drawn = []
    for skin in range(_SKINS):
        moved = scatter.skin * soft_tissue(body, q, phase, 10_000 + skin)
        drawn.append(np.linalg.lstsq(curves, moved.reshape(len(q), -1), rcond=None)[0].T.ravel())
    found = np.array(drawn).T @ np.array(drawn) / _SKINS
    segment = {marker.label: marker.body for marker in model.markers}
    owner = np.repeat([segment[label] for label in marker_labels(body)], 3 * curves.shape[1])
    return np.where(owner[:, None] == owner, found, 0.0) + 1e-10 * np.eye(len(owner))


def _skin_jacobian(
    body: Body, model: SubjectModel, q: FloatArray, phase: FloatArray, R_WB: Mapping[str, FloatArray]
) -> FloatArray:
    """Markers' derivatives (T, M, 3, M 3 K) by the directions, in the order of the model's markers."""
    curves, labels = _curves(body, q, phase), marker_labels(body)
    count = curves.shape[1]
    J = np.zeros((len(q), len(model.markers), 3, 3 * len(labels) * count))
    for i, marker in enumerate(model.markers):
        for axis in range(3):
            at = (3 * labels.index(marker.label) + axis) * count
            J[:, i, :, at : at + count] = R_WB[marker.body][:, :, axis, None] * curves[:, None]
    return J
