"""report.html of two sessions: their curves over each other, and every change beside what can be detected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd
from markupsafe import Markup

from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES
from biodyn.output.figures.curves import unit_words
from biodyn.output.figures.svg import standard_names
from biodyn.output.report.compare_page import CURVES_TEMPLATE, MeanCurve, Means, pair_curves
from biodyn.output.report.page import Fact, Frame, Section, framed, page_environment, resource
from biodyn.output.report.scene import MOST_BYTES, SCENE_TEMPLATE
from biodyn.study.group.results import FOLDER_NAME, SUBJECT_CURVES_NAME
from biodyn.study.group.statistics.session_means import SCORE
from biodyn.study.report.figures import norm_keys, norm_layers, norms_of
from biodyn.study.report.findings import PACKAGE
from biodyn.study.report.pages import MACROS
from biodyn.study.report.scenes import typical_walk, walks_scene
from biodyn.study.report.source import StudySource, rows_of
from biodyn.study.report.table import Table, number, table
from biodyn.variables import variable

if TYPE_CHECKING:
    from biodyn.study.session_change import SessionChange

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
            *_curves_and_scene(change),
            _section("parameters", "Parameters", _TABLE, rows=changes_table(others), notes=[]),
        ],
    )


def _section(name: str, title: str, template: str, **data: object) -> Section:
    body = page_environment(PACKAGE).from_string(template).render(data)
    link = "3-D" if name == "scene" else name.capitalize()
    return Section(name, title, Markup(body), link, css="scene" if name == "scene" else "")


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
            (r.title, r.condition, SIDE_NAMES.get(r.side, r.side), unit_words(r.unit), number(r.before, r.unit),
             number(r.after, r.unit), number(r.change, r.unit), number(r.mdc95, r.unit), number(r.published, r.unit))
        )  # fmt: skip
    heads = ("number", "condition", "side", "unit", "#before", "#after", "#change", "#MDC95", "#important (published)")
    return table(heads, rows, strong)


def _curves_and_scene(change: SessionChange) -> Iterator[Section]:
    """A walk of each session in one 3-D view, and the curves of both, where they are there."""
    walks = [
        (name, source, typical_walk(source))
        for name, source in zip(change.names, (change.before, change.after), strict=True)
    ]
    scene = walks_scene([(name, source, walk) for name, source, walk in walks if walk is not None], 2 * MOST_BYTES)
    if scene is not None:
        yield _section("scene", "Before and after in 3-D", SCENE_TEMPLATE, **scene)
    cycles = [] if scene is None else scene["scene"]["persons"][0]["cycles"]
    norms = norms_of(change.after.table("normative_bands"))
    curves = pair_curves(
        change.names,
        (session_means(change.before), session_means(change.after)),
        cycles,
        lambda name: norm_layers(norms, name),
        norm_keys(norms, standard_names()),
    )
    if curves is not None:
        yield _section("curves", "Curves over the gait cycle", CURVES_TEMPLATE, **curves)


def session_means(source: StudySource) -> Means:
    """Mean and standard deviation over the cycles by variable and side, in the clinical sign; of several conditions the first."""
    frame = pd.read_parquet(source.out / FOLDER_NAME / SUBJECT_CURVES_NAME)
    found: dict[str, dict[str, MeanCurve]] = {}
    for (name, side), rows in frame.groupby(["variable", "side"], sort=False, observed=True):
        first = rows.iloc[:CYCLE_POINTS]
        sign = variable(str(name)).clinical(str(side))
        mean, sd = sign * first["mean"].to_numpy(float), first["sd"].to_numpy(float)
        found.setdefault(str(name), {})[str(side)] = MeanCurve(mean, sd, str(first["unit"].iloc[0]))
    return found
