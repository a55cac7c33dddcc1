"""The report of a finished study or session once more, from what its folder keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from biodyn.output.report.paper import asked_paper
from biodyn.study.report import write_study_report
from biodyn.study.running.lock import only_run, owner_of


def remake_study_report(
    folder: str | Path,
    progress: Callable[[str], None] | None = None,
    *,
    pdf: bool = False,
    head: str | Path | None = None,
) -> Path:
    """Write the pages of a study's or session's folder again; returns the path of report.html.

    `pdf`: write report.pdf too, `head` a TOML file with the laboratory's lines. The pages of its trials stay as they are.
    Raises ResultError where the folder holds no finished study, StudyError while a run works in it.
    """
    out, paper = Path(folder), asked_paper(pdf, head)
    if progress is not None:
        progress("writing the report")
    with only_run(out, owner_of(out) or ""):
        return write_study_report(out, paper)
