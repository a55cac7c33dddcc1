"""Results of version 0.1.0 said good, look, bad and unknown; today's words are pass, warn, fail and not assessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biodyn.checks.titles import finding_title
from biodyn.diagnostics import Status

#: Status of a check, `run.json` of record version 1.
OLD_CHECK_STATUS: dict[str, Status] = {"good": "pass", "look": "warn", "bad": "fail", "unknown": "not_assessed"}
#: Status of a trial, `run.json` of record version 1, and `trial.json` and `summary.csv` of its studies.
OLD_TRIAL_STATUS: dict[str, Status] = {"fine": "pass", "look": "warn", "checks failed": "fail"}


def in_todays_words(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a `run.json` with its verdict and every status in today's words; one of today is returned as it is."""
    if "verdict" in record:
        return record
    verdict = OLD_TRIAL_STATUS[record["status"]]
    lists = {name: [_translated(entry) for entry in record.get(name, ())] for name in ("checks", "data_checks")}
    return {**record, **lists, "verdict": verdict, "verdict_checks": _causes(lists["checks"], record["diagnostics"])}


def _translated(entry: Mapping[str, Any]) -> dict[str, Any]:
    status = entry["status"]
    return {**entry, "status": OLD_CHECK_STATUS.get(status, status)}


def _causes(checks: list[dict[str, Any]], diagnostics: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What decided the verdict of an old result: its checks beyond their limits and its warnings and errors."""
    causes = [
        {name: check[name] for name in ("code", "title", "status", "text", "hint")}
        for check in checks
        if check["status"] in ("warn", "fail")
    ]
    causes += [
        {
            "code": note["code"],
            "title": finding_title(str(note["code"])),
            "status": "fail" if note["severity"] == "error" else "warn",
            "text": note["message"],
            "hint": note["hint"],
        }
        for note in diagnostics
        if note["severity"] != "info"
    ]
    return sorted(causes, key=lambda cause: cause["status"] != "fail")
