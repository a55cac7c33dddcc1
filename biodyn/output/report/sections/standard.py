"""The standard page: motion, moments and powers of pelvis, hip, knee, ankle, foot and trunk over the cycle, in one grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, WHOLE_CYCLE, Side
from biodyn.output.figures.curves import CycleCurves, cycle_keys, display_table
from biodyn.output.figures.svg import standard_grid, standard_names
from biodyn.output.report.page import resource
from biodyn.output.report.section import Data
from biodyn.output.report.sections.curves import described
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = """
<p class="quiet small">Over the gait cycle, 0 and 100 %: foot strike. Thick: mean, thin: single cycles ({{ counted }}).{% if shaded %} Shaded: one
standard deviation of the input errors.{% endif %} Moments are internal, net, by body mass. Upright lines in the colour of a side:
the moment that the 3-D view shows, or the pointer's place.</p>
<div class="standard-page" tabindex="0" role="group" aria-label="Curves over the gait cycle; left and right arrow move the cursor">
{{ grid }}
{% if not normed %}<p class="small quiet">No norms stand behind these curves; <a href="#norms">Norms</a> says why.</p>{% endif %}
<p class="reading small" aria-live="polite"></p>
</div>
<script>{{ script }}</script>
"""


@SECTIONS.section(
    "standard",
    place=16,
    title="Motion and loads over the gait cycle",
    link="Curves",
    css="new-page standard",
    template=_TEMPLATE,
)
def standard(page: TrialPage) -> Data | None:
    """The grid with its legend; None without cycles."""
    curves = page.curves
    known = [name for name in standard_names() if name in curves]
    if not known:
        return None
    values = page.view.values

    return {
        "grid": standard_grid(known, lambda name: described(page, name), cycle_keys(known, values.norms)),
        "counted": counted_words(curves),
        "normed": any(name in norms.curves for norms in values.norms for name in known),
        "shaded": any(name in values.bands for name in known),
        "script": resource("cursor.js"),
    }


def counted_words(curves: Mapping[str, Mapping[str, CycleCurves]]) -> str:
    """How many cycles motion and loads have on each side: "motion: right 2, left 2; loads: right 1 (2 in part), left 2".

    A cycle counts whose stance and swing are known; without its stance it is there in part. Its end may lack: the next strike is
    the first moment of a stance that need not meet a plate.
    """
    rows = display_table()["standard"]
    found = []
    for part in ("motion", "loads"):
        names = [name for row in rows if row["side"] == part for name in row["panels"] if name in curves]
        if names:
            found.append(f"{part}: {', '.join(_counted(curves, names, side) for side in SIDES)}")
    return "; ".join(found)


def _counted(curves: Mapping[str, Mapping[str, CycleCurves]], names: Iterable[str], side: Side) -> str:
    shares = [np.isfinite(curves[name][side].values).mean(axis=1) for name in names if side in curves[name]]
    whole = _range(int((own >= WHOLE_CYCLE).sum()) for own in shares)
    parts = _range(int((own < WHOLE_CYCLE).sum()) for own in shares)
    return f"{SIDE_NAMES[side]} {whole}" + (f" ({parts} in part)" if parts != "0" else "")


def _range(counts: Iterable[int]) -> str:
    own = sorted(set(counts)) or [0]
    return str(own[0]) if len(own) == 1 else f"{own[0]} to {own[-1]}"
