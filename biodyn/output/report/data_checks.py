"""The checks of the input data as the record keeps them and the report lists them: each one, also where it found nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from biodyn.analysis import TrialAnalysis
from biodyn.checks.data import data_measures
from biodyn.diagnostics import Status, gravest
from biodyn.library.load import load_table


def data_check_records(analysis: TrialAnalysis) -> list[dict[str, Any]]:
    """Return what `run.json` keeps under "data_checks": by check what was measured (SI), its limit, and the findings' codes."""
    measures = data_measures(analysis)
    records = []
    for check in load_table("checks/data_checks")["check"]:
        found = [note for note in analysis.diagnostics if note.code in check["codes"]]
        measure = measures.get(check["key"])
        known = "shown" not in check or (measure is not None and math.isfinite(measure.value))
        status: Status = gravest(note.status for note in found) if found or known else "not_assessed"
        records.append(
            {
                "key": check["key"],
                "status": status,
                "value": None if measure is None else measure.value,
                "limit": None if measure is None else measure.limit,
                "found": list(dict.fromkeys(note.code for note in found)),
            }
        )
    return records


def data_check_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows for the page: title, comparison, value and limit in units, causes, and the findings with frames and times."""
    known = {entry["key"]: entry for entry in record.get("data_checks", ())}
    rate_hz = float(record["input"]["rate_hz"])
    rows = []
    for check in load_table("checks/data_checks")["check"]:
        entry = known.get(check["key"])
        if entry is None:
            continue
        factor, unit = check.get("shown", (1.0, ""))
        rows.append(
            {
                "title": check["title"],
                "compares": check["compares"],
                "causes": check["causes"],
                "status": entry["status"],
                "value": _shown(entry["value"], factor, unit),
                "limit": _shown(entry["limit"], factor, unit),
                "findings": [
                    {"message": d["message"], "hint": d["hint"], "frames": frames_words(d["frames"], rate_hz)}
                    for d in record["diagnostics"]
                    if d["code"] in entry["found"]
                ],
            }
        )
    return rows


def frames_words(frames: list[int] | None, rate_hz: float) -> str:
    """Frames of a finding with their times, "" where it concerns none in particular."""
    if not frames:
        return ""
    first, last = frames
    if first == last:
        return f"frame {first}, {first / rate_hz:.2f} s"
    return f"frames {first}–{last}, {first / rate_hz:.2f} to {last / rate_hz:.2f} s"


def _shown(value: float | None, factor: float, unit: str) -> str:
    if value is None:
        return ""
    text = f"{factor * value:.3g}"
    return f"{'0' if text == '-0' else text} {unit}".strip()
