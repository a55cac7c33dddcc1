"""Titles of findings for people."""

from __future__ import annotations

from biodyn.library.load import load_table


def finding_title(code: str) -> str:
    """Return the title of a finding: from `library/checks/data_checks.toml`, or else the code in words."""
    titles = load_table("checks/data_checks")["finding_titles"]
    return str(titles.get(code, code.replace("-", " ").capitalize()))
