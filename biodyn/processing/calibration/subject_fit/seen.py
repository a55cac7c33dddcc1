"""What the fit sees of a person: trials of markers, and the frames of each that tell something new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.processing.calibration.subject_fit.priors import Priors
from biodyn.recording import Markers

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
