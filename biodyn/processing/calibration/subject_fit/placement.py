"""What markers beside their landmarks do to the joint centres and axes that the recipes find."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.body_model import StaticFigure, SubjectModel
from biodyn.processing.calibration.subject_fit.unknowns import Priors, Unknowns
from biodyn.recording import Markers

_Pose = tuple[FloatArray, FloatArray]
# Small against a limb, large against round-off.
_STEP_M = 1e-4


class Scaling(Protocol):
    """What the subject's model is made of: it can be made again with segments placed otherwise."""

    def model(
        self, turns_rad: Mapping[str, float] | None = None, known: Mapping[str, _Pose] | None = None
    ) -> tuple[SubjectModel, list[Diagnostic]]:
        """Return the model for axes (3, 3) and joint centres (3,) m in World by segment, and what had to be assumed."""

    def landmark_markers(self) -> Mapping[str, tuple[str, FloatArray]]:
        """Return segment and place (3,) m in World, static trial, of the markers that mark a landmark, by label."""

    def poses(self, bodies: Collection[str], height_m: float, moved: Mapping[str, FloatArray]) -> Mapping[str, _Pose]:
        """Return the segments' poses as the recipes find them when markers stand (3,) m in World elsewhere."""


@dataclass(frozen=True)
class Placement:
    """What markers beside their landmarks do to the recipes, each sliding along the skin.

    Attributes:
        labels, directions_W: (K,) marker and (K, 3) direction of each slide; sd_m: of every slide.
        effect: (P, K) change of the unknowns for one standard deviation of each slide.
        chain, base: segments that the recipes place, and where they do with the markers as they stand.
    """

    unknowns: Unknowns
    scaling: Scaling
    height_m: float
    labels: tuple[str, ...]
    directions_W: FloatArray
    sd_m: float
    effect: FloatArray
    chain: frozenset[str]
    base: Mapping[str, _Pose]

    def bend(self, deviation: FloatArray) -> FloatArray:
        """Return what slides change beyond proportion (P,), for the most probable slides behind a deviation (P,) of the unknowns.

        An axis that a wand turns by 0.2 rad moves the joint on a circle: some mm that no linear prior knows.
        """
        slides = self.effect.T @ np.linalg.solve(self.unknowns.covariance, deviation)
        moved: dict[str, FloatArray] = {}
        for label, direction, slide in zip(self.labels, self.directions_W, slides, strict=True):
            moved[label] = moved.get(label, np.zeros(3)) + self.sd_m * slide * direction
        exact = _change(self.unknowns, self.base, self.scaling.poses(self.chain, self.height_m, moved))
        return exact - self.effect @ slides


def placement_of(unknowns: Unknowns, model: SubjectModel, scaling: Scaling, placement_m: float) -> Placement:
    """Return what misplaced markers of pelvis and legs do, with the unknowns' prior that holds it: they move several at once.

    A lateral knee marker that sits too far forward moves the knee and turns the axis; a wand turns both. Each marker slides along
    the skin, placement_m (one standard deviation) in both directions, without the others.
    """
    start = unknowns.start
    root = model.bodies[0].definition.name
    soles = set(model.sole_body.values())
    legs = [name for name in start.far_end if soles & start.carried(name)]
    chain = frozenset({root, *legs, *soles})
    base = scaling.poses(chain, model.height_m, {})
    markers = scaling.landmark_markers()
    labels, directions, columns = [], [], []
    for label, (body, place) in markers.items():
        if body == root or body in legs:
            others = [p for owner, p in markers.values() if owner == body]
            for direction in _along_skin(place, body, others, start):
                moved = scaling.poses(chain, model.height_m, {label: _STEP_M * direction})
                columns.append(_change(unknowns, base, moved) * placement_m / _STEP_M)
                labels.append(label)
                directions.append(direction)
    A = np.array(columns).reshape(-1, unknowns.count).T
    wider = replace(unknowns, covariance=unknowns.covariance + A @ A.T)
    slides = np.array(directions).reshape(-1, 3)
    return Placement(wider, scaling, model.height_m, tuple(labels), slides, placement_m, A, chain, base)


def _along_skin(place: FloatArray, body: str, others: Collection[FloatArray], figure: StaticFigure) -> FloatArray:
    """Two directions (2, 3) in World along the skin at a marker: across the line from the segment's middle."""
    if body in figure.far_end:
        start = figure.p_WB[body]
        along = figure.R_WB[body][:, 1]
        outward = place - start - along * float((place - start) @ along)
    else:
        outward = place - np.mean(list(others), axis=0)
    return np.linalg.svd(outward[None])[2][1:]


def _change(unknowns: Unknowns, before: Mapping[str, _Pose], after: Mapping[str, _Pose]) -> FloatArray:
    """The recipes' change as a step (P,) of the unknowns."""
    step = np.zeros(unknowns.count)
    for name, at in unknowns.centres.items():
        if name in before:
            axes = unknowns.start.R_WB[unknowns.start.parent[name]]
            step[at : at + 3] = axes.T @ (after[name][1] - before[name][1])
    for name, at in unknowns.turns.items():
        if name in before:
            turned = before[name][0].T @ after[name][0]
            step[at] = 0.5 * (turned[0, 2] - turned[2, 0])  # about y
    return step


#: Walks do one thing again and again; a functional trial moves one joint as far as it goes.
SeenUse = Literal["walk", "functional"]
# Enough frames to see a stride; more only cost time. Of one trial; of all together, and at least of each.
_FRAMES = 60
_ALL_FRAMES = 180
_FEW_FRAMES = 16
_LEAST_FRAMES = 10
_SHOWN = 0.8  # of the most markers that a frame of the trial shows


@dataclass(frozen=True)
class SeenTrial:
    """Markers of one trial in World; name and sha256 of its file, for the account."""

    markers: Markers
    name: str = ""
    sha256: str = ""
    use: SeenUse = "walk"


@dataclass(frozen=True)
class Frames:
    """Frames of one trial: markers (T, M, 3) m in the model's order, NaN unseen; how many independent ones they are worth."""

    trial: SeenTrial
    seen_W: FloatArray
    independent: float

    @property
    def weight(self) -> float:
        """Of each frame: one where it tells as much as if there were no others."""
        return self.independent / len(self.seen_W)


def chosen_frames(trials: Sequence[SeenTrial], model: SubjectModel, priors: Priors) -> list[Frames]:
    """Return an even sample of the frames of every trial in which most of the model's markers are seen.

    Skin moves with the joints: another stride repeats its errors, and so does another walk. All walks together are worth
    `priors.most_independent_walks` independent frames at most, so that joint centres do not run after the skin of walking.
    Trials that show too little are left out.
    """
    most = int(np.clip(_ALL_FRAMES // max(len(trials), 1), _FEW_FRAMES, _FRAMES))
    found = [frames for trial in trials if (frames := _chosen(trial, model, priors, most)) is not None]
    walked = sum(frames.independent for frames in found if frames.trial.use == "walk")
    share = min(1.0, max(priors.most_independent, priors.most_independent_walks) / max(walked, 1.0))
    return [Frames(f.trial, f.seen_W, f.independent * (share if f.trial.use == "walk" else 1.0)) for f in found]


def _chosen(trial: SeenTrial, model: SubjectModel, priors: Priors, most: int) -> Frames | None:
    markers = trial.markers
    columns = np.array([markers.labels.index(m.label) if m.label in markers.labels else -1 for m in model.markers])
    positions = np.where((columns >= 0)[:, None], markers.positions[:, columns], np.nan)
    seen = np.isfinite(positions[..., 0]).sum(axis=1)
    usable = np.flatnonzero(seen >= _SHOWN * seen.max()) if seen.any() else np.empty(0, dtype=np.int64)
    if len(usable) < _LEAST_FRAMES:
        return None
    rows = usable[np.unique(np.linspace(0, len(usable) - 1, min(most, len(usable))).astype(int))]
    independent = len(usable) / markers.rate_hz / priors.independent_s
    return Frames(trial, positions[rows], float(np.clip(independent, 1.0, priors.most_independent)))
