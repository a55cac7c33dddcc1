"""All cycles of a subject, by session and condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.conventions import SIDES
from biodyn.output.figures.curves import nan_statistics
from biodyn.output.figures.description import Key
from biodyn.output.figures.svg import Described, further_grid, standard_grid, standard_names
from biodyn.output.report.compare_page import MeanCurve, cursor_data
from biodyn.output.report.page import Data, resource, script_json
from biodyn.study.group.subject_cycles import STANCE, SubjectCycles
from biodyn.study.report.curve_figures import Norm, SideCycles, display_figures, subject_keys, subject_panel
from biodyn.study.report.source import rows_of
from biodyn.study.report.subject_page import SECTIONS, SubjectPage
from biodyn.study.report.words import side_words
from biodyn.variables import variable

_TEMPLATE = """
{% if parts %}
{% if outliers %}<p class="small">Outliers: {{ outliers | join("; ") }}.</p>{% endif %}
{% if store %}<div class="standard-page" tabindex="0" role="group" aria-label="Curves over the gait cycle; left and right arrow move the cursor">{% endif %}

{% for part in parts %}
{% if parts | length > 1 %}<details{{ " open" if loop.first }}><summary><b>{{ part.title }}</b>, {{ part.counts }}</summary>{% else %}<p class="small quiet">{{ part.counts }}</p>{% endif %}
{{ part.grids }}
{% if parts | length > 1 %}</details>{% endif %}
{% endfor %}
{% if store %}
<p class="reading small" aria-live="polite"></p></div>
<script type="application/json" id="explorer-data">{{ store }}</script>
<script>{{ script }}</script>
{% endif %}
{% else %}
<p>No trial of this subject has a gait cycle.</p>
{% endif %}
"""


@dataclass(frozen=True)
class Part:
    """Curves of one session and condition: cycles by side."""

    title: str
    cycles: Mapping[str, SideCycles]
    data: SubjectCycles
    norms: Sequence[Norm]

    @property
    def counts(self) -> str:
        """How many cycles there are."""
        return ", ".join(f"{len(own.values)} {side_words(side)}" for side, own in self.cycles.items()) + " cycles"

    @property
    def standard(self) -> list[str]:
        """Variables of the standard page that there are."""
        return [name for name in standard_names() if name in self._places]

    @property
    def keys(self) -> list[Key]:
        """The legend of the standard page."""
        return subject_keys(self.cycles, self.norms, self.standard)

    def describe(self, name: str) -> Described:
        """The panel of a variable, and its extremes in words."""
        return subject_panel(name, self.cycles, self._places[name], self.data.units[name], self.norms)

    @property
    def grids(self) -> Markup:
        """The standard page, and below it the variables that the trial report shows besides."""
        panels = dict.fromkeys(name for one in display_figures() for name in one["panels"])
        further = [name for name in panels if name in self._places and name not in self.standard]
        return standard_grid(self.standard, self.describe, self.keys) + further_grid(further, self.describe)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {str(name): place for place, name in enumerate(self.data.variables)}


@SECTIONS.section("curves", place=20, title="Curves over the gait cycle", link="Curves", template=_TEMPLATE)
def curves(page: SubjectPage) -> Data:
    """A part a session and condition; says so where there is none."""
    found = [] if page.data is None else parts(page.data, page.tables.cycles, page.norms)
    if not found:
        return {"title": "No curves", "link": "", "parts": []}
    outliers = odd_cycles(page.tables.cycles) if len(page.tables.cycles) else []
    if page.scene is None or page.data is None:
        return {"parts": found, "outliers": outliers, "store": ""}
    # one cursor for the curves and the 3-D view
    means = _means(page.data)
    shown = [name for name in dict.fromkeys((*standard_names(), *means)) if name in means]
    store = cursor_data([""], shown, [means], page.scene["scene"]["persons"][0]["cycles"])
    return {"parts": found, "outliers": outliers, "store": script_json(store), "script": resource("cursor.js")}


def _means(data: SubjectCycles) -> dict[str, dict[str, MeanCurve]]:
    """Mean over all cycles by variable and side, in the clinical sign."""
    sides = data.cycles["side"].astype(str).to_numpy()
    return {
        str(name): {
            side: MeanCurve(
                *nan_statistics(variable(str(name)).clinical(side) * data.values[sides == side, place]),
                data.units[str(name)],
            )
            for side in SIDES
            if (sides == side).any()
        }
        for place, name in enumerate(data.variables)
    }


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
        found.append(Part(title, cycles, data, norms))
    return found


def odd_cycles(flags: pd.DataFrame) -> list[str]:
    """Outliers in words."""
    return [
        f"trial {row.trial}, cycle {row.cycle:.0f} {side_words(row.side)}: {row.distance:.3f} from the median cycle "
        f"(limit {row.limit:.3f})"
        for row in rows_of(flags[flags["outlier"]])
    ]
