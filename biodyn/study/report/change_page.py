"""report.html of two sessions: their curves over each other, and every change beside what can be detected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDES
from biodyn.output.figures.cycles import bands_first, labels_below, percent_axis, value_axis
from biodyn.output.figures.description import Area, Figure, Key, Layer, Line, Panel
from biodyn.output.figures.style import DASHED
from biodyn.output.figures.svg import svg
from biodyn.output.report.page import Fact, Frame, Section, framed, page_environment, resource
from biodyn.study.group.results import FOLDER_NAME, SUBJECT_CURVES_NAME
from biodyn.study.group.statistics.session_means import SCORE
from biodyn.study.report.curve_figures import Norm, display_figures, norm_keys, norm_layers, norms_of
from biodyn.study.report.methods import PACKAGE
from biodyn.study.report.source import StudySource, rows_of
from biodyn.study.report.study_page import MACROS
from biodyn.study.report.table import Table, table
from biodyn.study.report.words import number, unit
from biodyn.variables import PERCENT, variable

if TYPE_CHECKING:
    from biodyn.study.session_change import SessionChange

_CURVES = (
    MACROS
    + """{% for title, drawn in figures %}<h3>{{ title }}</h3><figure>{{ drawn }}</figure>{% endfor %}
<p class="small quiet">Mean over the cycles, shaded one standard deviation from cycle to cycle. Dashed: before.</p>"""
)
_TABLE = (
    MACROS
    + """{{ sentences(notes) }}{{ table(rows, rows.rows | length > 30) }}
<p class="small quiet">MDC95: the smallest change of the two means that the walks of both sessions do not explain
(Student's t). Bold: beyond it.</p>"""
)


def change_page(change: SessionChange) -> str:
    """Return the page."""
    frame = Frame(
        title=f"{change.names[0]} and {change.names[1]} – change",
        heading=f"{change.names[0]} → {change.names[1]}",
        line=_line(change),
        outcome=True,
        facts=[Fact("Before", change.names[0]), Fact("After", change.names[1])],
        program=change.after.record["program"],
        foot="This page needs no network.",
        style=resource("study.css", PACKAGE),
        script=resource("sorting.js", PACKAGE),
    )
    scores = change.table[change.table["kind"] == SCORE]
    scores = scores.sort_values("name", key=lambda names: names != "gps", kind="stable")  # the summary first
    others = change.table[change.table["kind"] != SCORE]
    return framed(
        frame,
        [
            _section("scores", "Gait scores", _TABLE, rows=changes_table(scores), notes=list(change.notes)),
            _section("curves", "Curves over the gait cycle", _CURVES, figures=overlays(change)),
            _section("parameters", "Parameters", _TABLE, rows=changes_table(others), notes=[]),
        ],
    )


def _section(name: str, title: str, template: str, **data: object) -> Section:
    body = page_environment(PACKAGE).from_string(template).render(**data)
    return Section(name, title, Markup(body), name.capitalize())


def _line(change: SessionChange) -> str:
    known = change.table[change.table["beyond_mdc95"] != ""]
    beyond = int((known["beyond_mdc95"] == "yes").sum())
    return f"{beyond} of {len(known)} numbers changed by more than MDC95."


def changes_table(changes: pd.DataFrame) -> Table:
    """Before, after, change and what can be detected; bold beyond it."""
    rows: list[tuple[str, ...]] = []
    strong: list[int] = []
    for r in rows_of(changes):
        if r.beyond_mdc95 == "yes":
            strong.append(len(rows))
        rows.append(
            (r.title, r.condition, SIDE_NAMES.get(r.side, r.side), unit(r.unit), number(r.before, r.unit),
             number(r.after, r.unit), number(r.change, r.unit), number(r.mdc95, r.unit), number(r.published, r.unit))
        )  # fmt: skip
    heads = ("number", "condition", "side", "unit", "#before", "#after", "#change", "#MDC95", "#important (published)")
    return table(heads, rows, strong)


Curves = dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]


def _curves(source: StudySource) -> tuple[Curves, dict[str, str]]:
    """Mean and standard deviation over the cycles (101,) by variable and side, in the clinical sign; units by variable."""
    frame = pd.read_parquet(source.out / FOLDER_NAME / SUBJECT_CURVES_NAME)
    found: Curves = {}
    units: dict[str, str] = {}
    for (name, side), rows in frame.groupby(["variable", "side"], sort=False, observed=True):
        # of several conditions the first, as both sessions have it
        first = rows.iloc[:CYCLE_POINTS]
        sign = variable(str(name)).clinical(str(side))
        found[(str(name), str(side))] = (sign * first["mean"].to_numpy(float), first["sd"].to_numpy(float))
        units[str(name)] = str(first["unit"].iloc[0])
    return found, units


def overlays(change: SessionChange) -> list[tuple[str, Markup]]:
    """A figure a group of variables and side: before dashed, after drawn through, norms behind."""
    before, _ = _curves(change.before)
    after, units = _curves(change.after)
    norms = norms_of(change.after.table("normative_bands"))
    found = []
    for entry in display_figures():
        for side in SIDES:
            names = [name for name in entry["panels"] if (name, side) in before and (name, side) in after]
            if names:
                title = f"{entry['title']}, {SIDE_NAMES[side]}"
                found.append((title, _overlay(title, names, side, (before, after), units, norms, change.names)))
    return found


def _overlay(
    title: str,
    names: list[str],
    side: str,
    sessions: tuple[Curves, Curves],
    units: dict[str, str],
    norms: tuple[Norm, ...],
    words: tuple[str, str],
) -> Markup:
    panels = []
    colors = ("muted", SIDE_NAMES[side])  # type: ignore[index]
    for name, label in zip(names, labels_below("gait cycle (%)", len(names)), strict=True):
        layers: list[Layer] = norm_layers(norms, name)
        for curves, color, dash in zip(sessions, colors, (DASHED, ()), strict=True):
            mean, sd = curves[(name, side)]
            if np.isfinite(sd).any():
                layers.append(Area(PERCENT, mean - sd, mean + sd, color, 0.16))
            layers.append(Line(PERCENT, mean, color, 2.0, dash=dash))
        shown = variable(name)
        panels.append(Panel(shown.title, percent_axis(label), value_axis(shown, units[name]), bands_first(layers)))
    keys = [Key(words[0], colors[0], dash=DASHED), Key(words[1], colors[1]), *norm_keys(norms, names)]
    return svg(Figure(title, tuple(panels), tuple(keys)))
