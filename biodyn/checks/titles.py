"""Titles of findings for people."""

from __future__ import annotations

from biodyn.checks.registry import checks
from biodyn.library.load import load_table


def finding_title(code: str) -> str:
    """Return the title of a finding: that of its check, or of a step (`finding_titles.toml`), or the code in words."""
    for definition in checks():
        if code in definition.findings:
            return definition.findings[code]
    titles = load_table("checks/finding_titles")["finding_titles"]
    return str(titles.get(code, code.replace("-", " ").capitalize()))
