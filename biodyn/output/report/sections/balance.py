"""What the estimate of given coordinates left over and moved (`trial.balanced_coordinates`)."""

from __future__ import annotations

from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = """
<p>Motion, masses and the mass centre of the {{ trunk }} are those that explain the {{ measured }} and the measured forces best together.</p>
<div class="scroll"><table class="small"><thead><tr><th>joint to ground</th><th class="number">residual before, RMS</th><th class="number">left, RMS</th></tr></thead><tbody>
{% for name, before, after in residual %}<tr><td class="mono">{{ name }}</td><td class="number">{{ "%.2f"|format(before) }}</td><td class="number">{{ "%.2f"|format(after) }}</td></tr>
{% endfor %}</tbody></table></div>
<p class="small quiet">Nm for angles, N for lengths.</p>
<div class="scroll"><table class="small"><thead><tr><th>coordinate</th><th class="number">moved, RMS</th><th class="number">at most</th></tr></thead><tbody>
{% for name, rms, most in moved %}<tr><td class="mono">{{ name }}</td><td class="number">{{ "%.3g"|format(rms) }}</td><td class="number">{{ "%.3g"|format(most) }}</td></tr>
{% endfor %}</tbody></table></div>
<p>Masses changed by {{ masses }}. Mass centre of the {{ trunk }}: {{ shift }} mm along the axes of the body.</p>
"""


@SECTIONS.section("balance", place=75, title="What the balance moved", folded=True, template=_TEMPLATE)
def balance(page: TrialPage) -> Data | None:
    """Residual before and after, how far every coordinate was moved, masses; None where coordinates were taken as given."""
    told = page.record.get("balance")
    if told is None:
        return None
    ((trunk, shift),) = told["centre_shift_m"].items()
    changed = sorted(told["mass_change_share"].items(), key=lambda item: -abs(item[1]))
    return {
        "trunk": trunk,
        "measured": "markers" if told.get("from") == "markers" else "given coordinates",
        "residual": [
            (name, before, page.record["residual_rms"].get(name, float("nan")))
            for name, before in told["residual_rms_before"].items()
        ],
        "moved": sorted(
            ((name, rms, told["moved_max"][name]) for name, rms in told["moved_rms"].items()), key=lambda row: -row[1]
        ),
        "masses": ", ".join(f"{100.0 * share:+.1f} % ({name})" for name, share in changed[:4]),
        "shift": ", ".join(f"{1000.0 * one:+.0f}" for one in shift),
    }
