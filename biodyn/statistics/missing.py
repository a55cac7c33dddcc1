"""What was left out because a value is missing, said once for all analyses."""

from __future__ import annotations

from biodyn.diagnostics import Diagnostic


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
