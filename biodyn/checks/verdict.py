"""The verdict of a trial, computed from its checks and findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from biodyn.analysis import TrialAnalysis
from biodyn.checks.consistency import with_consistency
from biodyn.checks.registry import registered
from biodyn.checks.titles import finding_title
from biodyn.diagnostics import STATUS_WORDS, Cause, Check, Diagnostic, Verdict, gravest


def quality_checks(analysis: TrialAnalysis) -> tuple[Check, ...]:
    """Run all checks of a trial, those that matter most first."""
    return tuple(check.of(analysis) for check in registered())


def judge(analysis: TrialAnalysis) -> TrialAnalysis:
    """Return the analysis with its verdict, and with the numerical consistency of its torques where that was not known."""
    analysis = with_consistency(analysis)
    return replace(analysis, verdict=verdict_of(quality_checks(analysis), analysis.diagnostics))


def verdict_of(checks: Sequence[Check], findings: Sequence[Diagnostic]) -> Verdict:
    """Return the verdict: the gravest status of all checks and findings decides.

    A finding of severity `info` decides nothing, and neither does a check that was not assessed, unless it is essential:
    then nothing says that the numbers are right, and the trial is not assessed.
    """
    decisive = [check for check in checks if check.status in ("warn", "fail") or _missed(check)]
    told = {code for check in decisive for code in check.covers}
    causes = [  # findings name what went wrong, checks what follows from it
        Cause(note.code, finding_title(note.code), note.status, note.message, note.hint)
        for note in findings
        if note.severity != "info" and note.code not in told
    ]
    causes += [Cause(check.code, check.title, check.status, check.text, check.hint) for check in decisive]
    order = list(STATUS_WORDS)
    causes.sort(key=lambda cause: order.index(cause.status))
    return Verdict(gravest(cause.status for cause in causes), tuple(checks), tuple(causes))


def _missed(check: Check) -> bool:
    return check.status == "not_assessed" and check.essential
