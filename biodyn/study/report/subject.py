"""The page of one subject: trials, curves of all cycles, parameters, symmetry, scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.conventions import SIDES
from biodyn.diagnostics import STATUS_WORDS
from biodyn.output.report.page import page_environment, resource
from biodyn.output.store.old_words import OLD_TRIAL_STATUS
from biodyn.study.group.statistics.gait_scores import score_variables
from biodyn.study.group.subject_cycles import STANCE, SubjectCycles
from biodyn.study.record import FAILED
from biodyn.study.report.curve_figures import Norm, SideCycles, display_figures, subject_figure
from biodyn.study.report.methods import PACKAGE
from biodyn.study.report.sections import score_table
from biodyn.study.report.source import NOT_RUN, Trial, parts_of, rows_of
from biodyn.study.report.table import Table, table
from biodyn.study.report.words import Names, number, side_words, spread, unit

#: State that is drawn for every outcome of a trial; results of version 0.1.0 among them.
LAMPS: dict[str, str] = {status: status for status in STATUS_WORDS}
LAMPS |= {**OLD_TRIAL_STATUS, FAILED: "fail", NOT_RUN: "not_assessed"}
#: The outcome in words.
OUTCOMES: dict[str, str] = {str(status): word for status, word in STATUS_WORDS.items()} | {FAILED: "no result"}


@dataclass(frozen=True)
class SubjectTables:
    """The rows of one subject: cycles.csv, parameter means, symmetry.csv, gait_scores.csv."""

    cycles: pd.DataFrame
    parameters: pd.DataFrame
    symmetry: pd.DataFrame
    scores: pd.DataFrame


@dataclass(frozen=True)
class Part:
    """Curves of one session and condition."""

    title: str
    figures: tuple[tuple[str, Markup], ...]
    counts: str


def subject_page(
    subject: str,
    trials: Sequence[Trial],
    data: SubjectCycles | None,
    tables: SubjectTables,
    norms: Sequence[Norm],
    names: Names,
    study: Mapping[str, Any],
) -> str:
    """Return the page; `data` None where no trial of the subject has cycles. `study`: name and program version."""
    nine = score_variables()
    labels = [*(names.title(one.variable) for one in nine), "GPS"]
    columns = [*(f"gvs_{one.name}" for one in nine), "gps"]
    return (
        page_environment(PACKAGE)
        .get_template("subject.html.j2")
        .render(
            subject=subject,
            study=study,
            facts=facts(trials),
            trials=trials,
            lamps=LAMPS,
            outcomes=OUTCOMES,
            number=number,
            parts=[] if data is None else parts(data, tables.cycles, norms),
            parameters=parameter_tables(tables.parameters, names),
            symmetry=symmetry_table(tables.symmetry, names),
            scores=score_table(tables.scores, labels, columns, of_one=True),
            outliers=[] if not len(tables.cycles) else odd_cycles(tables.cycles),
            style=resource("style.css") + resource("study.css", PACKAGE),
            script=resource("sorting.js", PACKAGE),
        )
    )


def facts(trials: Sequence[Trial]) -> list[tuple[str, str]]:
    """Words and numbers of the head."""
    found = [("Trials", f"{sum(trial.done for trial in trials)} of {len(trials)} analysed")]
    group = next((trial.group for trial in trials if trial.group), "")
    conditions = list(dict.fromkeys(trial.condition for trial in trials if trial.condition))
    sessions = list(dict.fromkeys(trial.session for trial in trials if trial.session))
    found += [("Group", group)] if group else []
    found += [("Conditions", ", ".join(conditions))] if conditions else []
    found += [("Sessions", ", ".join(sessions))] if sessions else []
    done = [trial for trial in trials if trial.done]
    for label, name, form in (
        ("Body mass", "subject_mass_kg", "{:.1f} kg"),
        ("Body height", "subject_height_m", "{:.2f} m"),
    ):
        values = list(
            dict.fromkeys(form.format(trial.number(name)) for trial in done if np.isfinite(trial.number(name)))
        )
        found += [(label, ", ".join(values))] if values else []
    speed = np.array([trial.number("speed_m_s") for trial in done])
    if np.isfinite(speed).any():
        known = speed[np.isfinite(speed)]
        found.append(
            ("Walking speed", f"{spread(known.mean(), known.std(ddof=1) if len(known) > 1 else np.nan, '')} m/s")
        )
    return found


def parts(data: SubjectCycles, flags: pd.DataFrame, norms: Sequence[Norm]) -> list[Part]:
    """Figures of every session and condition of a subject."""
    flagged = {
        (row.trial, int(row.cycle), row.side): (bool(row.outlier), bool(row.representative)) for row in rows_of(flags)
    }
    cells: dict[tuple[str, ...], dict[str, np.ndarray]] = {}
    for key, rows in data.cells():
        cells.setdefault(key[:3], {})[key[3]] = rows
    found = []
    stance = data.stride(STANCE)
    for key, sides in cells.items():
        cycles: dict[str, SideCycles] = {}
        for side in (side for side in SIDES if side in sides):
            rows = sides[side]
            own = data.cycles.iloc[rows]
            marks = np.array(
                [
                    flagged.get((trial, int(cycle), side), (False, False))
                    for trial, cycle in zip(own["trial"], own["cycle"], strict=True)
                ]
            )
            known = stance[rows][np.isfinite(stance[rows])]
            cycles[side] = SideCycles(
                data.values[rows], marks[:, 0], marks[:, 1], float(known.mean()) if len(known) else np.nan
            )
        title = ", ".join(filter(None, (key[0], key[1]))) or "All cycles"
        counts = ", ".join(f"{len(own.values)} {side_words(side)}" for side, own in cycles.items())
        found.append(Part(title, _figures(cycles, data, norms, title), f"{counts} cycles"))
    return found


def _figures(
    cycles: Mapping[str, SideCycles], data: SubjectCycles, norms: Sequence[Norm], title: str
) -> tuple[tuple[str, Markup], ...]:
    return tuple(
        (
            str(one["title"]),
            subject_figure(cycles, data.variables, data.units, one["panels"], norms, f"{one['title']}, {title}"),
        )
        for one in display_figures()
        if any(name in data.variables for name in one["panels"])
    )


def parameter_tables(means: pd.DataFrame, names: Names) -> list[tuple[str, Table]]:
    """Mean ± SD over the cycles of each side; a table a session and condition."""
    found = []
    for (session, condition), rows in parts_of(means, "session", "condition"):
        by_name: dict[str, dict[str, Any]] = {}
        for row in rows_of(rows):
            by_name.setdefault(row.parameter, {})[row.side] = row
        cells = []
        for name, sides in by_name.items():
            title, of = names.parameters.get(name, (name, ""))
            texts = [
                f"{spread(sides[side].mean, sides[side].sd, of)} ({sides[side].cycles:.0f})" if side in sides else "–"
                for side in SIDES
            ]
            cells.append((title, unit(of), *texts))
        title = ", ".join(filter(None, (session, condition))) or "All cycles"
        found.append((title, table(("parameter", "unit", *(f"#{side_words(side)}" for side in SIDES)), cells)))
    return found


def symmetry_table(symmetry: pd.DataFrame, names: Names) -> Table:
    """Right against left, every session and condition."""
    rows = [
        (
            names.title(r["name"]) + (", curve" if r["kind"] == "curve" else ""), r["session"], r["condition"],
            unit(r["unit"]), number(r["right"], r["unit"]), number(r["left"], r["unit"]),
            number(r["difference"], r["unit"]), number(r["symmetry_index"], "%"), number(r["symmetry_angle"], "%"),
        )
        for r in symmetry.to_dict("records")
    ]  # fmt: skip
    heads = ("parameter or curve", "session", "condition", "unit", "#right", "#left", "#right − left",
             "#symmetry index (%)", "#symmetry angle (%)")  # fmt: skip
    return table(heads, rows)


def odd_cycles(flags: pd.DataFrame) -> list[str]:
    """Outliers in words."""
    return [
        f"trial {row.trial}, cycle {row.cycle:.0f} {side_words(row.side)}: {row.distance:.3f} from the median cycle "
        f"(limit {row.limit:.3f})"
        for row in rows_of(flags[flags["outlier"]])
    ]
