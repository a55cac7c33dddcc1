"""The jointed person fitted to labelled points of one instant: how probable the labels are, and where each marker ought to be.

Maximum a posteriori (Gauss-Newton) over the person's parameters; around the solution the places are jointly normal, so that
what an exchange of two labels would change, and the place of each marker as the others tell it, are linear algebra
(Rasmussen & Williams 2006, section 5.4.2: leave one out from the inverse covariance).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.from_library.recognition.person import JointedPerson

_ITERATIONS = 12
_CONVERGED = 0.3  # change of the squared distance
_SHARES = (1.0, 0.5, 0.2, 0.05)  # of a step, where the whole one goes too far
_REWEIGHTED = 6
_FREEDOM = 3.0  # of Student's t


@dataclass(frozen=True)
class PersonFit:
    """A person fitted to points.

    Attributes:
        person: N places. points: (N, 3) m in World. weight: (N,) of the points in the fit.
        parameters: (P,), see `JointedPerson`. predicted: (N, 3) m, the places of the fitted person; J: (3 N, P) their
            derivative.
        cost: squared distance of points and parameters from their means, in standard deviations.
    """

    person: JointedPerson
    points: FloatArray
    weight: FloatArray
    parameters: FloatArray
    predicted: FloatArray
    J: FloatArray
    cost: float

    @cached_property
    def sd(self) -> FloatArray:
        """(3 N,) m, spread of the markers on their segments."""
        return (self.person.sd * self.person.size_of(self.parameters)).ravel()

    @cached_property
    def _inner(self) -> tuple[FloatArray, FloatArray]:
        """Derivative over spread (3 N, P), and the inverse covariance of the parameters (P, P)."""
        Jw = self.J * (np.sqrt(np.repeat(self.weight, 3)) / self.sd)[:, None]
        return Jw, np.eye(Jw.shape[1]) + Jw.T @ Jw

    @cached_property
    def precision(self) -> FloatArray:
        """(3 N, 3 N) 1/m2, inverse covariance of the points, the parameters not being known."""
        Jw, inner = self._inner
        own = np.sqrt(np.repeat(self.weight, 3)) / self.sd
        return (np.eye(len(Jw)) - Jw @ np.linalg.solve(inner, Jw.T)) * np.outer(own, own)

    @cached_property
    def pull(self) -> FloatArray:
        """(N, 3) 1/m, precision times the distance of the points from their mean around the solution."""
        mean = self.predicted - (self.J @ self.parameters).reshape(-1, 3)
        return (self.precision @ (self.points - mean).ravel()).reshape(-1, 3)

    @cached_property
    def log_likelihood(self) -> float:
        """Logarithm of the density of the points, in m^-3N."""
        Jw, inner = self._inner
        _, spread = np.linalg.slogdet(inner)
        return -0.5 * float(self.cost + spread + 2.0 * np.log(self.sd).sum() + len(Jw) * np.log(2.0 * np.pi))

    def exchange_gains(self) -> FloatArray:
        """(N, N): by how much the squared distance falls when the labels of two points are exchanged (linearised)."""
        count = len(self.points)
        blocks = self.precision.reshape(count, 3, count, 3).transpose(0, 2, 1, 3)
        own = blocks[np.arange(count), np.arange(count)]
        stiffness = own[:, None] + own[None, :] - blocks - blocks.transpose(1, 0, 2, 3)
        step = self.points[None, :] - self.points[:, None]
        linear = np.einsum("ijk,ijk->ij", step, self.pull[:, None] - self.pull[None, :])
        gains: FloatArray = -(2.0 * linear + np.einsum("ijk,ijkl,ijl->ij", step, stiffness, step, optimize=True))
        return gains

    def alone(self) -> tuple[FloatArray, FloatArray]:
        """(N,) squared distance and (N, 3) m of each point from where all others tell it to be."""
        count = len(self.points)
        Q = self.precision.reshape(count, 3, count, 3)
        own = Q[np.arange(count), :, np.arange(count), :]
        off = np.asarray(np.linalg.solve(own, self.pull[..., None])[..., 0], dtype=np.float64)
        return np.einsum("ia,ia->i", self.pull, off), off

    def to_places(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Squared distance (M, N) of points (M, 3) from each place of a person whose parameters are not quite known.

        The second value (N,) is the logarithm of the determinant of each place's covariance, m^6.
        """
        count = len(self.person.places)
        own = self.J.reshape(count, 3, -1)
        spread = np.einsum("kap,kpb->kab", own, np.linalg.solve(self._inner[1], own.transpose(0, 2, 1)))
        spread[:, np.arange(3), np.arange(3)] += (self.sd**2).reshape(count, 3)
        step = points[:, None] - self.predicted[None]
        squared = np.einsum("mka,kab,mkb->mk", step, np.linalg.inv(spread), step, optimize=True)
        volume: FloatArray = np.log(np.linalg.det(spread))
        return squared, volume


def fit_person(
    person: JointedPerson, points: FloatArray, start: FloatArray | None = None, weight: FloatArray | None = None
) -> PersonFit:
    """Fit to points (N, 3) m in World, Y up, in the order of the person's places; from parameters `start` or the mean posture."""
    weight = np.ones(len(points)) if weight is None else weight
    parameters = roughly(person, points, weight) if start is None else start
    predicted, J = person.linearised(parameters)
    sd = person.sd * person.size_of(parameters) / np.sqrt(weight)[:, None]
    cost = _cost(points, predicted, sd, parameters)
    for _ in range(_ITERATIONS):
        Jw = J / sd.reshape(-1, 1)
        wanted = ((points - predicted) / sd).ravel() + Jw @ parameters
        target = np.linalg.solve(np.eye(person.size) + Jw.T @ Jw, Jw.T @ wanted)
        steps = [parameters + share * (target - parameters) for share in _SHARES]
        new = next(
            ((found, tried) for tried in steps
             if (found := _cost(points, person.positions(tried), sd, tried)) < cost),
            None,
        )  # fmt: skip
        if new is None:
            break
        gained, cost, parameters = cost - new[0], *new
        predicted, J = person.linearised(parameters)
        if gained < _CONVERGED:
            break
    return PersonFit(person, points, weight, parameters, predicted, J, cost)


def robust_fit(person: JointedPerson, points: FloatArray) -> PersonFit:
    """Fit to the greater part of the points: those far off count little (Student's t, iteratively reweighted)."""
    fit = fit_person(person, points)
    for _ in range(_REWEIGHTED):
        off = (((points - fit.predicted).ravel() / fit.sd) ** 2).reshape(-1, 3).sum(axis=1)
        fit = fit_person(person, points, fit.parameters, (_FREEDOM + 3.0) / (_FREEDOM + off))
    return fit


def _cost(points: FloatArray, predicted: FloatArray, sd: FloatArray, parameters: FloatArray) -> float:
    return float((((points - predicted) / sd) ** 2).sum() + parameters @ parameters)


def roughly(person: JointedPerson, points: FloatArray, weight: FloatArray) -> FloatArray:
    """Parameters of a person of mean posture laid over the points: place, heading and height by weighted least squares."""
    mean, spread = person.standing
    weight = np.sqrt(weight / spread)
    # x = a mx + b mz + tx, z = a mz - b mx + tz, y = c my + ty
    A = np.zeros((len(points), 3, 6))
    A[:, 0, 0], A[:, 0, 1], A[:, 0, 3] = mean[:, 0], mean[:, 2], 1.0
    A[:, 2, 0], A[:, 2, 1], A[:, 2, 5] = mean[:, 2], -mean[:, 0], 1.0
    A[:, 1, 2], A[:, 1, 4] = mean[:, 1], 1.0
    rows = (A * weight[:, None, None]).reshape(-1, 6)
    a, b, c = np.linalg.lstsq(rows, (points * weight[:, None]).ravel(), rcond=None)[0][:3]
    return person.laid(points, float(np.arctan2(b, a)), float(np.clip(abs(c), 0.4, 1.4)), weight**2)
