"""Sections on reliability: verdict, checks of the trial and of the data, warnings and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from biodyn.checks.registry import checks_of_kind
from biodyn.diagnostics import STATUS_WORDS
from biodyn.output.report.page import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_VERDICTS = {
    "pass": "Every check passed.",
    "warn": "Usable; review recommended.",
    "fail": "Do not use these numbers before the cause is corrected.",
    "not_assessed": "Agreement of motion and forces could not be assessed.",
}


@SECTIONS.section("quality", place=10, title="Can these numbers be trusted?", link="Verdict", css="slim")
def verdict_section(page: TrialPage) -> Data:
    """Return the verdict as a sentence, its first three causes, and the number of further causes."""
    causes = page.record.get("verdict_checks") or []
    return {"sentence": verdict_sentence(page.record), "causes": causes[:3], "more": max(len(causes) - 3, 0)}


def verdict_sentence(record: Mapping[str, Any]) -> str:
    """Return the meaning of the verdict; for a pass, with the names of the checks that were not assessed."""
    skipped = [str(check["title"]) for check in record["checks"] if check["status"] == "not_assessed"]
    if record["verdict"] == "pass" and skipped:
        return f"Every check that could be made passed; not assessed: {', '.join(skipped)}."
    return _VERDICTS[record["verdict"]]


@SECTIONS.section("checks", place=35, title="All checks, warnings and notes", link="Checks", css="printed", folded=True)
def checks_section(page: TrialPage) -> Data:
    """Return the number of checks of each status and of findings of each severity."""
    severities = {"error": ("error", "errors"), "warning": ("warning", "warnings"), "info": ("note", "notes")}
    return {
        "counted": _count_text(
            [str(check["status"]) for check in page.record["checks"]],
            {status: (word, word) for status, word in STATUS_WORDS.items()},
        ),
        "noted": _count_text([str(note["severity"]) for note in page.record["diagnostics"]], severities),
        "frames_words": frame_range_text,
        "rate_hz": float(page.record["input"]["rate_hz"]),
    }


def _count_text(kinds: Sequence[str], words: Mapping[str, tuple[str, str]]) -> str:
    """Return counts per kind, with singular and plural words: "10 pass, 1 warn"."""
    counts = {kind: kinds.count(kind) for kind in words}
    return ", ".join(f"{count} {words[kind][count > 1]}" for kind, count in counts.items() if count)


@SECTIONS.section("data", place=80, title="Checks of the data", folded=True)
def data_checks_section(page: TrialPage) -> Data | None:
    """Return a row per check; None for results of versions without data checks."""
    rows = data_check_rows(page.record)
    return {"rows": rows} if rows else None


def data_check_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return title, comparison, value and limit in units, causes, and findings with frames and times of each check."""
    entries = {entry["key"]: entry for entry in record.get("data_checks", ())}
    rate_hz = float(record["input"]["rate_hz"])
    rows = []
    for check in checks_of_kind("recording"):
        entry = entries.get(check.code)
        if entry is None:
            continue
        factor, unit = check.display_unit or (1.0, "")
        findings = [note for note in record["diagnostics"] if note["code"] in entry["found"]]
        rows.append(
            {
                "title": check.title,
                "compares": check.compares,
                "causes": check.causes,
                "status": entry["status"],
                "text": entry.get("text", ""),
                "why_not": _reason_not_assessed(check.code, record),
                "value": _value_with_unit(entry["value"], factor, unit, entry["limit"]),
                "limit": _value_with_unit(entry["limit"], factor, unit),
                "findings": [
                    {"message": d["message"], "hint": d["hint"], "frames": frame_range_text(d["frames"], rate_hz)}
                    for d in findings
                ],
            }
        )
    return rows


def _reason_not_assessed(code: str, record: Mapping[str, Any]) -> str:
    """Return the missing input of a check: markers, or force plates."""
    if code in {"sides", "labels", "moved_marker", "marker_error", "gap", "spike", "joint_limit"}:
        markers = record["marker_set"]["fitted"]
        return "the static trial or its markers are missing" if markers else "the recording has no markers"
    if record["plates"]:
        return "no single-limb contact was long enough"
    return "the recording has no force plates"


def frame_range_text(frames: list[int] | None, rate_hz: float) -> str:
    """Return the frames of a finding with their times, "" for a finding without frames."""
    if not frames:
        return ""
    first, last = frames
    if first == last:
        return f"frame {first}, {first / rate_hz:.2f} s"
    return f"frames {first}–{last}, {first / rate_hz:.2f} to {last / rate_hz:.2f} s"


def _value_with_unit(value: float | None, factor: float, unit: str, limit: float | None = None) -> str:
    """Return a value with its unit; round-off below a millionth of the limit is 0."""
    if value is None:
        return ""
    if limit is not None and abs(value) < 1e-6 * abs(limit):
        value = 0.0
    text = f"{factor * value:.3g}"
    return f"{'0' if text == '-0' else text} {unit}".strip()
