"""Compute Movement Analysis Profile, Gait Variable Scores and Gait Profile Score of every subject (Baker et al. 2009)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES, FloatArray
from biodyn.statistics.gait_measures import (
    GaitDeviationIndex,
    fit_deviation_index,
    gait_profile_score,
    gait_variable_score,
    gait_vector,
)
from biodyn.statistics.prediction_bands import LEAST_FOR_BAND
from biodyn.study.group.group_data import GroupData, StatisticOutput, SubjectMean, group_statistic, mean_covariates
from biodyn.study.group.subject_cycles import mean_and_sd
from biodyn.study.options import load_study_table
from biodyn.variables import Norms, score_reference, side_sign_factors, variable

BOTH_SIDES = "both"
#: `reference_age` if the reference population has another age.
OTHER_AGE = "other"
_OVERALL_PELVIS = "l"  # the pelvis counts once, by convention in the left cycle
#: Reason for a missing gait deviation index.
NO_INDEX = "No gait deviation index: it needs norms built from 20 people or more ('biodyn norms build'; docs/norms.md)."
SCORE_KEYS = ["subject", "session", "condition", "group", "side"]


@dataclass(frozen=True)
class ScoreReference:
    """Reference population (norms, or a group of the study) with which curves are compared for the gait scores.

    Attributes:
        title: name for reports. by_condition: whether curves are given for each condition.
        curves: mean curve (101,), deg, by (condition or "", variable, side). short: name of the population, for axes.
        of_another_age: whether the person is outside the age range of the norms.
        index: scale of the gait deviation index; None if the norms have none.
    """

    title: str
    by_condition: bool
    curves: Mapping[tuple[str, str, str], FloatArray]
    short: str = ""
    of_another_age: bool = False
    index: GaitDeviationIndex | None = None

    def curve(self, condition: str, variable: str, side: str) -> FloatArray | None:
        """Return the reference curve (101,), deg, of a variable, condition and side; None if there is none."""
        return self.curves.get((condition if self.by_condition else "", variable, side))

    def deviation_index(self, curves: FloatArray, condition: str, side: str) -> float:
        """Return the gait deviation index of the nine mean curves (9, 101) of a side; NaN without a scale."""
        names = score_names()
        references = [mean for name in names if (mean := self.curve(condition, name, side)) is not None]
        if self.index is None or len(references) < len(names):
            return float("nan")
        deviations: FloatArray = side_sign_factors(names, side)[:, None] * (curves - np.stack(references))
        return self.index.score(deviations)


@group_statistic("gait_scores", place=10)
def compute_gait_scores(data: GroupData) -> StatisticOutput:
    """Return the gait variable scores, gait profile score and gait deviation index of each subject (table gait_scores).

    They are relative to published norms or to a reference group of the study.
    """
    reference = choose_score_reference(data)
    table, notes = score_table(data.observations.cells, data.observations.variables, reference)
    table = table.assign(reference=reference.short, reference_age=OTHER_AGE if reference.of_another_age else "")
    return StatisticOutput({"gait_scores": table}, {"gait_scores": notes})


def choose_score_reference(data: GroupData) -> ScoreReference:
    """Return the reference of the scores: a group of the study, or norms."""
    observations, options, person = data.observations, data.options, mean_covariates(data.norm_covariates)
    if options.reference_group is not None:
        return group_reference(observations.cells, options.reference_group, observations.variables)
    norms, words, of_another_age = score_reference(options.norms, person)
    return replace(norm_reference(norms, words), of_another_age=of_another_age)


def score_variables() -> list[tuple[str, str, bool]]:
    """Return the nine variables in the order of the profile (analysis.toml).

    A variable has a name in the profile, a name in the data set, and may belong to both sides.
    """
    entries = load_study_table("analysis")["gait_scores"]["variable"]
    return [(entry["name"], entry["variable"], entry.get("once", False)) for entry in entries]


def score_names() -> tuple[str, ...]:
    """Return the names of the nine variables in the order of the profile."""
    return tuple(variable for _, variable, _ in score_variables())


def norm_reference(norms: Norms, title: str = "") -> ScoreReference:
    """Return norms as the reference of the scores: their mean curves, for both sides and all conditions.

    title: name of the population; "" = as in the norms.
    """
    curves: dict[tuple[str, str, str], FloatArray] = {
        ("", name, side): variable(name).side_sign(side) * curve.mean
        for name, curve in norms.curves.items()
        for side in SIDES
    }
    words = f"{title or norms.description} ({norms.citation})"
    return ScoreReference(words, False, curves, norms.short, index=norms.deviation_index)


def group_reference(cells: Sequence[SubjectMean], group: str, variables: Sequence[str]) -> ScoreReference:
    """Return the reference with the mean over the subjects of a group in each condition and side."""
    curves_by_subject: dict[tuple[str, str], dict[str, list[FloatArray]]] = {}
    for cell in cells:
        if cell.group == group:
            curves_by_subject.setdefault((cell.condition, cell.side), {}).setdefault(cell.subject, []).append(
                cell.curves
            )
    curves = {}
    for (condition, side), subjects in curves_by_subject.items():
        means = np.stack([mean_and_sd(np.stack(sessions))[0] for sessions in subjects.values()])
        mean, _, count = mean_and_sd(means)
        mean[count < len(means) / 2] = np.nan  # values of a minority of the group are not a reference
        for number, name in enumerate(variables):
            curves[(condition, name, side)] = mean[number]
    people = len({cell.subject for cell in cells if cell.group == group})
    title = f"group {group} of this study ({people} subjects, each part of its own reference)"
    reference = ScoreReference(title, True, curves, f"group {group}")
    return replace(reference, index=_group_deviation_index(cells, group, variables, reference, people))


def _group_deviation_index(
    cells: Sequence[SubjectMean], group: str, variables: Sequence[str], reference: ScoreReference, people: int
) -> GaitDeviationIndex | None:
    """Return the scale of the gait deviation index from all walks and the distances of a group; None for too few people."""
    nine = score_names()
    if people < LEAST_FOR_BAND or not set(nine) <= set(variables):
        return None
    rows = [variables.index(name) for name in nine]
    walks, deviations = [], []
    for cell in cells:
        means = [mean for name in nine if (mean := reference.curve(cell.condition, name, cell.side)) is not None]
        signs = side_sign_factors(nine, cell.side)[:, None]
        if not np.isfinite(cell.curves[rows]).all():
            continue
        walks.append(gait_vector(signs * cell.curves[rows]))
        if cell.group == group and len(means) == len(nine):
            deviations.append(gait_vector(signs * (cell.curves[rows] - np.stack(means))))
    # relative to a mean over n people, the expected squared distance is 1 - 1/n for these and 1 + 1/n for new people
    prediction = float(np.sqrt((people + 1) / (people - 1)))
    known = [deviation for deviation in deviations if np.isfinite(deviation).all()]
    if len(known) < LEAST_FOR_BAND:
        return None
    return fit_deviation_index(np.array(walks), np.array(known), np.ones(len(known)), prediction)


def score_table(
    cells: Sequence[SubjectMean], variables: Sequence[str], reference: ScoreReference
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Score the mean curves of every subject, session, condition and side; one row per side and one for both.

    cells: cells with the curves of `variables`.

    A gait profile score requires all nine variables of a side, the overall score all fifteen.
    """
    nine = score_variables()
    by_side: dict[tuple[str, str, str, str], dict[str, SubjectMean]] = {}
    for cell in cells:
        key = (cell.subject, cell.session, cell.condition, cell.group)
        by_side.setdefault(key, {})[cell.side] = cell
    rows: list[list[object]] = []
    missing: dict[str, int] = {}
    for key, sides in by_side.items():
        scores = {
            side: {
                name: curve_score(
                    sides[side].curves[variables.index(variable)], reference.curve(key[2], variable, side)
                )
                for name, variable, _ in nine
            }
            for side in SIDES
            if side in sides
        }
        for side, side_scores in scores.items():
            nine_curves = np.stack([sides[side].curves[variables.index(variable)] for _, variable, _ in nine])
            index = reference.deviation_index(nine_curves, key[2], side)
            profile = float(gait_profile_score(list(side_scores.values())))
            rows.append([*key, side, *side_scores.values(), profile, index])
            for name, value in side_scores.items():
                missing[name] = missing.get(name, 0) + int(np.isnan(value))
        if len(scores) == len(SIDES):
            both = [
                value
                for side, side_scores in scores.items()
                for (_, _, once), value in zip(nine, side_scores.values(), strict=True)
                if side == _OVERALL_PELVIS or not once
            ]
            rows.append([*key, BOTH_SIDES, *[np.nan] * len(nine), float(gait_profile_score(both)), np.nan])
    columns = [*SCORE_KEYS, *(f"gvs_{name}" for name, _, _ in nine), "gps", "gdi"]
    table = pd.DataFrame(rows, columns=columns)
    return table, _score_notes(reference, missing, sum(row[4] != BOTH_SIDES for row in rows), table)


def curve_score(curve: FloatArray, reference: FloatArray | None) -> float:
    """Return the gait variable score of a curve (101,), deg; NaN without a reference."""
    return float("nan") if reference is None else float(gait_variable_score(curve, reference))


def _score_notes(
    reference: ScoreReference, missing: Mapping[str, int], sides: int, table: pd.DataFrame
) -> tuple[str, ...]:
    if not sides:
        return ()
    source = load_study_table("analysis")["gait_scores"]["source"]
    notes = [
        f"Gait variable scores are the root mean square over the cycle of a subject's mean curve minus the reference, in "
        f"degrees; gait profile scores the root mean square of nine of them, of fifteen for both sides ({source}). "
        f"Reference: {reference.title}."
    ]
    lost = {name: count for name, count in missing.items() if count}
    if lost:
        listed = ", ".join(f"{name} ({'all' if count == sides else count} of {sides})" for name, count in lost.items())
        known = int(table["gps"].notna().sum())
        notes.append(
            f"Scores are missing for {listed}, because a curve or a reference is missing. A gait profile score "
            f"requires all of its variables ({known} of {len(table)} rows)."
        )
    if reference.of_another_age:
        notes.append(
            "The reference population has another age: use these scores for changes between sessions and conditions, "
            "and not as a deviation from normal gait. For the latter, build norms from suitable people ('biodyn norms "
            "build', [analysis] norms = FILE)."
        )
    if reference.index is None:
        notes.append(NO_INDEX)
    else:
        notes.append(
            "Gait deviation index (Schwartz & Rozumalski 2008, doi 10.1016/j.gaitpost.2008.05.001): 100 is the mean of the "
            "reference people, 10 points are one standard deviation between them; it is not on the scale of the published index."
        )
    return tuple(notes)
