"""Compare two sessions of one person: changes, and whether they exceed the variation between walks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from biodyn.errors import StudyError
from biodyn.library.toml_files import load_table
from biodyn.output.store.folder import write_folder
from biodyn.output.tables.csv import write_csv
from biodyn.study.group.group_data import STATISTICS_DECIMALS
from biodyn.study.group.statistics.session_means import NAME as SESSION_MEANS
from biodyn.study.report.report_inputs import StudySource, iterate_rows

CHANGES_NAME, PAGE_NAME = "changes.csv", "report.html"
_KEYS = ["condition", "side", "kind", "name"]
COLUMNS = [
    *_KEYS, "title", "unit", "before", "after", "change", "walks_before", "walks_after", "mdc95", "beyond_mdc95",
    "published", "beyond_published",
]  # fmt: skip
_SHOWN = 12


@dataclass(frozen=True)
class SessionChange:
    """The changes between two sessions.

    Attributes:
        before, after: result folders. names: names of the sessions. table: changes.csv, one row per number, condition and side.
        notes: notes for the interpretation.
    """

    before: StudySource
    after: StudySource
    names: tuple[str, str]
    table: pd.DataFrame
    notes: tuple[str, ...]

    def save(self, out: str | Path, force: bool = False) -> Path:
        """Write changes.csv and report.html into a new folder, completely or not at all; returns the folder."""
        from biodyn.study.report.pages import render_change_page

        page = render_change_page(self)
        with write_folder(Path(out), force) as place:
            write_csv(self.table, place / CHANGES_NAME, STATISTICS_DECIMALS)
            (place / PAGE_NAME).write_text(page, encoding="utf-8")
        return Path(out)

    def lines(self) -> Iterator[str]:
        """Yield lines of text: the change of the gait profile score, and the largest changes beyond the minimal detectable
        change."""
        yield f"{self.names[0]} -> {self.names[1]}"
        for row in iterate_rows(self.table[self.table["name"] == "gps"]):
            mdc = f"MDC95 {row.mdc95:.1f}" if np.isfinite(row.mdc95) else "MDC95 unknown"
            yield (
                f"Gait profile score, {row.side}: {row.before:.1f} -> {row.after:.1f} degrees ({row.change:+.1f}; {mdc}, "
                f"clinically important {row.published:.1f})"
            )
        beyond = self.table[self.table["beyond_mdc95"] == "yes"]
        beyond = beyond.assign(times=lambda t: t["change"].abs() / t["mdc95"]).sort_values("times", ascending=False)
        yield f"{len(beyond)} of {int((self.table['beyond_mdc95'] != '').sum())} numbers changed by more than MDC95."
        for row in iterate_rows(beyond[beyond["name"] != "gps"].head(_SHOWN)):
            yield (
                f"  {row.title}, {row.side}: {row.before:.3g} -> {row.after:.3g} {row.unit} "
                f"({row.change:+.3g}, MDC95 {row.mdc95:.2g})"
            )
        yield from self.notes


def compare_sessions(before: str | Path, after: str | Path) -> SessionChange:
    """Compare two sessions of one person, which are results of `biodyn session` on two days.

    Raises StudyError for several people in a folder or no common condition, and for an unfinished study.
    """
    first, second = StudySource(Path(before)), StudySource(Path(after))
    people = [_single_person(source) for source in (first, second)]
    tables = [_session_means_table(source) for source in (first, second)]
    conditions = [list(dict.fromkeys(table["condition"])) for table in tables]
    shared = [name for name in conditions[0] if name in conditions[1]]
    # each session has one condition, with different names
    if not shared and len(conditions[0]) == len(conditions[1]) == 1:
        tables[1] = tables[1].assign(condition=conditions[0][0])
        shared = conditions[0]
    if not shared:
        raise StudyError(
            "The sessions have no common condition: "
            + " against ".join(
                ", ".join(name or "(no name)" for name in names_of_session) for names_of_session in conditions
            )
            + ".",
            "Use the same condition names in study.toml.",
        )
    notes = list(_other_cause_notes(first, second))
    if people[0] != people[1]:
        notes.insert(0, f"The sessions are of '{people[0]}' and '{people[1]}', who are assumed to be the same person.")
    names = (str(first.record["name"]), str(second.record["name"]))
    if names[0] == names[1]:
        names = (f"{names[0]} (before)", f"{names[1]} (after)")
    return SessionChange(first, second, names, _change_table(tables[0], tables[1], shared), tuple(notes))


def _other_cause_notes(before: StudySource, after: StudySource) -> Iterator[str]:
    """Yield sentences on possible causes of a change that are not changes of the person, from the records of both studies."""
    files = [_recording_paths(source) for source in (before, after)]
    settings = [_trial_settings(source) for source in (before, after)]
    if files[0] and files[0] == files[1]:
        yield "Both contain the same recordings, so the changes are due to the analysis and not to the person."
    else:
        yield "Markers were re-applied between the sessions, which can cause a change beyond the MDC95 of the walks."
    if settings[0] != settings[1] and all(settings):
        yield "The sessions were analysed with different settings, which may cause changes."


def _recording_paths(source: StudySource) -> set[Path]:
    """Return the files of all trials; `root` is relative to the results."""
    root = (source.out / str(source.record.get("root", ""))).resolve()
    return {root / trial["file"] for trial in source.record.get("trials", ())}


def _trial_settings(source: StudySource) -> set[str]:
    return {json.dumps(trial.get("settings"), sort_keys=True) for trial in source.record.get("trials", ())}


def _single_person(source: StudySource) -> str:
    people = list(source.subjects)
    if len(people) != 1:
        raise StudyError(
            f"'{source.out}' contains {len(people)} people, but only sessions of one person can be compared.",
            "Give two result folders of 'biodyn session'.",
        )
    return people[0]


def _session_means_table(source: StudySource) -> pd.DataFrame:
    table = source.table(SESSION_MEANS)
    if not len(table):
        raise StudyError(
            f"'{source.out}' has no session means.", "Run 'biodyn session' again; finished walks are kept."
        )
    if table["session"].nunique() > 1:
        raise StudyError(f"'{source.out}' contains several sessions.", "Give two folders of 'biodyn session'.")
    return table


def _change_table(before: pd.DataFrame, after: pd.DataFrame, conditions: list[str]) -> pd.DataFrame:
    mcid = load_table("study/analysis")["gait_scores"]["mcid_gps_deg"]
    joined = before.merge(after, on=_KEYS, suffixes=("_a", "_b"))
    joined = joined[joined["condition"].isin(conditions)]
    rows = [_change_row(row, mcid) for row in joined.to_dict("records")]
    return pd.DataFrame(rows, columns=COLUMNS)


def _change_row(row: Mapping[Any, Any], mcid: float) -> list[object]:
    change = row["mean_b"] - row["mean_a"]
    mdc = _detectable_change(row)
    published = mcid if row["name"] == "gps" else np.nan
    return [
        *(row[key] for key in _KEYS), row["title_a"], row["unit_a"], row["mean_a"], row["mean_b"], change,
        row["walks_a"], row["walks_b"], mdc, _exceedance_text(change, mdc), published, _exceedance_text(change, published),
    ]  # fmt: skip


def _detectable_change(row: Mapping[Any, Any]) -> float:
    """Return the MDC95 of the two means by t of the walks of both (Welch 1947); NaN for fewer than two walks each."""
    a, b = row["sem_a"] ** 2, row["sem_b"] ** 2
    if not np.isfinite(a + b):
        return float("nan")
    if a + b == 0.0:
        return 0.0
    freedom = (a + b) ** 2 / (a**2 / (row["walks_a"] - 1) + b**2 / (row["walks_b"] - 1))
    return float(scipy.stats.t.ppf(0.975, freedom) * np.sqrt(a + b))


def _exceedance_text(change: float, limit: float) -> str:
    if not np.isfinite(change + limit):
        return ""
    return "yes" if abs(change) > limit else "no"
