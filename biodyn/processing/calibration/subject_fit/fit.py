"""The subject's model fitted to the static trial and the walk at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.body_model import SubjectModel
from biodyn.model.changes import with_moved_centres
from biodyn.processing.calibration.subject_fit.derivatives import posed
from biodyn.processing.calibration.subject_fit.normal_equations import markers_say, priors_say
from biodyn.processing.calibration.subject_fit.placement import Scaling, with_placement
from biodyn.processing.calibration.subject_fit.priors import Priors, load_priors
from biodyn.processing.calibration.subject_fit.result import SubjectFit, result_of
from biodyn.processing.calibration.subject_fit.unknowns import Unknowns, unknowns_of
from biodyn.recording import Markers
from biodyn.rigid_body import inverse_kinematics

# Enough frames to see a stride; more only cost time.
_FRAMES = 60
_LEAST_FRAMES = 10
_MOST_STEPS = 4
# In units of each unknown's standard deviation; what is left then is far below what can be known.
_SMALL_STEP = 0.1
# A marker farther off is exchanged or a ghost; it is left to the tracking, which names it.
_OUTLIER_M = 0.06


@dataclass(frozen=True)
class _Frames:
    """Frames of one trial: markers (T, M, 3) m in the model's order, NaN unseen; how many independent ones they are worth."""

    seen_W: FloatArray
    independent: float

    def weight(self, scale: float) -> FloatArray:
        """(T,) of each frame where marker errors are `scale` times as large as believed."""
        return np.full(len(self.seen_W), self.independent / (len(self.seen_W) * scale**2))


def fit_subject(
    trials: Sequence[Markers],
    model: SubjectModel,
    scaling: Scaling,
    soft: frozenset[str] = frozenset(),
    priors: Priors | None = None,
) -> tuple[SubjectModel, SubjectFit | None, list[Diagnostic]]:
    """Return the model that agrees best with all trials, what moved, and what had to be assumed of the model.

    Parameters:
        trials: markers of walks and functional trials of the same person, in World.
        model: of the static trial. scaling: makes it again.
        soft: labels of markers whose place on the segment the static trial does not tell.
        priors: the library's where omitted.

    Gauss-Newton on joint centres, axial rotation offsets, postures and marker places; the coordinates of every frame follow
    by inverse kinematics. None where the trials show too few frames.
    """
    believed = load_priors() if priors is None else priors
    unknowns = with_placement(unknowns_of(model, soft, believed), model, scaling, believed.placement_m)
    frames = [chosen for trial in trials if (chosen := _chosen(trial, model, believed)) is not None]
    if not frames or not unknowns.count:
        return model, None, []
    problem = _Problem(model, unknowns, scaling, believed, _without_outliers(model, frames, unknowns.marker_m))
    return problem.solve()


class _Problem:
    """The fit of one subject.

    The scale of the marker errors is found from the first fit.
    """

    def __init__(
        self,
        model: SubjectModel,
        unknowns: Unknowns,
        scaling: Scaling,
        priors: Priors,
        frames: Sequence[_Frames],
    ) -> None:
        self.model, self.unknowns, self.scaling, self.priors = model, unknowns, scaling, priors
        self.frames = frames
        self.notes: list[Diagnostic] = []

    def made(self, theta: FloatArray) -> SubjectModel:
        """The model for theta."""
        located = {body.definition.name for body in self.model.bodies if body.located}
        known = {name: pose for name, pose in self.unknowns.figure(theta).poses().items() if name in located}
        model, self.notes = self.scaling.model(known=known)
        model = with_moved_centres(model, self.unknowns.posture_shifts(theta))
        shifts = self.unknowns.marker_shifts(theta)
        # In the order of the first model: arrays of markers belong together.
        place = {m.label: m.p_BM for m in model.markers}
        markers = tuple(
            replace(m, p_BM=place[m.label] + shifts.get(m.label, 0.0)) for m in self.model.markers if m.label in place
        )
        return replace(model, markers=markers)

    def solve(self) -> tuple[SubjectModel, SubjectFit, list[Diagnostic]]:
        theta = np.zeros(self.unknowns.count)
        model = self.model
        solved = [_solve(model, f, self.unknowns.marker_m) for f in self.frames]
        before = solved
        scale = self._error_scale(model, solved)
        information = np.eye(self.unknowns.count)
        for _ in range(_MOST_STEPS):
            evidence = priors_say(self.unknowns, self.priors, theta)
            for f, q in zip(self.frames, solved, strict=True):
                good = np.isfinite(q).all(axis=1)
                evidence += markers_say(
                    model, self.unknowns, q[good], posed(model, q[good]), f.seen_W[good], f.weight(scale)[good]
                )
            information = evidence.information
            step = np.linalg.solve(information, evidence.pull)
            theta = theta + step
            model = self.made(theta)
            solved = [_solve(model, f, self.unknowns.marker_m) for f in self.frames]
            if np.max(np.abs(step / self.unknowns.sd)) < _SMALL_STEP:
                break
        sd = np.sqrt(np.diag(np.linalg.inv(information)))
        errors = [
            [_errors(m, f, q) for f, q in zip(self.frames, some, strict=True)]
            for m, some in ((self.model, before), (model, solved))
        ]
        return model, result_of(self.model, model, self.unknowns, theta, sd, errors[0], errors[1]), self.notes

    def _error_scale(self, model: SubjectModel, solved: Sequence[FloatArray]) -> float:
        """How large the marker errors are against what is believed, within a factor of two."""
        weights = self.unknowns.marker_m**-2.0
        squares, freedom = 0.0, 0.0
        for f, q in zip(self.frames, solved, strict=True):
            error = _errors(model, f, q)
            seen = np.isfinite(error) & (weights > 0.0)
            squares += float(np.nansum(weights * error**2))
            freedom += float(np.sum(np.maximum(3 * seen.sum(axis=1) - model.multibody.nv, 0)))
        return float(np.clip(np.sqrt(squares / freedom), 0.5, 2.0)) if freedom else 1.0


def _chosen(trial: Markers, model: SubjectModel, priors: Priors) -> _Frames | None:
    """An even sample of the frames in which most of the model's markers are seen."""
    columns = [trial.labels.index(m.label) if m.label in trial.labels else -1 for m in model.markers]
    positions = np.where(np.array(columns)[:, None] >= 0, trial.positions[:, columns], np.nan)
    seen = np.isfinite(positions[..., 0]).sum(axis=1)
    usable = np.flatnonzero(seen >= 0.8 * seen.max())
    if len(usable) < _LEAST_FRAMES:
        return None
    rows = usable[np.unique(np.linspace(0, len(usable) - 1, min(_FRAMES, len(usable))).astype(int))]
    independent = len(usable) / trial.rate_hz / priors.independent_s
    return _Frames(positions[rows], float(np.clip(independent, 1.0, priors.most_independent)))


def _without_outliers(model: SubjectModel, frames: Sequence[_Frames], marker_m: FloatArray) -> list[_Frames]:
    kept = []
    for f in frames:
        error = _errors(model, f, _solve(model, f, marker_m))
        far = np.nan_to_num(error) > _OUTLIER_M
        kept.append(replace(f, seen_W=np.where(far[..., None], np.nan, f.seen_W)))
    return kept


def _solve(model: SubjectModel, frames: _Frames, marker_m: FloatArray) -> FloatArray:
    """Configurations (T, nq), NaN rows where a frame cannot be solved."""
    links, p_LM, _ = model.marker_arrays()
    lower, upper = model.limits()
    start = model.static_configuration(np.eye(3), np.zeros(3))
    weights = (marker_m.min() / marker_m) ** 2
    return inverse_kinematics(
        model.multibody, links, p_LM, frames.seen_W, weights, lower, upper, q0=start, tolerance=1e-6
    ).q


def _errors(model: SubjectModel, frames: _Frames, q: FloatArray) -> FloatArray:
    """Distance (T, M) m of the markers from the model, NaN where unseen."""
    good = np.isfinite(q).all(axis=1)
    error = np.full(frames.seen_W.shape[:2], np.nan)
    error[good] = np.linalg.norm(frames.seen_W[good] - posed(model, q[good]).p_WM, axis=2)
    return error
