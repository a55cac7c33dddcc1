"""Defaults of all tests (error rate, confidence, permutations), and the finding for values that are left out."""

from __future__ import annotations

from typing import Final

from biodyn.diagnostics import Diagnostic

ALPHA: Final = 0.05
CONFIDENCE: Final = 0.95
PERMUTATIONS: Final = 10_000
SEED: Final = 0


def left_out(count: int, unit: str, which: str = "with a missing value") -> tuple[Diagnostic, ...]:
    """Return the finding that `count` `unit` (e.g. pairs) `which` ... were left out; none where nothing was."""
    if count == 0:
        return ()
    return (
        Diagnostic(
            code="statistics-missing",
            severity="info",
            message=f"{count} {unit} {which} were left out.",
            value=float(count),
            unit=unit,
        ),
    )
