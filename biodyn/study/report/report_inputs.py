"""Read the inputs of a report, which are the files of the output folder of a study."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from biodyn.conventions import SIDE_NAMES
from biodyn.output.figures.style import report_setting
from biodyn.output.store.folder import KIND_ENTRY, RECORD_NAME, REPORT_NAME
from biodyn.output.tables.csv import original_text, read_csv
from biodyn.study.collecting.cycles import LABELS, NOT_RUN, SUMMARY_NAME
from biodyn.study.group.group_data import FOLDER_NAME, MEAN_OF_SIDES
from biodyn.study.result import SESSION, STUDY_RECORD_NAME, read_study_json, unfinished_study_error
from biodyn.study.trial_record import FAILED
from biodyn.variables import is_known_variable, variable

#: Text columns, even if their values look like numbers.
_WORDS = frozenset(
    (
        *LABELS, "side", "variable", "parameter", "unit", "family", "factor", "within", "comparison", "first", "second",
        "kind", "term", "name", "level", "test", "rank_test", "effect_size", "inference", "norms", "variables", "shown_as",
        "citation", "title", "reference", "reference_age",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """Trial of a study as listed in summary.csv: labels, outcome and metrics (as text).

    `excluded`: reason of exclusion from group results, "" if included. `page`: page that describes the trial, relative to the
    study folder, "" for the only page of a session. `report`: report of the trial, relative to the study folder, "" if none.
    """

    subject: str
    session: str
    condition: str
    group: str
    trial: str
    file: str
    status: str
    error: str
    reason: str
    hint: str
    excluded: str
    metrics: Mapping[str, str]
    site: str = ""
    page: str = ""
    report: str = ""

    @property
    def has_result(self) -> bool:
        """Return whether the trial has a result."""
        return self.status not in (FAILED, NOT_RUN)

    @property
    def folder(self) -> str:
        """Return the result folder of the trial, relative to the study folder."""
        return f"trials/{self.subject}/{self.trial}"

    @property
    def link(self) -> str:
        """Return the link to the description of the trial, relative to the study folder."""
        return f"{self.page}#{quote(self.trial)}"

    @property
    def session_and_condition(self) -> str:
        """Return session and condition in words; "" if there is neither."""
        return ", ".join(filter(None, (self.session, self.condition)))

    def metric(self, metric: str) -> float:
        """Return the value of a metric; NaN if it is unknown."""
        try:
            return float(self.metrics.get(metric, ""))
        except ValueError:  # unknown, or a text
            return float("nan")


def subject_link(subject: str) -> str:
    """Return the page of a subject, relative to the study folder."""
    return f"subjects/{quote(subject)}.html"


@dataclass(frozen=True)
class StudySource:
    """Reader of the output folder of a study; its tables are read on first access."""

    out: Path
    _tables: dict[str, pd.DataFrame] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """Return the values of study.json."""
        return read_study_json(self.out, STUDY_RECORD_NAME)

    @property
    def is_single_session(self) -> bool:
        """Return whether the study consists of the walks of one session, which have a single page."""
        return self.record.get(KIND_ENTRY) == SESSION

    @cached_property
    def group(self) -> Mapping[str, Any]:
        """Return the values of group.json: options, parameters, notes, diagnostics."""
        return read_study_json(self.out, f"{FOLDER_NAME}/group.json")

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Return all planned trials in order."""
        try:
            with (self.out / SUMMARY_NAME).open(encoding="utf-8", newline="") as stream:
                rows = [
                    {name: original_text(text or "") for name, text in row.items()} for row in csv.DictReader(stream)
                ]
                return tuple(self._add_report_path(_trial_from_row(row, self.is_single_session)) for row in rows)
        except FileNotFoundError as error:
            raise unfinished_study_error(self.out) from error

    @cached_property
    def subjects(self) -> Mapping[str, Sequence[Trial]]:
        """Return the trials by subject, in order."""
        by_subject: dict[str, list[Trial]] = {}
        for trial in self.trials:
            by_subject.setdefault(trial.subject, []).append(trial)
        return by_subject

    def _add_report_path(self, trial: Trial) -> Trial:
        """Return the trial with the path of its report if there is one."""
        page = f"{trial.folder}/{REPORT_NAME}"
        return replace(trial, report=quote(page)) if trial.has_result and (self.out / page).is_file() else trial

    def run_record(self, trial: Trial) -> Mapping[str, Any]:
        """Return the values of run.json of a trial."""
        return read_study_json(self.out, f"{trial.folder}/{RECORD_NAME}")

    @cached_property
    def _first_record(self) -> Mapping[str, Any]:
        """Return the values of run.json of the first analysed trial; empty settings if there is none."""
        return next((self.run_record(trial) for trial in self.trials if trial.has_result), {"settings": {}})

    def report_setting(self, name: str) -> str:
        """Return an entry of [report] in the settings of the first analysed trial; "" if there is none."""
        return report_setting(self._first_record, name)

    def table(self, name: str) -> pd.DataFrame:
        """Return a table of the group results; without columns if it was not written."""
        if name not in self._tables:
            path = self.out / FOLDER_NAME / f"{name}.csv"
            self._tables[name] = read_table(path) if path.is_file() else pd.DataFrame()
        return self._tables[name]

    def notes(self, *sections: str) -> list[str]:
        """Return the sentences of the group results on some sections, without duplicates."""
        return list(dict.fromkeys(note for section in sections for note in self.group["notes"].get(section, ())))


def read_table(path: Path) -> pd.DataFrame:
    """Return a CSV table written by biodyn: text columns are kept as text ("001", "NA"), others are numbers; NaN if missing."""
    header = path.open(encoding="utf-8").readline().rstrip("\n").split(",")
    kinds = {name: str if name in _WORDS else np.float64 for name in header}
    words = [name for name in header if name in _WORDS]
    for name in ("representative", "outlier", "converged"):  # true and false
        kinds.pop(name, None)
    numeric_missing = {name: [""] for name in header if name not in words}
    return read_csv(path, dtype=kinds, keep_default_na=False, na_values=numeric_missing)


def _trial_from_row(row: Mapping[str, str], one_session: bool) -> Trial:
    fixed = (*LABELS, "file", "status", "error", "reason", "hint", "excluded")
    metrics = {name: text for name, text in row.items() if name not in fixed and text}
    page = "" if one_session else subject_link(row["subject"])
    # studies of earlier versions have no site and no reason of an exclusion
    return Trial(**{name: row.get(name, "") for name in fixed}, metrics=metrics, page=page)


def iterate_rows(frame: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows of a table as named tuples."""
    yield from frame.itertuples()


def iterate_groups(frame: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield each combination of values of the columns with its rows, in the order of first appearance."""
    yield from frame.groupby(list(columns), sort=False)


Value = str | Markup


@dataclass(frozen=True)
class Table:
    """Table for a page: cells are texts or safe markup, with one tuple per row.

    Attributes:
        heads: column titles; a title that starts with "#" belongs to a right-aligned column of numbers.
        strong: indices of the bold rows.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    strong: frozenset[int] = frozenset()

    @property
    def numeric_columns(self) -> tuple[bool, ...]:
        """Return for each column whether it contains numbers and is right-aligned."""
        return tuple(head.startswith("#") for head in self.heads)

    @property
    def titles(self) -> tuple[str, ...]:
        """Return the column titles."""
        return tuple(head.removeprefix("#") for head in self.heads)

    def __bool__(self) -> bool:
        return bool(self.rows)


#: A table with a title.
TitledTable = tuple[str, Table]


def make_table(heads: Sequence[str], rows: Iterable[Sequence[Value]], strong: Iterable[int] = ()) -> Table:
    """Return a table of these rows; columns without any text are omitted."""
    cells = [tuple(row) for row in rows]
    columns = [i for i in range(len(heads)) if not cells or any(str(row[i]) not in ("", "–") for row in cells)]
    return Table(
        tuple(heads[i] for i in columns), tuple(tuple(row[i] for i in columns) for row in cells), frozenset(strong)
    )


def html_link(address: str, words: str) -> Markup:
    """Return an HTML link to a file in the output folder."""
    return Markup(f'<a href="{escape(address)}">{escape(words)}</a>')


MISSING = "–"
_IDENTIFIER = re.compile(r"\b[a-z][a-z0-9]*(?:_[A-Za-z0-9]+)+\b")


def number_text(value: float, unit: str = "") -> str:
    """Return a value with the number of digits of its unit; a dash if it is missing."""
    if value is None or not np.isfinite(value):
        return MISSING
    digits = _decimal_places(unit, abs(value))
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def mean_sd_text(mean: float, sd: float, unit: str) -> str:
    """Return mean ± SD as text, with the number of digits of the unit."""
    if not np.isfinite(mean):
        return MISSING
    text = f" ± {sd:.{_decimal_places(unit, abs(mean))}f}" if np.isfinite(sd) else ""
    return number_text(mean, unit) + text


def p_value_text(p: float) -> str:
    """Return a p value with three digits, or "< 0.001"."""
    if not np.isfinite(p):
        return MISSING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _decimal_places(unit: str, size: float) -> int:
    return 1 if unit in ("deg", "%", "steps/min") else 3 if size < 0.1 else 2


def side_label(side: str) -> str:
    """Return the name of a side for texts: "right", "left", or a word for both."""
    return "both sides" if side == MEAN_OF_SIDES else SIDE_NAMES.get(side, side)  # type: ignore[call-overload, no-any-return]


def comparison_text(comparison: str) -> str:
    """Return the name of a comparison with a typographic minus sign."""
    return comparison.replace(" - ", " − ")


def condition_labels(rows: pd.DataFrame) -> dict[str, str]:
    """Return the name of each condition for texts; empty if there is a single condition without a name."""
    conditions = list(dict.fromkeys(rows["condition"]))
    return {
        condition: level_label(condition, "condition") if len(conditions) > 1 else condition for condition in conditions
    }


def level_label(level: str, factor: str) -> str:
    """Return the name of a condition or group for texts; a text that states its absence if it is ""."""
    return level or f"(no {factor})"


@dataclass(frozen=True)
class DisplayNames:
    """Titles of the variables and parameters of a study; `parameters`: title and unit by name."""

    parameters: Mapping[str, tuple[str, str]]

    def title(self, name: str) -> str:
        """Return the title of a parameter or variable."""
        if name in self.parameters:
            return self.parameters[name][0]
        return variable(name).title

    def replace_identifiers(self, sentence: str) -> str:
        """Return a sentence in which names of tables are replaced by titles."""
        return _IDENTIFIER.sub(lambda match: self._display_name(match[0]), sentence)

    def _display_name(self, name: str) -> str:
        return self.title(name) if name in self.parameters or is_known_variable(name) else name
