"""Whether the numbers can be trusted: the verdict, every check of trial and data, warnings and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from biodyn.checks.registry import checks
from biodyn.diagnostics import STATUS_WORDS
from biodyn.output.report.page import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_VERDICTS = {
    "pass": "Every check passed.",
    "warn": "Usable; review recommended.",
    "fail": "Do not use these numbers before the cause is corrected.",
    "not_assessed": "Agreement of motion and forces could not be assessed.",
}
_MOST = 3  # causes that are seen at once
_TEMPLATE = """
<div class="verdict">{{ state(record.verdict) }}<span>{{ sentence }}</span></div>
{% if causes %}
<ul class="causes">
{% for cause in causes %}
<li>{% if cause.status != record.verdict %}{{ state(cause.status) }} {% endif %}<b>{{ cause.title }}</b>: {{ cause.text }}{% if cause.hint %} <span class="quiet">{{ cause.hint }}</span>{% endif %}</li>
{% endfor %}
</ul>
{% endif %}
<p class="small"><a href="#checks">{{ "All checks" if not more else "All checks, " ~ more ~ " more of these" }}</a></p>
"""


@SECTIONS.section(
    "quality", place=10, title="Can these numbers be trusted?", link="Verdict", css="slim", template=_TEMPLATE
)
def quality(page: TrialPage) -> Data:
    """The sentence of the verdict and the first of its causes."""
    causes = page.record.get("verdict_checks") or []
    return {
        "sentence": verdict_sentence(page.record),
        "causes": causes[:_MOST],
        "more": max(len(causes) - _MOST, 0),
    }


def verdict_sentence(record: Mapping[str, Any]) -> str:
    """What the verdict means; where checks were not assessed, "Every check passed" is not said of them."""
    skipped = [str(check["title"]) for check in record["checks"] if check["status"] == "not_assessed"]
    if record["verdict"] == "pass" and skipped:
        return f"Every check that could be made passed; not assessed: {', '.join(skipped)}."
    return _VERDICTS[record["verdict"]]


_SEVERITIES = {"error": ("error", "errors"), "warning": ("warning", "warnings"), "info": ("note", "notes")}
_TEMPLATE_checks = """
<p class="quiet small">{{ counted }}</p>
<ul class="checks">
{% for check in record.checks %}
<li>{{ state(check.status) }}<div><b>{{ check.title }}</b></div>
<div>{{ check.text }}{% if check.hint %} <span class="hint">{{ check.hint }}</span>{% endif %}
{% if check.source %}<br><span class="word">Limit: {{ check.source }}</span>{% endif %}</div></li>
{% endfor %}
</ul>
{% if record.diagnostics %}
<h3>Warnings and notes</h3>
<p class="quiet small">{{ noted }}</p>
<div class="scroll"><table><tbody>
{% for severity in ("error", "warning", "info") %}{% for d in record.diagnostics if d.severity == severity %}
<tr><td><span class="tag {{ d.severity }}">{{ d.severity }}</span></td>
<td>{{ d.message }}{% if d.hint %} <span class="quiet">{{ d.hint }}</span>{% endif %}
{% if d.frames %} <span class="quiet small">({{ frames_words(d.frames, rate_hz) }})</span>{% endif %}</td></tr>
{% endfor %}{% endfor %}
</tbody></table></div>
{% endif %}
"""


@SECTIONS.section(
    "checks",
    place=35,
    title="All checks, warnings and notes",
    link="Checks",
    css="printed",
    folded=True,
    template=_TEMPLATE_checks,
)
def all_checks(page: TrialPage) -> Data:
    """How many there are of each kind; all else stands in the record."""
    statuses = [str(check["status"]) for check in page.record["checks"]]
    severities = [str(note["severity"]) for note in page.record["diagnostics"]]
    return {
        "counted": _counted(statuses, {status: (word, word) for status, word in STATUS_WORDS.items()}),
        "noted": _counted(severities, _SEVERITIES),
        "frames_words": frames_words,
        "rate_hz": float(page.record["input"]["rate_hz"]),
    }


def _counted(found: Sequence[str], words: Mapping[str, tuple[str, str]]) -> str:
    """How many there are of each kind, in words of one and of several: "10 pass, 1 warn"."""
    counts = {kind: sum(one == kind for one in found) for kind in words}
    return ", ".join(f"{count} {words[kind][count > 1]}" for kind, count in counts.items() if count)


# Checks that ask the markers.
_OF_MARKERS = frozenset({"sides", "labels", "moved_marker", "marker_error", "gap", "spike", "joint_limit"})
_NOTHING = 1e-6  # of its limit: round-off, shown as 0


def data_check_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows for the page: title, comparison, value and limit in units, causes, and the findings with frames and times."""
    known = {entry["key"]: entry for entry in record.get("data_checks", ())}
    rate_hz = float(record["input"]["rate_hz"])
    rows = []
    for check in checks("recording"):
        entry = known.get(check.code)
        if entry is None:
            continue
        factor, unit = check.shown or (1.0, "")
        rows.append(
            {
                "title": check.title,
                "compares": check.compares,
                "causes": check.causes,
                "status": entry["status"],
                "text": entry.get("text", ""),
                "why_not": _why_not(check.code, record),
                "value": _shown(entry["value"], factor, unit, entry["limit"]),
                "limit": _shown(entry["limit"], factor, unit),
                "findings": [
                    {"message": d["message"], "hint": d["hint"], "frames": frames_words(d["frames"], rate_hz)}
                    for d in record["diagnostics"]
                    if d["code"] in entry["found"]
                ],
            }
        )
    return rows


def _why_not(code: str, record: Mapping[str, Any]) -> str:
    """Why a check was not assessed."""
    if code in _OF_MARKERS:
        markers = record["marker_set"]["fitted"]
        return "there is no static trial, or it lacks the markers" if markers else "there are no markers"
    return "no single-limb contact was long enough" if record["plates"] else "there are no force plates"


def frames_words(frames: list[int] | None, rate_hz: float) -> str:
    """Frames of a finding with their times, "" where it concerns none in particular."""
    if not frames:
        return ""
    first, last = frames
    if first == last:
        return f"frame {first}, {first / rate_hz:.2f} s"
    return f"frames {first}–{last}, {first / rate_hz:.2f} to {last / rate_hz:.2f} s"


def _shown(value: float | None, factor: float, unit: str, limit: float | None = None) -> str:
    if value is None:
        return ""
    if limit is not None and abs(value) < _NOTHING * abs(limit):
        return f"0 {unit}".strip()
    text = f"{factor * value:.3g}"
    return f"{'0' if text == '-0' else text} {unit}".strip()


_TEMPLATE_data_checks = """
<p>Markers, plates and subject data are redundant; a contradiction means that one of them is wrong. All checks are listed. No check changes the data.</p>
<div class="scroll"><table class="fixed"><colgroup><col style="width:3%"><col style="width:39%"><col style="width:11%"><col style="width:9%"><col></colgroup><thead><tr><th></th><th>check</th><th class="number">measured</th><th class="number">limit</th><th>finding</th></tr></thead><tbody>
{% for row in rows %}
<tr><td>{{ lamp(row.status) }}</td>
<td><b>{{ row.title }}</b><br><span class="small quiet">{{ row.compares }}</span></td>
<td class="number">{{ row.value or "–" }}</td>
<td class="number">{{ row.limit or "–" }}</td>
<td>{% for finding in row.findings %}<p class="small">{{ finding.message }}{% if finding.frames %} <span class="quiet">({{ finding.frames }})</span>{% endif %}{% if finding.hint %} <span class="hint">{{ finding.hint }}</span>{% endif %}</p>
{% else %}<span class="small quiet">{% if row.status == "not_assessed" %}Not assessed: {{ row.why_not }}.{% elif row.text %}{{ row.text }}{% else %}No finding. Possible causes of one: {{ row.causes }}.{% endif %}</span>{% endfor %}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="small quiet">Limits: settings [limits] and <span class="mono">library/checks/checks.toml</span>, with their sources. A number beyond its limit is a finding only where it is certain enough: a shift must exceed its own error, correcting a fault of channels or axes must remove most of the mismatch, a unit must be wrong by a factor of seven, a time offset must exceed the uncertainty of slow walking. Forces: a factor below 1 counts like its inverse.</p>
"""


@SECTIONS.section("data", place=80, title="Checks of the data", folded=True, template=_TEMPLATE_data_checks)
def data_checks(page: TrialPage) -> Data | None:
    """A row a check; older results have none."""
    rows = data_check_rows(page.record)
    return {"rows": rows} if rows else None
