"""report.html of a session: one person's walks of one day on one page.

The sections are those of a subject's page and, of a study's, those that say something of one person: nothing is written twice.
"""

from __future__ import annotations

from biodyn.diagnostics import STATUS_WORDS
from biodyn.output.report.page import Fact, Frame, framed, resource
from biodyn.study.report.methods import PACKAGE
from biodyn.study.report.study_page import SECTIONS as OF_STUDY
from biodyn.study.report.study_page import StudyPage
from biodyn.study.report.subject_page import SECTIONS as OF_SUBJECT
from biodyn.study.report.subject_page import SubjectPage, facts

_OF_STUDY = ("warnings", "repeatability", "left-out", "methods", "files")


def session_page(page: StudyPage, person: SubjectPage) -> str:
    """Return the page of a session."""
    record = page.source.record
    frame = Frame(
        title=f"{record['name']} – session report",
        heading=record["name"],
        line=_outcome(person),
        outcome=True,
        facts=[Fact(label, value) for label, value in facts(person.trials)],
        program=record["program"],
        foot="This page needs no network; links lead to the results of the walks beside it.",
        style=resource("study.css", PACKAGE),
        script=resource("sorting.js", PACKAGE),
    )
    return framed(frame, [*OF_SUBJECT.of(person), *OF_STUDY.of(page, _OF_STUDY)])


def _outcome(person: SubjectPage) -> str:
    """How the walks ended, in a line."""
    counts = {word: sum(trial.status == status for trial in person.trials) for status, word in STATUS_WORDS.items()}
    words = [f"{count} {word}" for word, count in counts.items() if count]
    failed = sum(not trial.done for trial in person.trials)
    words += [f"{failed} without result"] if failed else []
    count = len(person.trials)
    return f"{count} walk{'' if count == 1 else 's'}: {', '.join(words)}."
