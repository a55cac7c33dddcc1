"""Run the group analysis of a study: process the data set subject by subject, then compare the means."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import ResultError, SettingsError
from biodyn.library.study_parameters import ParameterDefinition
from biodyn.library.toml_files import suggest_name
from biodyn.model.from_library.skeleton_recipes import load_skeleton
from biodyn.output.store.folder import group_file_test, replace_folder
from biodyn.output.tables.csv import write_csv
from biodyn.output.tables.gait import stride_columns
from biodyn.processing.gait.spatiotemporal import variable_names
from biodyn.settings import settings_from
from biodyn.statistics.gait_measures import OUTLIER_FENCE
from biodyn.study.collecting.data_set_reader import iterate_subjects
from biodyn.study.group.group_data import (
    FOLDER_NAME,
    PARAMETERS_NAME,
    STATISTICS,
    STATISTICS_DECIMALS,
    SUBJECT_CURVES_NAME,
    GroupData,
    GroupResults,
    Observations,
    StatisticOutput,
    choose_study_norms,
    norms_setting,
    open_csv_appender,
    open_parquet_appender,
    read_subject_covariates,
    write_record,
)
from biodyn.study.group.statistics.gait_scores import score_names
from biodyn.study.group.subject_cycles import (
    CYCLE_COLUMNS,
    CYCLE_KEYS,
    CYCLE_VALUES,
    STANCE,
    STRIDE_TIME,
    SUBJECT_CURVE_SCHEMA,
    GroupCurves,
    Strides,
    SubjectCycles,
    cycle_distance_table,
    mean_curves,
    norm_table,
    outlier_flags,
    subject_curve_table,
    subject_cycles,
)
from biodyn.study.options import AnalysisOptions, all_parameter_definitions, load_study_table, require_known_names
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.trial_record import STRIDES_NAME, excluded_trials, read_strides, remove_trials, warned_trials
from biodyn.variables import NormCovariates, load_norm_set, norm_name_error
from biodyn.variables.cycle_parameters import apply_operation, parameter_unit, side_signs, window_ends
from biodyn.variables.norms import AUTO, NONE

PARAMETER_COLUMNS = [*CYCLE_KEYS, "parameter", "value", "unit"]


def parameter_matrix(data: SubjectCycles, definitions: Sequence[ParameterDefinition]) -> FloatArray:
    """Return the parameters of every cycle (N, P); NaN if unknown or if the data of the subject lack the variable."""
    matrix = np.full((len(data.cycles), len(definitions)), np.nan)
    for column, definition in enumerate(definitions):
        if has_variable(data, definition):
            matrix[:, column] = parameter_values(data, definition)
    return matrix


def parameter_table(
    data: SubjectCycles, definitions: Sequence[ParameterDefinition], matrix: FloatArray
) -> pd.DataFrame:
    """Return the parameters (N, P) of every cycle as a tidy table: `CYCLE_KEYS`, parameter, value, unit; NaN if unknown.

    Definitions without data are omitted.
    """
    known = [number for number, definition in enumerate(definitions) if has_variable(data, definition)]
    names = pd.Index([definitions[number].name for number in known])
    units = [parameter_unit(definitions[n], data.units.get(definitions[n].variable, "")) for n in known]
    codes = np.repeat(np.arange(len(known)), len(matrix))
    levels = pd.Index(list(dict.fromkeys(units)))
    table: dict[str, Any] = {name: _repeated_column(data.cycles[name], len(known)) for name in CYCLE_KEYS}
    table["parameter"] = pd.Categorical.from_codes(codes, categories=names)
    table["value"] = matrix[:, known].T.reshape(-1)
    table["unit"] = pd.Categorical.from_codes(levels.get_indexer(pd.Index(units))[codes], categories=levels)
    return pd.DataFrame(table)


def _repeated_column(column: pd.Series, times: int) -> Any:
    """Return `times` copies of a column, one after the other; texts become categories, which are fast to write."""
    if column.dtype != object:
        return np.tile(column.to_numpy(), times)
    codes, words = pd.factorize(column)
    return pd.Categorical.from_codes(np.tile(codes, times), categories=words)


def has_variable(data: SubjectCycles, definition: ParameterDefinition) -> bool:
    """Return whether the data of the subject contain the variables of the definition."""
    if definition.operation == "stride":
        return definition.variable in data.stride_columns
    return definition.variable in data.variables


def parameter_values(data: SubjectCycles, definition: ParameterDefinition) -> FloatArray:
    """Return the values (N,) of one parameter for the N cycles of a subject."""
    sign = side_signs(definition, data.cycles["side"].tolist())
    if definition.operation == "stride":
        return sign * data.stride(definition.variable)
    curves = data.curves(definition.variable) * sign[:, None]
    start, end = window_ends(definition.interval, data.stride(STANCE))
    return apply_operation(curves, start, end, definition, data.stride(STRIDE_TIME))


#: Names by their kind: variable, stride parameter, condition, group, parameter.
NamesByKind = Mapping[str, Collection[str]]


def possible_names(plan: StudyPlan) -> NamesByKind:
    """Return the names that the trials of a plan may contain, by skeletons and labels; ModelError for an invalid skeleton."""
    skeletons = dict.fromkeys(settings_from(dict(trial.settings)).model.skeleton for trial in plan.trials)
    variables: dict[str, None] = {}
    for name in skeletons:
        variables |= dict.fromkeys(variable_names(load_skeleton("full_body" if name == "auto" else name)))
    return {
        "variable": tuple(variables),
        "stride parameter": stride_columns(),
        "condition": dict.fromkeys(trial.condition for trial in plan.trials),
        "group": dict.fromkeys(trial.group for trial in plan.trials),
    }


def require_possible_names(plan: StudyPlan, options: AnalysisOptions) -> None:
    """Raise SettingsError for the first name in [analysis] that no result can have, with the most similar name."""
    if not plan.trials:
        return
    possible = {**possible_names(plan), "parameter": parameter_names(options)}
    for entry, what, names in names_to_check(options):
        for name in names:
            if name not in possible[what]:
                raise SettingsError(
                    f"Entry '{entry}' of study.toml is not valid: this study has no {what} '{name}'.",
                    suggest_name(name, filter(None, possible[what])),
                )
    problem = norm_name_error(options.norms)
    if problem:
        raise SettingsError(f"Entry 'analysis.norms' of study.toml is not valid: {problem}")
    if options.norms not in (AUTO, NONE):
        load_norm_set(options.norms)


def parameter_names(options: AnalysisOptions) -> list[str]:
    """Return the names of the default parameters and of the parameters defined by the study."""
    return [definition.name for definition in all_parameter_definitions(options.parameters)]


def names_to_check(options: AnalysisOptions) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield every entry of study.toml that contains names, with the kind of its names, and its names."""
    for definition in options.parameters:
        what = "stride parameter" if definition.operation == "stride" else "variable"
        yield (f"analysis.parameters.{definition.name}.variable", what, (definition.variable,))
    yield ("analysis.curves", "variable", options.curves or ())
    yield ("analysis.compared", "parameter", options.compared or ())
    yield ("analysis.predictor", "parameter", (options.predictor,) if options.predictor else ())
    yield ("analysis.conditions", "condition", options.conditions or ())
    yield ("analysis.groups", "group", options.groups or ())
    yield ("analysis.reference_group", "group", () if options.reference_group is None else (options.reference_group,))


# -- Analysis -------------------------------------------------------------------------------------------------------


#: Stride parameters of a subject by (trial, side, cycle).
StridesOf = Callable[[str], Strides]


def analyse_study(plan: StudyPlan, out: Path, options: AnalysisOptions | None = None) -> GroupResults:
    """Analyse the collected data set of a study and write OUT/group; an older folder is replaced when the new one is complete.

    Trials that failed their checks (unless options.include_failed) are excluded, and trials with another activity than most
    trials of their condition. study.parquet is read subject by subject, and the stride parameters from the trial folders.
    Equal data and options give equal bytes. Analyses that the data do not allow are omitted with a sentence in `notes`.

    Raises:
        SettingsError: the options name a variable, parameter, condition or group that the study does not have.
        ResultError: the data set is missing or damaged.
    """
    options = options or AnalysisOptions()
    options = options.model_copy(update={"norms": norms_setting(options, plan.trials)})
    excluded = excluded_trials(plan, out, options.include_failed)
    frames = _exclude_trials(iterate_subjects(out, CYCLE_VALUES), excluded)
    counted = [trial for trial in plan.trials if (trial.subject, trial.trial) not in excluded]
    norm_covariates = read_subject_covariates(counted, out)
    strides, warned = stride_reader(plan.trials, out), warned_trials(plan, out)
    return analyse_frames(frames, strides, out, options, possible_names(plan), norm_covariates, warned)


def _exclude_trials(frames: Iterable[pd.DataFrame], excluded: Iterable[tuple[str, str]]) -> Iterator[pd.DataFrame]:
    """Yield the rows of each subject without the rows of excluded trials."""
    trials: dict[str, list[str]] = {}
    for subject, trial in excluded:
        trials.setdefault(subject, []).append(trial)
    for frame in frames:
        included = remove_trials(frame, trials.get(str(frame["subject"].iloc[0]), ()))
        if len(included):
            yield included


def analyse_frames(
    frames: Iterable[pd.DataFrame],
    strides_of: StridesOf,
    out: Path,
    options: AnalysisOptions | None = None,
    possible: NamesByKind | None = None,
    norm_covariates: Sequence[NormCovariates] = (),
    warned: Collection[tuple[str, str]] = (),
) -> GroupResults:
    """Analyse the tidy rows of a study, one frame per subject, and write OUT/group; see `analyse_study`.

    possible: names that results may contain; a name without data is a finding and not an error. norm_covariates: properties of
    the subjects for the choice of norms. warned: (subject, trial) of trials that cannot be representative.
    """
    options = options or AnalysisOptions()
    with replace_folder(out / FOLDER_NAME, group_file_test) as folder, ExitStack() as open_files:
        stream = _GroupAccumulator(options, folder, open_files, possible or {}, norm_covariates, warned)
        for frame in frames:
            data = subject_cycles(frame)
            stream.add(data.with_strides(strides_of(data.subject)))
        open_files.close()
        # 0/0 if values do not vary: the statistic is NaN in its table, without a warning on the screen
        with np.errstate(invalid="ignore", divide="ignore"):
            results = stream.results(out / FOLDER_NAME)
        for name, table in results.tables.items():
            write_csv(table, folder / f"{name}.csv", STATISTICS_DECIMALS)
        write_record(results, folder)
    return results


class _GroupAccumulator:
    """Accumulator that computes the group results from subjects added one by one; it keeps only their means."""

    def __init__(
        self,
        options: AnalysisOptions,
        folder: Path,
        open_files: ExitStack,
        possible: NamesByKind,
        norm_covariates: Sequence[NormCovariates],
        warned: Collection[tuple[str, str]],
    ) -> None:
        self.options, self.norm_covariates, self.warned = options, norm_covariates, warned
        self.possible = possible
        self.definitions = all_parameter_definitions(options.parameters)
        stored = tuple(dict.fromkeys((*options.curve_variables, *score_names())))
        sides = (options.side,) if options.side in SIDES else SIDES
        self.observations = Observations(self.definitions, stored, sides)
        self.group_curves = GroupCurves()
        self.statistics = [start(self.definitions, options) for start in STATISTICS.values()]
        self.variables: dict[str, str] = {}
        self.strides: dict[str, None] = {}
        self.known = np.zeros(len(self.definitions), dtype=np.int64)
        self.missing = np.zeros(len(self.definitions), dtype=np.int64)
        self.cycles: list[pd.DataFrame] = []
        self._add_parameters = open_files.enter_context(open_csv_appender(folder / PARAMETERS_NAME, PARAMETER_COLUMNS))
        self._add_curves = open_files.enter_context(
            open_parquet_appender(folder / SUBJECT_CURVES_NAME, SUBJECT_CURVE_SCHEMA)
        )

    def add(self, data: SubjectCycles) -> None:
        """Add the cycles of one subject to all tables and statistics."""
        options = self.options
        self.variables.update(data.units)
        self.strides.update(dict.fromkeys(data.stride_columns))
        warned = [trial for subject, trial in self.warned if subject == data.subject]
        cycles = cycle_distance_table(data, load_study_table("analysis")["representative"]["variables"], warned)
        self.cycles.append(cycles)
        values = parameter_matrix(data, self.definitions)
        self.known += np.isfinite(values).sum(axis=0)
        self.missing += np.isnan(values).sum(axis=0)
        self._add_parameters(parameter_table(data, self.definitions, values))
        curves = mean_curves(data, outlier_flags(cycles) if options.outliers == "leave_out" else None)
        self._add_curves(subject_curve_table(data, curves))
        self.group_curves.add(data, curves)
        self.observations.add(data, curves, values)
        for statistic in self.statistics:
            statistic.add(data, curves, values)

    def results(self, folder: Path) -> GroupResults:
        """Compute the statistics of all added subjects and return the group results."""
        absent = self._absent_names()
        summary = self._parameter_summary()
        data = GroupData(self.observations, self.variables, list(summary["unit"]), self.options, self.norm_covariates)
        norms = choose_study_norms(self.options.norms, self.norm_covariates)
        joined = _join_outputs([statistic.compute(data) for statistic in self.statistics])
        tables = {
            "group_curves": self.group_curves.table(),
            "normative_bands": norm_table(norms.norms, self.variables, SIDES),
            "parameters_wide": self.observations.wide_table(),
            "cycles": pd.concat(self.cycles, ignore_index=True) if self.cycles else pd.DataFrame(columns=CYCLE_COLUMNS),
            **joined.tables,
        }
        notes = {
            "group_curves": (
                "The curve of a subject is the mean over its cycles with a value, the curve of a group the mean over "
                "its subjects (over their sessions), with the standard deviation between subjects.",
            ),
            "normative_bands": norms.reasons,
            "parameters": tuple(_missing_value_notes(summary)),
            "cycles": tuple(self._cycle_notes(tables["cycles"])),
            **joined.notes,
        }
        diagnostics = (*absent, *joined.diagnostics)
        return GroupResults(folder, self.options, tables, summary, notes, diagnostics)

    def _absent_names(self) -> tuple[Diagnostic, ...]:
        """Return findings about names in the options that no trial has; SettingsError for a name that no trial can have."""
        cells, findings = self.observations.cells, []
        there: NamesByKind = {
            "variable": self.variables,
            "stride parameter": self.strides,
            "condition": dict.fromkeys(cell.condition for cell in cells),
            "group": dict.fromkeys(cell.group for cell in cells),
            "parameter": parameter_names(self.options),
        }
        for entry, what, names in names_to_check(self.options):
            require_known_names([name for name in names if name not in self.possible.get(what, ())], there[what], what)
            findings += [
                Diagnostic(
                    "statistics-missing",
                    "warning",
                    f"Entry '{entry}' contains the {what} '{name}', for which no trial has a result.",
                    hint="Check the failed trials, and the markers of the other trials.",
                )
                for name in names
                if name not in there[what]
            ]
        return tuple(findings)

    def _parameter_summary(self) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "name": [definition.name for definition in self.definitions],
                "title": [definition.label for definition in self.definitions],
                "unit": [
                    parameter_unit(definition, self.variables.get(definition.variable, ""))
                    for definition in self.definitions
                ],
                "source": [definition.source for definition in self.definitions],
                "cycles": self.known,
                "not_known": self.missing,
            }
        )

    def _cycle_notes(self, cycles: pd.DataFrame) -> Iterator[str]:
        count, judged = int(cycles["outlier"].sum()), int(cycles["distance"].notna().sum())
        treatment = "included in all means" if self.options.outliers == "keep" else "excluded from all means"
        yield (
            f"{count} of {judged} assessed cycles are outliers within their subject, condition and side, and {treatment} "
            "(functional median distance, Sangeux & Polak 2015; beyond the upper quartile plus "
            f"{OUTLIER_FENCE:g} quartile ranges, from five cycles on)."
        )
        if judged < len(cycles):
            yield f"{len(cycles) - judged} cycles were not assessed: part of their curves is missing."


def _join_outputs(results: Sequence[StatisticOutput]) -> StatisticOutput:
    """Join all tables, sentences and findings; ValueError if two statistics have tables with the same name."""
    tables: dict[str, pd.DataFrame] = {}
    notes: dict[str, tuple[str, ...]] = {}
    for result in results:
        taken = tables.keys() & result.tables.keys()
        if taken:
            raise ValueError(f"two group statistics have a table '{min(taken)}'")
        tables |= result.tables
        notes |= result.notes
    return StatisticOutput(tables, notes, tuple(note for result in results for note in result.diagnostics))


def _missing_value_notes(summary: pd.DataFrame) -> Iterator[str]:
    nowhere = summary[summary["cycles"] == 0]["name"]
    if len(nowhere):
        yield f"Parameters that could not be computed for any cycle: {', '.join(nowhere)}."
    partly = summary[(summary["cycles"] > 0) & (summary["not_known"] > 0)]
    if len(partly):
        worst = partly.iloc[int(partly["not_known"].to_numpy().argmax())]
        yield (
            f"{len(partly)} parameters could not be computed for some cycles (a value missing in their window, or no foot off); "
            f"most often {worst['name']}: {worst['not_known']} of {worst['cycles'] + worst['not_known']} cycles."
        )


def stride_reader(trials: Iterable[PlannedTrial], out: Path) -> StridesOf:
    """Return a function that reads the stride parameters of a subject from the result folders of its trials."""
    by_subject: dict[str, list[PlannedTrial]] = {}
    for trial in trials:
        by_subject.setdefault(trial.subject, []).append(trial)

    def read_subject_strides(subject: str) -> dict[tuple[str, str, int], dict[str, float]]:
        parameters: dict[tuple[str, str, int], dict[str, float]] = {}
        for trial in by_subject.get(subject, ()):
            try:
                strides = read_strides(out / trial.folder / STRIDES_NAME)
            except ResultError:  # the trial was listed as failed while collecting, and its cycles are not used
                continue
            parameters |= {(trial.trial, side, cycle): values for (side, cycle), values in strides.items()}
        return parameters

    return read_subject_strides
