"""Execution of the checks of a trial, and its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.body import with_consistency
from biodyn.checks.estimators.residual import codes_of_residual_causes
from biodyn.checks.registry import (
    CheckDefinition,
    CheckResult,
    Kind,
    checks_of_kind,
    finding_title,
    run_checks_in_order,
)
from biodyn.checks.trial_facts import TrialFacts
from biodyn.diagnostics import STATUS_WORDS, Check, Diagnostic, Status, Verdict, worst_status


def check_recording(analysis: TrialAnalysis) -> TrialAnalysis:
    """Return the analysis with values and findings of the checks of the recording.

    Causes are checked first; their findings suppress checks that would detect consequences.
    """
    results = run_checks_in_order(TrialFacts(analysis.before_estimate), "recording", "finding")
    diagnostics = _with_new_findings(analysis.diagnostics, results.values())
    return replace(analysis, diagnostics=diagnostics, data_checks=_all_outcomes("recording", results, diagnostics))


def add_verdict(analysis: TrialAnalysis) -> TrialAnalysis:
    """Return the analysis with its verdict, and with the numerical consistency of its torques if it was not yet computed.

    This is the last step, after `check_recording`.
    """
    analysis = with_consistency(analysis)
    results = run_checks_in_order(TrialFacts(analysis.before_estimate), "result")
    diagnostics = _with_new_findings(analysis.diagnostics, results.values())
    outcomes = _all_outcomes("result", results, diagnostics)
    return replace(analysis, diagnostics=diagnostics, verdict=verdict_of(outcomes, diagnostics))


def verdict_of(outcomes: Sequence[Check], findings: Sequence[Diagnostic]) -> Verdict:
    """Return the verdict, which is the most severe status of all checks and findings.

    Findings of severity `info` are ignored. A check that was not assessed is ignored, unless it is essential; in this case the
    trial is not assessed.
    """
    decisive = [check for check in outcomes if check.status in ("warn", "fail") or _is_essential_unassessed(check)]
    covered = {code for check in decisive for code in check.covers}
    causes = [  # findings describe causes, checks their consequences
        Check(note.code, finding_title(note.code), note.status, note.message, hint=note.hint)
        # a fault of the recording, before what an estimate compensated for it
        for note in sorted(findings, key=lambda note: note.code.startswith("estimate-"))
        if note.severity != "info" and note.code not in covered
    ]
    causes += decisive
    order = list(STATUS_WORDS)
    causes.sort(key=lambda cause: order.index(cause.status))
    first = codes_of_residual_causes([cause.code for cause in causes], findings)
    return Verdict(worst_status(cause.status for cause in causes), tuple(outcomes), tuple(causes), first)


def _is_essential_unassessed(check: Check) -> bool:
    return check.status == "not_assessed" and check.essential


def _with_new_findings(diagnostics: tuple[Diagnostic, ...], results: Iterable[CheckResult]) -> tuple[Diagnostic, ...]:
    """Return the findings with the new findings of the checks, without duplicates."""
    new = [note for result in results for note in result.findings if note not in diagnostics]
    return (*diagnostics, *new)


def _all_outcomes(
    kind: Kind, results: Mapping[str, CheckResult], diagnostics: Sequence[Diagnostic]
) -> tuple[Check, ...]:
    return tuple(
        _check_outcome(definition, results[definition.code], diagnostics) for definition in checks_of_kind(kind)
    )


def _check_outcome(definition: CheckDefinition, result: CheckResult, diagnostics: Sequence[Diagnostic]) -> Check:
    own_findings = [note for note in diagnostics if note.code in definition.findings]
    return Check(
        code=definition.code,
        title=result.title or definition.title,
        status=result.status or _check_status(definition, result, own_findings),
        text=result.text,
        value=result.value,
        limit=result.limit,
        unit="" if result.value is None else definition.unit,
        source=definition.source,
        hint=result.hint,
        essential=definition.essential,
        covers=definition.covers,
        found=tuple(dict.fromkeys(note.code for note in own_findings)),
    )


def _check_status(definition: CheckDefinition, result: CheckResult, findings: Sequence[Diagnostic]) -> Status:
    """Return the status from the findings; without findings the check passes, unless its number could not be determined."""
    known = definition.display_unit is None or (result.value is not None and bool(np.isfinite(result.value)))
    return worst_status(note.status for note in findings) if findings or known else "not_assessed"
