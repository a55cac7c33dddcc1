"""What one file is taken for, while a plan is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from biodyn.recording import FileFacts
from biodyn.study.discovery.labels import Labels
from biodyn.study.plan import FileUse


@dataclass(frozen=True)
class Finding:
    """One file: role and reason, subject, labels; then what only a study.toml says, None where it does not.

    Attributes:
        path: relative to the study's root. facts: None where the header cannot be read. subject: unique name.
        site: folders around the person's. laboratory: the one of these that names a place, "" where there is one only.
        static: as written. settings: over the default trial settings.
    """

    path: Path
    facts: FileFacts | None
    role: FileUse
    reason: str
    subject: str
    labels: Labels
    site: tuple[str, ...] = ()
    laboratory: str = ""
    static: str | None = None
    mass_kg: float | None = None
    height_m: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
