"""Compute the repeatability of walking from cycle to cycle within a session, and between sessions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import StatisticsError
from biodyn.library.study_parameters import ParameterDefinition
from biodyn.statistics.gait_measures import multiple_correlation
from biodyn.statistics.repeatability import assess_repeatability
from biodyn.study.group.group_data import STATISTICS, GroupData, Statistic, StatisticOutput, SubjectMean
from biodyn.study.group.subject_cycles import MeanCurves, SubjectCycles, mean_and_sd
from biodyn.study.options import AnalysisOptions

REPEATABILITY_COLUMNS = [
    "level", "kind", "name", "unit", "condition", "side", "subjects", "measurements", "mean", "sd", "sem", "mdc95", "cmc",
    "icc_2_1", "icc_2_1_low", "icc_2_1_high", "icc_3_1", "icc_3_1_low", "icc_3_1_high",
]  # fmt: skip
WITHIN, BETWEEN = "cycles of a session", "sessions"
_LEAST_SUBJECTS = 3  # with fewer subjects a correlation between people is meaningless
Place = tuple[str, str]  # condition, side


class RepeatabilityStatistic:
    """Statistic of the repeatability of gait within and between sessions; its table is repeatability.csv."""

    def __init__(self, definitions: Sequence[ParameterDefinition], variables: Sequence[str]) -> None:
        self._definitions, self._variables = tuple(definitions), tuple(variables)
        self._parameters: dict[Place, list[FloatArray]] = {}
        self._curves: dict[Place, list[FloatArray]] = {}
        self._cmc: dict[Place, list[FloatArray]] = {}
        self._sessions: dict[Place, list[FloatArray]] = {}

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves], parameters: FloatArray) -> None:
        """Add one subject: its mean curves and its parameters (N, P)."""
        by_place: dict[Place, list[FloatArray]] = {}
        for mean_curve in curves:
            _, condition, _, side = mean_curve.key
            place, rows = (condition, side), mean_curve.rows
            cycles = data.select_variables(data.values[rows], self._variables)
            self._parameters.setdefault(place, []).append(_cycle_variation(parameters[rows][:, :, None]))
            self._curves.setdefault(place, []).append(_cycle_variation(cycles))
            self._cmc.setdefault(place, []).append(_within_session_cmc(cycles))
            by_place.setdefault(place, []).append(cycles)
        for place, sessions in by_place.items():
            if len(sessions) > 1:
                self._sessions.setdefault(place, []).append(_between_session_cmc(sessions))

    def compute(self, data: GroupData) -> StatisticOutput:
        """Return the table repeatability.csv and its notes."""
        cells, units = data.observations.cells, [data.units.get(name, "") for name in self._variables]
        table = self.table(cells, data.parameter_units, units)
        return StatisticOutput({"repeatability": table}, {"repeatability": repeatability_notes(cells, table)})

    def table(
        self, cells: Sequence[SubjectMean], parameter_units: Sequence[str], curve_units: Sequence[str]
    ) -> pd.DataFrame:
        """Return the rows of repeatability.csv for which there are enough cycles, sessions and subjects."""
        rows: list[dict[str, object]] = []
        names = [definition.name for definition in self._definitions]
        for pools, kind, labels, units in (
            (self._parameters, "parameter", names, parameter_units),
            (self._curves, "curve", self._variables, curve_units),
        ):
            for place, pool in pools.items():
                rows += _within_session_rows(
                    pool, self._cmc[place] if kind == "curve" else [], kind, labels, units, place
                )
        rows += self._between_session_rows(cells, parameter_units)
        rows += self._between_session_curve_rows(curve_units)
        return pd.DataFrame(rows, columns=REPEATABILITY_COLUMNS)

    def _between_session_rows(self, cells: Sequence[SubjectMean], units: Sequence[str]) -> list[dict[str, object]]:
        rows = []
        for (condition, side), table in _session_mean_arrays(cells).items():
            for number, definition in enumerate(self._definitions):
                values = table[:, :, number]
                values = values[np.isfinite(values).all(axis=1)]
                if len(values) < _LEAST_SUBJECTS:
                    continue
                row: dict[str, object] = {
                    "level": BETWEEN, "kind": "parameter", "name": definition.name, "unit": units[number],
                    "condition": condition, "side": side, "subjects": len(values), "measurements": values.size,
                    "mean": float(values.mean()), "sd": float(values.std(ddof=1)),
                }  # fmt: skip
                rows.append(row | _agreement_coefficients(values))
        return rows

    def _between_session_curve_rows(self, units: Sequence[str]) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        for (condition, side), correlations in self._sessions.items():
            mean, _, count = mean_and_sd(np.stack(correlations))
            for number, variable in enumerate(self._variables):
                if count[number]:
                    rows.append(
                        {
                            "level": BETWEEN, "kind": "curve", "name": variable, "unit": units[number],
                            "condition": condition, "side": side, "subjects": int(count[number]), "cmc": mean[number],
                        }
                    )  # fmt: skip
        return rows


@STATISTICS.register("repeatability", place=50)
def _make_statistic(definitions: Sequence[ParameterDefinition], options: AnalysisOptions) -> Statistic:
    return RepeatabilityStatistic(definitions, options.curve_variables)


def _agreement_coefficients(values: FloatArray) -> dict[str, object]:
    """Return intraclass correlations and errors of measurement of values (subjects, sessions) by column of the table."""
    if not np.ptp(values, axis=1).any():  # identical sessions: no error, and no correlation if all values are equal
        perfect = 1.0 if np.ptp(values) > 0.0 else math.nan
        return {"sem": 0.0, "mdc95": 0.0, "icc_2_1": perfect, "icc_3_1": perfect}
    try:
        result = assess_repeatability(values)
    except StatisticsError:  # equal subjects: the correlation is undefined
        return {}
    row: dict[str, object] = {"sem": result.sem, "mdc95": result.mdc95}
    for name, icc in (("icc_2_1", result.icc_2_1), ("icc_3_1", result.icc_3_1)):
        row |= {name: icc.value, f"{name}_low": icc.low, f"{name}_high": icc.high}
    return row


def repeatability_notes(cells: Sequence[SubjectMean], table: pd.DataFrame) -> tuple[str, ...]:
    """Return sentences that define the columns of repeatability.csv, and reasons for missing values."""
    notes = [
        "Within a session: SD and SEM are the standard deviation from cycle to cycle, pooled over subjects (of a curve: its "
        "root mean square over the cycle); MDC95 = 1.96 √2 SEM is the minimal detectable change between two cycles; CMC "
        "is the mean over subjects of the coefficient of multiple correlation (Kadaba et al. 1989)."
    ]
    sessions = {subject: len(names) for subject, names in _sessions_by_subject(cells).items()}
    repeated = sum(count > 1 for count in sessions.values())
    if (table["level"] == BETWEEN).any():
        notes.append(
            "Between sessions: ICC(2,1) (absolute agreement), ICC(3,1) (consistency), SEM and MDC95 of agreement from the "
            "sessions' means (Shrout & Fleiss 1979; McGraw & Wong 1996)."
        )
    elif repeated == 0:
        notes.append(
            "Repeatability between sessions is unknown, because no subject was measured in more than one session."
        )
    else:
        notes.append(
            f"Repeatability between sessions is not computed: {repeated} subjects were measured in more than one "
            f"session, but {_LEAST_SUBJECTS} with the same sessions and complete values are needed."
        )
    return tuple(notes)


def _sessions_by_subject(cells: Sequence[SubjectMean]) -> dict[str, set[str]]:
    by_subject: dict[str, set[str]] = {}
    for cell in cells:
        by_subject.setdefault(cell.subject, set()).add(cell.session)
    return by_subject


def _session_mean_arrays(cells: Sequence[SubjectMean]) -> dict[Place, FloatArray]:
    """Return the means (subjects, sessions, P) of the parameters by condition and side.

    Only the most common sessions are included, and the subjects that have all of them.
    """
    places: dict[Place, dict[str, dict[str, FloatArray]]] = {}
    for cell in cells:
        by_session = places.setdefault((cell.condition, cell.side), {}).setdefault(cell.subject, {})
        by_session[cell.session] = cell.parameters
    tables = {}
    for place, subjects in places.items():
        counts: dict[tuple[str, ...], int] = {}
        for by_session in subjects.values():
            counts[tuple(by_session)] = counts.get(tuple(by_session), 0) + 1
        several = {sessions: count for sessions, count in counts.items() if len(sessions) > 1}
        if not several:
            continue
        wanted = max(several, key=lambda sessions: several[sessions])
        complete = [by_session for by_session in subjects.values() if all(session in by_session for session in wanted)]
        tables[place] = np.stack([np.stack([by_session[session] for session in wanted]) for by_session in complete])
    return tables


def _cycle_variation(values: FloatArray) -> FloatArray:
    """Return the variation (5, K) between the cycles (n, K, nodes) of one subject and session.

    Rows: sum of squares about the mean, degrees of freedom, 1 if there are several cycles, their number, and the mean. Only
    complete cycles count; the variance of a curve is the mean over the nodes.
    """
    complete: BoolArray = np.asarray(np.isfinite(values).all(axis=2))
    mean, sd, _ = mean_and_sd(np.where(complete[:, :, None], values, np.nan))
    count = complete.sum(axis=0)
    repeated = count > 1
    freedom = np.where(repeated, count - 1, 0)
    squares = np.where(repeated, (sd**2).mean(axis=1), 0.0) * freedom
    return np.stack([squares, freedom, repeated, repeated * count, np.where(count > 0, mean.mean(axis=1), np.nan)])


def _within_session_rows(
    pool: Sequence[FloatArray],
    correlations: Sequence[FloatArray],
    kind: str,
    names: Sequence[str],
    units: Sequence[str],
    place: Place,
) -> list[dict[str, object]]:
    """Return the rows of repeatability.csv for the variation within a session.

    pool: variation of every subject (see `_cycle_variation`). correlations: CMC of every subject; may be empty.
    """
    mdc_per_sem = 1.96 * math.sqrt(2.0)
    condition, side = place
    variation = np.stack(pool)
    squares, freedom, subjects, cycles = variation[:, :4].sum(axis=0)
    mean = mean_and_sd(variation[:, 4])[0]
    cmc = mean_and_sd(np.stack(correlations))[0] if correlations else np.full(len(names), np.nan)
    rows: list[dict[str, object]] = []
    for number, name in enumerate(names):
        if freedom[number] == 0:
            continue
        sd = math.sqrt(squares[number] / freedom[number])
        rows.append(
            {
                "level": WITHIN, "kind": kind, "name": name, "unit": units[number], "condition": condition, "side": side,
                "subjects": int(subjects[number]), "measurements": int(cycles[number]), "mean": mean[number],
                "sd": sd, "sem": sd, "mdc95": mdc_per_sem * sd, "cmc": cmc[number],
            }
        )  # fmt: skip
    return rows


def _within_session_cmc(cycles: FloatArray) -> FloatArray:
    """Return the CMC (C,) of cycles (n, C, 101); NaN for fewer than two complete cycles."""
    return np.array([_multiple_correlations([cycles[:, number]])[0] for number in range(cycles.shape[1])])


def _between_session_cmc(sessions: Sequence[FloatArray]) -> FloatArray:
    return np.array(
        [
            _multiple_correlations([session[:, number] for session in sessions])[1]
            for number in range(sessions[0].shape[1])
        ]
    )


def _multiple_correlations(sessions: Sequence[FloatArray]) -> tuple[float, float]:
    whole = [curves[np.isfinite(curves).all(axis=1)] for curves in sessions]
    if min(len(curves) for curves in whole) < 1 or max(len(curves) for curves in whole) < 2:
        return math.nan, math.nan
    return multiple_correlation(whole)
