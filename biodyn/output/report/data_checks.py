"""The checks of the input data as the report lists them: each one, also where it found nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biodyn.checks.registry import checks

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
