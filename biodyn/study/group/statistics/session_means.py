"""Compute means of one person with their errors: gait scores, parameters, dimensionless stride parameters.

The standard error of measurement (SEM) of a mean over n walks is the standard deviation from walk to walk over the root of n;
the minimal detectable change of two such means MDC95 = t sqrt(2) SEM, t Student's for n - 1 (Weir 2005, J Strength Cond Res
19:231-240). Markers are not re-applied between the walks of a session, but between days (see the notes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import scipy

from biodyn.conventions import SIDES, FloatArray
from biodyn.library.load import load_table
from biodyn.library.study_parameters import ParameterDefinition
from biodyn.statistics.gait_measures import gait_profile_score
from biodyn.study.group.registry import STATISTICS, Found, GroupData, mean_walker
from biodyn.study.group.statistics.gait_scores import (
    BOTH_SIDES,
    Reference,
    score_names,
    score_of,
    score_reference_of,
    score_variables,
)
from biodyn.study.group.subject_cycles import MeanCurves, SubjectCycles, mean_and_sd
from biodyn.study.options import AnalysisOptions
from biodyn.variables.norms import SIZE_FREE, size_free

NAME = "session_means"
COLUMNS = ["session", "condition", "side", "kind", "name", "title", "unit", "walks", "mean", "sd", "sem", "mdc95"]
SCORE, PARAMETER, SIZE_FREE_KIND = "score", "parameter", "dimensionless"
_GPS, _GDI = "gps", "gdi"


@dataclass(frozen=True)
class _Walks:
    """The W walks of one session, condition and side: means of each walk, and of all cycles together.

    Attributes:
        trials: (W) names. curves: (W, S, 101) mean curves of the scored variables. parameters: (W, P). strides: stride
            parameters of each walk and of all.
    """

    trials: Sequence[str]
    curves: FloatArray
    parameters: FloatArray
    strides: Sequence[Mapping[str, float]]
    all_curves: FloatArray
    all_parameters: FloatArray
    all_strides: Mapping[str, float]


@dataclass
class SessionMeans:
    """Statistic of a single person; a study of several people has no such table (repeatability.csv pools them)."""

    definitions: Sequence[ParameterDefinition]
    people: int = 0
    walks: dict[tuple[str, str, str], _Walks] = field(default_factory=dict)

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves], parameters: FloatArray) -> None:
        """Store the means of every walk of the first person."""
        self.people += 1
        self.walks = {} if self.people > 1 else dict(_walks_of(data, curves, parameters))

    def found(self, data: GroupData) -> Found:
        """Return session_means.csv and its notes."""
        if self.people != 1:
            return Found()
        rows = [row for key, walks in self.walks.items() for row in self._rows(key, walks, data)]
        rows += self._overall(data)
        table = pd.DataFrame(rows, columns=COLUMNS)
        few = int(table["walks"].max()) < 2 if len(table) else True
        return Found({NAME: table}, {NAME: _notes(few)})

    def _rows(self, key: tuple[str, str, str], walks: _Walks, data: GroupData) -> Iterator[list[object]]:
        reference = score_reference_of(data)
        scores = _scores(walks, key, reference)
        for name, (mean, each) in scores.items():
            yield [*key, SCORE, name, _title(name), "" if name == _GDI else "deg", *_errors(mean, each)]
        for number, definition in enumerate(self.definitions):
            each, mean = walks.parameters[:, number], float(walks.all_parameters[number])
            if np.isfinite(mean):
                unit = data.parameter_units[number]
                yield [*key, PARAMETER, definition.name, definition.label, unit, *_errors(mean, each)]
        person = mean_walker(data.walkers)
        if person is None:
            return
        free = [size_free(strides, person) for strides in walks.strides]
        for name, mean in size_free(walks.all_strides, person).items():
            title = next(
                (f"{known.title}, dimensionless" for known in SIZE_FREE if known.name == name),
                "Stride in heights",
            )
            if np.isfinite(mean):
                each = np.array([strides.get(name, np.nan) for strides in free])
                yield [*key, SIZE_FREE_KIND, name, title, "", *_errors(mean, each)]

    def _overall(self, data: GroupData) -> Iterator[list[object]]:
        """Yield rows of the gait profile score of both sides, with the pelvis once, in the left cycle."""
        reference = score_reference_of(data)
        for session, condition in dict.fromkeys(key[:2] for key in self.walks):
            keys = {side: (session, condition, side) for side in SIDES}
            if any(key not in self.walks for key in keys.values()):
                continue
            side_scores = {side: _scores(self.walks[key], key, reference) for side, key in keys.items()}
            named = {side: list(self.walks[key].trials) for side, key in keys.items()}
            # a walk may have cycles of only one side
            both = [trial for trial in named[SIDES[0]] if all(trial in others for others in named.values())]
            rows = {side: [names.index(trial) for trial in both] for side, names in named.items()}
            names = [
                (side, score_variable)
                for side in SIDES
                for score_variable in score_variables()
                if side == "l" or not score_variable.once
            ]
            means = [side_scores[side][f"gvs_{score_variable.name}"][0] for side, score_variable in names]
            each = np.stack(
                [side_scores[side][f"gvs_{score_variable.name}"][1][rows[side]] for side, score_variable in names],
                axis=-1,
            )
            values = np.atleast_1d(gait_profile_score(each))
            row = [session, condition, BOTH_SIDES, SCORE, _GPS, _title(_GPS), "deg"]
            yield [*row, *_errors(float(gait_profile_score(means)), values)]


@STATISTICS.register(NAME, place=55)
def _start(definitions: Sequence[ParameterDefinition], options: AnalysisOptions) -> SessionMeans:
    return SessionMeans(definitions)


def _walks_of(
    data: SubjectCycles, curves: Sequence[MeanCurves], parameters: FloatArray
) -> Iterator[tuple[tuple[str, str, str], _Walks]]:
    scored = score_names()

    def curves_of(rows: np.ndarray) -> FloatArray:
        return data.selected(mean_and_sd(data.values[rows])[0], scored)

    def strides_of(rows: np.ndarray) -> dict[str, float]:
        return {name: float(mean_and_sd(data.stride(name)[rows])[0]) for name in data.stride_columns}

    trials = data.cycles["trial"].to_numpy()
    for mean_curve in curves:
        rows = mean_curve.rows[mean_curve.used]
        if not len(rows):
            continue
        names = tuple(str(trial) for trial in dict.fromkeys(trials[rows]))
        by_walk = [rows[trials[rows] == trial] for trial in names]
        session, condition, _, side = mean_curve.key
        yield (
            (session, condition, side),
            _Walks(
                names,
                np.stack([curves_of(strides) for strides in by_walk]),
                np.stack([mean_and_sd(parameters[strides])[0] for strides in by_walk]),
                [strides_of(strides) for strides in by_walk],
                curves_of(rows),
                mean_and_sd(parameters[rows])[0],
                strides_of(rows),
            ),
        )


def _scores(walks: _Walks, key: tuple[str, str, str], reference: Reference) -> dict[str, tuple[float, FloatArray]]:
    """Return the value of the mean curve and of each walk (W,) for every score."""
    _, condition, side = key
    scores: dict[str, tuple[float, FloatArray]] = {}
    for number, score_variable in enumerate(score_variables()):
        curve = reference.curve(condition, score_variable.variable, side)
        each = np.array([score_of(walk_curves[number], curve) for walk_curves in walks.curves])
        scores[f"gvs_{score_variable.name}"] = (score_of(walks.all_curves[number], curve), each)
    means, walkwise = [mean for mean, _ in scores.values()], np.stack([each for _, each in scores.values()], axis=-1)
    scores[_GPS] = (float(gait_profile_score(means)), np.atleast_1d(gait_profile_score(walkwise)))
    if reference.index is not None:
        each = np.array([reference.deviation_index(walk_curves, condition, side) for walk_curves in walks.curves])
        scores[_GDI] = (reference.deviation_index(walks.all_curves, condition, side), each)
    return scores


def _title(name: str) -> str:
    if name == _GPS:
        return "Gait profile score"
    if name == _GDI:
        return "Gait deviation index (points)"
    return "GVS " + name.removeprefix("gvs_").replace("_", " ")


def _errors(mean: float, each: FloatArray) -> list[object]:
    """Return number of walks, mean, SD between walks, SEM of the mean, MDC95 of two means; NaN for fewer than two walks."""
    known = each[np.isfinite(each)]
    count = len(known)
    if count < 2:
        return [count, mean, np.nan, np.nan, np.nan]
    sd = float(known.std(ddof=1))
    sem = sd / float(np.sqrt(count))
    return [count, mean, sd, sem, float(scipy.stats.t.ppf(0.975, count - 1)) * float(np.sqrt(2.0)) * sem]


def _notes(few: bool) -> tuple[str, ...]:
    published = load_table("study/analysis")["gait_scores"]["published"]
    explanation = (
        "The error cannot be determined from one walk; only the published values are available."
        if few
        else "SEM: standard error of the mean over the walks of this session. MDC95: smallest change between two such "
        "means that is not due to chance (Student's t for the number of walks). Markers were not re-applied between "
        "the walks, so a change between days must exceed at least the published values."
    )
    return (explanation, *published)
