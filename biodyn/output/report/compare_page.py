"""report.html of a comparison: two walks in one 3-D view, their curves with one cursor, and where and why they differ."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from biodyn.output.figures.description import Figure
from biodyn.output.figures.svg import svg
from biodyn.output.report.page import Fact, Frame, Section, framed, page_environment
from biodyn.output.report.scene import MOST_BYTES
from biodyn.output.report.together import CURVES_TEMPLATE, SCENE_TEMPLATE, means_of, pair_curves, together_scene
from biodyn.output.report.view import TrialView

_SUMMARY = """<ul class="causes">{% for line in lines %}<li>{{ line }}</li>{% endfor %}</ul>"""
_DIFFERENCES = """
<div class="scroll"><table class="tight"><thead>
<tr><th>difference in</th><th class="number">RMS</th><th class="number">RMS of the first</th><th>causes</th></tr></thead><tbody>
{% for what, rms, size, why in rows %}
<tr><td>{{ what }}</td><td class="number">{{ rms }}</td><td class="number">{{ size }}</td><td>{{ why or "–" }}</td></tr>
{% endfor %}
</tbody></table></div>
"""
_FIGURE = "<figure>{{ drawn }}</figure>"


def compare_page(
    names: tuple[str, str],
    views: Sequence[TrialView],
    one_recording: bool,
    lines: Sequence[str],
    rows: Sequence[tuple[str, str, str, str]],
    figure: Figure,
    program: str,
) -> str:
    """Return the page.

    Parameters: `names` of the two; `views` of those that are results, none of other software's files; `one_recording` whether
    they are analyses of the same; `lines` the summary, `rows` of the differences, `figure` of the causes, `program` version of
    biodyn.
    """
    summary = _section("summary", "Where they differ, and why", _SUMMARY, lines=lines)
    sections: list[Section] = []
    by_name = dict(zip(_told_apart(names), views, strict=False))
    if len(views) == len(names):
        scene = together_scene(by_name, one_recording, most_bytes=len(views) * MOST_BYTES)
        if scene is not None:
            sections.append(_section("scene", "Both in 3-D", SCENE_TEMPLATE, **scene))
        sections.append(summary)
        first, other = (means_of(view.values.curves) for view in views)
        cycles = (
            views[0].tables["spatiotemporal"][["side", "start_s", "end_s"]].astype({"side": str}).to_numpy().tolist()
        )
        curves = pair_curves(_told_apart(names), (first, other), cycles)
        if curves is not None:
            sections.append(_section("curves", "Curves over the gait cycle", CURVES_TEMPLATE, **curves))
    else:
        sections.append(summary)
    sections.append(_section("causes", "Causes", _FIGURE, drawn=svg(figure), folded=len(sections) > 1))
    sections.append(_section("differences", "All differences", _DIFFERENCES, rows=rows, folded=True))
    frame = Frame(
        title="Comparison",
        heading="Comparison",
        line="",
        facts=[Fact("First", names[0]), Fact("Second", names[1])],
        program=program,
        foot="This page needs no network.",
    )
    return framed(frame, sections)


def _told_apart(names: tuple[str, str]) -> tuple[str, str]:
    """Two names that differ."""
    return names if names[0] != names[1] else (f"{names[0]} (first)", f"{names[1]} (second)")


def _section(name: str, title: str, template: str, folded: bool = False, **data: object) -> Section:
    body = Markup(page_environment().from_string(template).render(data))
    return Section(
        name, title, body, link=title.partition(",")[0], css="scene" if name == "scene" else "", folded=folded
    )
