"""Doubt as a result: findings that travel with the answer to the console, `run.json` and the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class Diagnostic:
    """One finding about a trial.

    Attributes:
        code: stable short name in kebab-case, e.g. ``marker-error``.
        severity: ``info`` (said, nothing wrong), ``warning`` (look at it), ``error`` (a check failed, exit code 1).
        message: one plain sentence with the numbers in it.
        value, limit, unit: the measured number against its limit, in the named unit, where there is one.
        frames: first and last frame concerned (0-based, inclusive), where it concerns some frames only.
        hint: the likely cause and what to do.
    """

    code: str
    severity: Severity
    message: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    frames: tuple[int, int] | None = None
    hint: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready values."""
        record = asdict(self)
        record["frames"] = list(self.frames) if self.frames is not None else None
        return record
