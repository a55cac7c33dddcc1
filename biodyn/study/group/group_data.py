"""Data of a study for the group statistics in `statistics/` (means of every subject), their results, and their registry."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from biodyn.conventions import SIDES, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import ResultError, StatisticsError
from biodyn.library.registry import Registry
from biodyn.library.study_parameters import ParameterDefinition
from biodyn.output.store.folder import GROUP_RECORD
from biodyn.output.store.result_reader import read_record
from biodyn.output.tables.csv import write_rows
from biodyn.study.group.subject_cycles import MeanCurves, SubjectCycles, mean_and_sd
from biodyn.study.options import AnalysisOptions
from biodyn.study.plan import PlannedTrial
from biodyn.variables import NormChoice, NormCovariates, choose_norms, side_sign_factors
from biodyn.variables.norms import AUTO, ENTRY, read_covariates

FOLDER_NAME = "group"
PARAMETERS_NAME = "parameters.csv"
SUBJECT_CURVES_NAME = "subject_curves.parquet"


@dataclass(frozen=True)
class GroupResults:
    """Results of the group analysis of a study; every table is also a file with its name in `folder`.

    Attributes:
        folder: OUT/group, which also holds parameters.csv and subject_curves.parquet.
        options: options of the analysis.
        tables: tables by name: group_curves, normative_bands, parameters_wide, cycles, gait_scores, symmetry, repeatability,
            comparisons, mixed_models, spm, spm_curves.
        parameters: name, title, unit and source of every parameter, and numbers of cycles with known and unknown value.
        notes: sentences by section (name of the table): methods, reasons, and omitted analyses.
        diagnostics: findings.
    """

    folder: Path
    options: AnalysisOptions
    tables: Mapping[str, pd.DataFrame]
    parameters: pd.DataFrame
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def record(self) -> dict[str, Any]:
        """Return the values of group.json, which a report needs in addition to the tables."""
        return {
            "options": self.options.model_dump(mode="json"),
            "parameters": json.loads(self.parameters.to_json(orient="records")),
            "notes": {name: list(sentences) for name, sentences in self.notes.items()},
            "diagnostics": [finding.as_dict() for finding in self.diagnostics],
        }


def write_record(results: GroupResults, folder: Path) -> None:
    """Write group.json, the last file of a folder of group results; it lists the others."""
    files = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    text = json.dumps(
        {**results.record, "files": [*files, GROUP_RECORD]},
        indent=2,
        sort_keys=True,
        allow_nan=False,
        ensure_ascii=False,
    )
    (folder / GROUP_RECORD).write_text(text + "\n", encoding="utf-8")


def merged_finding(code: str, messages: Sequence[tuple[str, str]], unit: str) -> Diagnostic:
    """Return one finding for all tests or models with the same problem: the first message in full, the names of some others.

    messages: (name, message) of each.
    """
    max_named = 5
    name, message = messages[0]
    others = [other for other, _ in messages[1:]]
    more = f", and {len(others) - max_named} more" if len(others) > max_named else ""
    likewise = f" Likewise: {', '.join(others[:max_named])}{more}." if others else ""
    return Diagnostic(code, "info", f"{name}: {message}{likewise}", value=float(len(messages)), unit=unit)


def failure_reason(error: Exception) -> str:
    """Return the reason why a test could not be computed, as a sentence."""
    if isinstance(error, StatisticsError):
        return error.message
    return f"Its equations have no solution ({error})."


def merged_notes(sentences: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return one line per distinct sentence, preceded by all names that have it; sentences: (name, sentence)."""
    names: dict[str, list[str]] = {}
    for name, sentence in sentences:
        names.setdefault(sentence, []).append(name)
    return tuple(f"{', '.join(same)}: {sentence}" for sentence, same in names.items())


# -- Files written subject by subject -------------------------------------------------------------------------------


#: Number format of statistics, which keeps a p of 1e-8.
STATISTICS_DECIMALS = 10


@contextmanager
def open_csv_appender(path: Path, columns: list[str]) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Yield a function that appends a table to a CSV file; without tables the file has only its header."""
    with path.open("wb") as stream:
        write_rows(pd.DataFrame(columns=columns), stream, header=True)
        yield lambda frame: write_rows(frame, stream, header=False, decimals=STATISTICS_DECIMALS)


@contextmanager
def open_parquet_appender(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that appends a table to a Parquet file as a row group."""
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        yield lambda table: writer.write_table(table.cast(schema))


MEAN_OF_SIDES = "mean"


@dataclass(frozen=True)
class SubjectMean:
    """Means over the cycles of a subject in one session, condition, group and side.

    Attributes:
        parameters: (P,) means. cycles: number of cycles.
        curves: (C, 101) mean curves of the compared variables, NaN for variables that the subject lacks.
    """

    subject: str
    session: str
    condition: str
    group: str
    side: str
    parameters: FloatArray
    curves: FloatArray
    cycles: int


#: Subject, condition, group, and means (P,) over the cycles of one trial, with equal weights of the included sides.
TrialMean = tuple[str, str, str, FloatArray]


class Observations:
    """Means of every subject, session, condition and side: the data on which the group statistics are based."""

    def __init__(
        self, definitions: Sequence[ParameterDefinition], variables: Sequence[str], sides: Sequence[str] = SIDES
    ) -> None:
        self.definitions = tuple(definitions)
        self.variables = tuple(variables)
        self._sides = tuple(sides)  # sides that are included in the means of trials
        self.cells: list[SubjectMean] = []
        self.trials: list[TrialMean] = []

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves], parameters: FloatArray) -> None:
        """Add one subject: its mean curves, and the parameters (N, P) of its N cycles."""
        for mean_curve in curves:
            rows = mean_curve.rows
            means = data.select_variables(mean_curve.mean, self.variables)
            session, condition, group, side = mean_curve.key
            self.cells.append(
                SubjectMean(
                    data.subject, session, condition, group, side,
                    mean_and_sd(parameters[rows])[0], means, len(rows),
                )
            )  # fmt: skip
        used = np.concatenate([np.empty(0, dtype=np.int64), *(curve.rows for curve in curves)])
        self._add_trials(data, parameters, np.sort(used))

    def _add_trials(self, data: SubjectCycles, parameters: FloatArray, used: np.ndarray) -> None:
        cycles = data.cycles.iloc[used]
        for rows in cycles.groupby("trial", sort=False).indices.values():
            trial_cycles = cycles.iloc[rows]
            per_side = [parameters[used[rows[trial_cycles["side"].to_numpy() == side]]] for side in self._sides]
            means = [mean_and_sd(part)[0] for part in per_side if len(part)]
            if means:
                first = trial_cycles.iloc[0]
                mean = mean_and_sd(np.stack(means))[0]
                self.trials.append((data.subject, first["condition"], first["group"], mean))

    def subject_means(self, side: str) -> list[SubjectMean]:
        """Return one mean per subject, condition and group: over all sessions, for one side or for both (side "mean").

        For the mean of both sides, mirrored variables are reversed on the left side.
        """
        wanted = SIDES if side == MEAN_OF_SIDES else (side,)
        by_person: dict[tuple[str, str, str], dict[str, list[SubjectMean]]] = {}
        for cell in self.cells:
            if cell.side in wanted:
                key = (cell.subject, cell.condition, cell.group)
                by_person.setdefault(key, {}).setdefault(cell.side, []).append(cell)
        result = []
        for (subject, condition, group), sides in by_person.items():
            parameters, curves = [], []
            for cell_side, cells in sides.items():
                turn = side_sign_factors(self.variables, cell_side)[:, None] if side == MEAN_OF_SIDES else 1.0
                parameters.append(mean_and_sd(np.stack([cell.parameters for cell in cells]))[0])
                curves.append(mean_and_sd(np.stack([cell.curves for cell in cells]))[0] * turn)
            result.append(
                SubjectMean(
                    subject, "", condition, group, side,
                    mean_and_sd(np.stack(parameters))[0], mean_and_sd(np.stack(curves))[0],
                    sum(cell.cycles for cells in sides.values() for cell in cells),
                )
            )  # fmt: skip
        return result

    def wide_table(self) -> pd.DataFrame:
        """Return one row per subject and group, and one column per parameter, condition and side (and session, if there are
        several)."""
        sessions = len({cell.session for cell in self.cells}) > 1
        rows: dict[tuple[str, str], dict[str, float]] = {}
        columns: dict[tuple[int, str], None] = {}
        for cell in self.cells:
            row = rows.setdefault((cell.subject, cell.group), {})
            words = [cell.session] * sessions + [cell.condition, cell.side]
            tail = "".join(f"_{_identifier_text(text)}" for text in words if text)
            for number, definition in enumerate(self.definitions):
                columns[(number, tail)] = None
                row[definition.name + tail] = float(cell.parameters[number])
        ordered = sorted(columns, key=lambda column: column[0])  # stable: conditions keep the order of the data
        names = [self.definitions[number].name + tail for number, tail in ordered]
        table = pd.DataFrame(list(rows.values()), columns=pd.Index(names), dtype=np.float64)
        table = table.dropna(axis="columns", how="all")
        table.insert(0, "subject", [subject for subject, _ in rows])
        table.insert(1, "group", [group for _, group in rows])
        return table


def _identifier_text(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_")


# -- People and norms -----------------------------------------------------------------------------------------------


def read_subject_covariates(trials: Iterable[PlannedTrial], out: Path) -> tuple[NormCovariates, ...]:
    """Return the properties of every subject of a study, averaged over the trials with a result."""
    by_subject: dict[str, list[NormCovariates]] = {}
    for trial in trials:
        try:
            record = read_record(out / trial.folder)
        except ResultError:  # no result, or a damaged one that was listed as failed while collecting
            continue
        if ENTRY not in record:  # a damaged result that was listed as failed while collecting
            continue
        speed = record[ENTRY]["speed"]["m_s"]
        by_subject.setdefault(trial.subject, []).append(read_covariates(record, np.nan if speed is None else speed))
    return tuple(mean_over_trials(norm_covariates) for norm_covariates in by_subject.values())


def mean_over_trials(norm_covariates: Sequence[NormCovariates]) -> NormCovariates:
    """Return the mean over the trials of a subject, only walking trials if there are any; unknown values are ignored."""
    walking = [covariates for covariates in norm_covariates if covariates.activity == "walking"] or norm_covariates
    ages = [covariates.age_years for covariates in walking if covariates.age_years is not None]
    legs = [covariates.leg_length_m for covariates in walking if covariates.leg_length_m]
    speeds = [covariates.speed_m_s for covariates in walking if np.isfinite(covariates.speed_m_s)]
    return NormCovariates(
        float(np.mean(ages)) if len(ages) == len(walking) else None,
        float(np.mean([covariates.height_m for covariates in walking])),
        float(np.mean(legs)) if legs else None,
        float(np.mean(speeds)) if speeds else float("nan"),
        walking[0].activity,
    )


def norms_setting(options: AnalysisOptions, trials: Sequence[PlannedTrial]) -> str:
    """Return the setting [analysis] norms; if it is "auto", the setting [report] norms of the trials, if all trials have the
    same."""
    if options.norms != AUTO:
        return options.norms
    named = {str(trial.settings.get("report", {}).get("norms", AUTO)) for trial in trials}
    return named.pop() if len(named) == 1 else AUTO


def mean_covariates(norm_covariates: Sequence[NormCovariates]) -> NormCovariates | None:
    """Return the mean properties of some subjects; None for an empty list."""
    return mean_over_trials(norm_covariates) if norm_covariates else None


def choose_study_norms(setting: str, norm_covariates: Sequence[NormCovariates]) -> NormChoice:
    """Return the norms that are shown with the curves of a study; none if its subjects are both children and adults."""
    person = mean_covariates(norm_covariates)
    if person is None:
        return NormChoice((), ("No norms are shown, because no trial states age and walking speed.",))
    stages = {covariates.age_stage for covariates in norm_covariates if covariates.activity == "walking"}
    if setting == AUTO and len(stages) > 1:
        return NormChoice(
            (), ("No norms are shown, because the study has both adults and children, or people of unknown age.",)
        )
    return choose_norms(setting, person)


# -- Statistics -----------------------------------------------------------------------------------------------------


#: (index in the values of an observation, name, unit)
Named = tuple[int, str, str]


@dataclass(frozen=True)
class GroupData:
    """Inputs of a statistic: means of every subject, one number or one curve per session, condition and side.

    Attributes:
        observations: `cells` (a subject in one session, condition and side), `trials` and `per_subject(side)`.
        units: unit of every variable of the data set. parameter_units: in the order of `observations.definitions`.
        options: section [analysis] of study.toml.
        norm_covariates: properties of the subjects, for the choice of norms.
    """

    observations: Observations
    units: Mapping[str, str]
    parameter_units: Sequence[str]
    options: AnalysisOptions
    norm_covariates: Sequence[NormCovariates] = ()

    @property
    def curves(self) -> list[Named]:
        """Return the compared variables of the study: index in the curves of a cell, name, unit."""
        places = {name: number for number, name in enumerate(self.observations.variables)}
        return [(places[name], name, self.units[name]) for name in self.options.curve_variables if name in self.units]

    @property
    def parameters(self) -> list[Named]:
        """Return the compared parameters: index in the parameters of a cell, name, unit."""
        places = {definition.name: number for number, definition in enumerate(self.observations.definitions)}
        compared = self.options.compared_parameters
        return [(places[name], name, self.parameter_units[places[name]]) for name in compared]


@dataclass(frozen=True)
class StatisticOutput:
    """Output of a statistic: tables by file name in OUT/group, sentences by the same names, and findings."""

    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


class Statistic(Protocol):
    """Interface of a statistic to which subjects are added one by one; `add` does nothing if it needs only the means."""

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves], parameters: FloatArray) -> None:
        """Add the cycles of one subject, its mean curves, and its parameters (cycles, P)."""

    def compute(self, data: GroupData) -> StatisticOutput:
        """Return the tables of the statistic after all subjects were added."""


Start = Callable[[Sequence[ParameterDefinition], AnalysisOptions], Statistic]

#: Every group statistic by name, in the order of computation.
STATISTICS: Registry[Start] = Registry("biodyn.study.group.statistics", "group statistic")


class _MeanStatistic:
    """Group statistic that uses only the means of the subjects."""

    def __init__(self, compute: Callable[[GroupData], StatisticOutput]) -> None:
        self.compute = compute

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves], parameters: FloatArray) -> None:
        """Do nothing, because the means are in the observations."""


def group_statistic(
    name: str, *, place: float
) -> Callable[[Callable[[GroupData], StatisticOutput]], Callable[[GroupData], StatisticOutput]]:
    """Return a decorator that registers a function of the subjects' means as a group statistic; `place` determines the order."""

    def register(compute: Callable[[GroupData], StatisticOutput]) -> Callable[[GroupData], StatisticOutput]:
        STATISTICS.add(name, lambda definitions, options: _MeanStatistic(compute), place)
        return compute

    return register
