"""Compute means of one person with their errors: gait scores, parameters, dimensionless stride parameters.

The standard error of measurement (SEM) of a mean over n walks is the standard deviation from walk to walk over the root of n;
the minimal detectable change of two such means MDC95 = t sqrt(2) SEM, t Student's for n - 1 (Weir 2005, J Strength Cond Res
19:231-240). Markers are not re-applied between the walks of a session, but between days (see the notes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from biodyn.conventions import SIDES, FloatArray
from biodyn.library.study_parameters import ParameterDefinition
from biodyn.library.toml_files import load_table
from biodyn.statistics.gait_measures import gait_profile_score
from biodyn.study.group.group_data import STATISTICS, GroupData, StatisticOutput, mean_covariates
from biodyn.study.group.statistics.gait_scores import (
    BOTH_SIDES,
    ScoreReference,
    choose_score_reference,
    curve_score,
    score_names,
    score_variables,
)
from biodyn.study.group.subject_cycles import MeanCurves, SubjectCycles, mean_and_sd
from biodyn.study.options import AnalysisOptions
from biodyn.variables.norms import DIMENSIONLESS, dimensionless_parameters

NAME = "session_means"
COLUMNS = ["session", "condition", "side", "kind", "name", "title", "unit", "walks", "mean", "sd", "sem", "mdc95"]
SCORE, PARAMETER, DIMENSIONLESS_KIND = "score", "parameter", "dimensionless"
_GPS, _GDI = "gps", "gdi"
Scores = Mapping[str, FloatArray]  # of all cycles, then of each walk (1 + W,)


class SessionMeans:
    """Statistic that computes the mean values of a single person with their errors (session_means.csv).

    A study of several people has no such table; repeatability.csv pools them instead.
    """

    def __init__(self, definitions: Sequence[ParameterDefinition]) -> None:
        self._definitions = definitions
        self._people: list[tuple[SubjectCycles, Sequence[MeanCurves], FloatArray]] = []

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves], parameters: FloatArray) -> None:
        """Keep the cycles of the first two subjects; a second one shows that the study has several people."""
        if len(self._people) < 2:
            self._people.append((data, curves, parameters))

    def compute(self, data: GroupData) -> StatisticOutput:
        """Return the table session_means.csv and its notes."""
        if len(self._people) != 1:
            return StatisticOutput()
        ((cycles, mean_curves, parameters),) = self._people
        trials = cycles.cycles["trial"].to_numpy()
        rows: list[list[object]] = []
        scored: dict[tuple[str, str], dict[str, tuple[list[str], Scores]]] = {}
        for mean_curve in mean_curves:
            session, condition, _, side = mean_curve.key
            used = mean_curve.rows
            if len(used):
                names = list(dict.fromkeys(map(str, trials[used])))
                parts = [used, *(used[trials[used] == name] for name in names)]
                curves = [cycles.select_variables(mean_and_sd(cycles.values[part])[0], score_names()) for part in parts]
                scores = _walk_scores(curves, condition, side, choose_score_reference(data))
                scored.setdefault((session, condition), {})[side] = names, scores
                values = [*_score_rows(scores), *self._parameter_rows(parameters, parts, data)]
                values += _dimensionless_rows(cycles, parts, data)
                rows += [[session, condition, side, *row] for row in values]
        for key, sides in scored.items():
            if len(sides) == len(SIDES):
                rows.append(
                    [*key, BOTH_SIDES, SCORE, _GPS, _score_title(_GPS), "deg", *_error_columns(_overall_scores(sides))]
                )
        table = pd.DataFrame(rows, columns=COLUMNS)
        few = int(table["walks"].max()) < 2 if len(table) else True
        return StatisticOutput({NAME: table}, {NAME: _error_notes(few)})

    def _parameter_rows(
        self, parameters: FloatArray, parts: Sequence[np.ndarray], data: GroupData
    ) -> Iterator[list[object]]:
        means = np.stack([mean_and_sd(parameters[part])[0] for part in parts])
        for values, definition, unit in zip(means.T, self._definitions, data.parameter_units, strict=True):
            if np.isfinite(values[0]):
                yield [PARAMETER, definition.name, definition.label, unit, *_error_columns(values)]


@STATISTICS.register(NAME, place=55)
def _make_statistic(definitions: Sequence[ParameterDefinition], options: AnalysisOptions) -> SessionMeans:
    return SessionMeans(definitions)


def _walk_scores(curves: Sequence[FloatArray], condition: str, side: str, reference: ScoreReference) -> Scores:
    """Return every score of mean curves (S, 101): of all cycles, then of each walk (1 + W,)."""
    scores: dict[str, FloatArray] = {}
    for number, (name, variable, _) in enumerate(score_variables()):
        mean = reference.curve(condition, variable, side)
        scores[f"gvs_{name}"] = np.array([curve_score(part[number], mean) for part in curves])
    scores[_GPS] = gait_profile_score(np.stack(list(scores.values()), axis=-1))
    if reference.index is not None:
        scores[_GDI] = np.array([reference.deviation_index(part, condition, side) for part in curves])
    return scores


def _score_rows(scores: Scores) -> Iterator[list[object]]:
    for name, values in scores.items():
        yield [SCORE, name, _score_title(name), "" if name == _GDI else "deg", *_error_columns(values)]


def _dimensionless_rows(cycles: SubjectCycles, parts: Sequence[np.ndarray], data: GroupData) -> Iterator[list[object]]:
    person = mean_covariates(data.norm_covariates)
    if person is None:
        return
    titles = {name: f"{title}, dimensionless" for name, (title, *_) in DIMENSIONLESS.items()}
    strides = {name: cycles.stride(name) for name in cycles.stride_columns}
    free = [
        dimensionless_parameters(
            {name: float(mean_and_sd(values[part])[0]) for name, values in strides.items()}, person
        )
        for part in parts
    ]
    for name, mean in free[0].items():
        if np.isfinite(mean):
            values = np.array([numbers.get(name, np.nan) for numbers in free])
            yield [DIMENSIONLESS_KIND, name, titles.get(name, "Stride in heights"), "", *_error_columns(values)]


def _overall_scores(sides: Mapping[str, tuple[list[str], Scores]]) -> FloatArray:
    """Return the gait profile score of both sides, for all cycles, then for each walk, from fifteen variables.

    The variables of the pelvis are included once, from the left cycle.

    A walk may have cycles of only one side.
    """
    both = [trial for trial in sides[SIDES[0]][0] if trial in sides[SIDES[1]][0]]
    values = []
    for side in SIDES:
        names, scores = sides[side]
        rows = [0, *(1 + names.index(trial) for trial in both)]
        values += [scores[f"gvs_{name}"][rows] for name, _, once in score_variables() if side == "l" or not once]
    return gait_profile_score(np.stack(values, axis=-1))


def _score_title(name: str) -> str:
    if name == _GPS:
        return "Gait profile score"
    if name == _GDI:
        return "Gait deviation index (points)"
    return "GVS " + name.removeprefix("gvs_").replace("_", " ")


def _error_columns(values: FloatArray) -> list[object]:
    """Return number of walks, mean, SD between walks, SEM of the mean, MDC95 of two means; NaN for fewer than two walks.

    values: (1 + W,) mean of all cycles, then of each walk.
    """
    mean, known = float(values[0]), values[1:][np.isfinite(values[1:])]
    count = len(known)
    if count < 2:
        return [count, mean, np.nan, np.nan, np.nan]
    sd = float(known.std(ddof=1))
    sem = sd / float(np.sqrt(count))
    return [count, mean, sd, sem, float(stdtrit(count - 1, 0.975)) * float(np.sqrt(2.0)) * sem]


def _error_notes(few: bool) -> tuple[str, ...]:
    published = load_table("study/analysis")["gait_scores"]["published"]
    explanation = (
        "The error cannot be determined from one walk; only the published values are available."
        if few
        else "SEM: standard error of the mean over the walks of this session. MDC95: smallest change between two such "
        "means that is not due to chance (Student's t for the number of walks). Markers were not re-applied between "
        "the walks, so a change between days must exceed at least the published values."
    )
    return (explanation, *published)
