"""report.html of a session: one person's walks of one day on one page.

The sections are those of a subject's page and, of a study's, those that say something of one person: nothing is written twice.
"""

from __future__ import annotations

from biodyn.diagnostics import STATUS_WORDS
from biodyn.output.report.page import Fact, Frame, framed, resource
from biodyn.output.report.trial_page import header_facts
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
        line=session_outcome(person),
        outcome=True,
        facts=session_facts(page, person),
        program=record["program"],
        foot="This page needs no network; links lead to the results of the walks beside it.",
        style=resource("study.css", PACKAGE),
        script=resource("sorting.js", PACKAGE),
    )
    return framed(frame, [*OF_SUBJECT.of(person), *OF_STUDY.of(page, _OF_STUDY)])


def session_facts(page: StudyPage, person: SubjectPage) -> list[Fact]:
    """What the user tells of the recordings (settings [header], as the first walk has them), the person, the walks."""
    done = [trial for trial in person.trials if trial.done]
    header = header_facts(page.source.run_record(done[0])) if done else []
    return [*header, *(Fact(label, value) for label, value in facts(person.trials))]


def session_outcome(person: SubjectPage) -> str:
    """How the walks ended, in a line."""
    counts = {word: sum(trial.status == status for trial in person.trials) for status, word in STATUS_WORDS.items()}
    words = [f"{count} {word}" for word, count in counts.items() if count]
    failed = sum(not trial.done for trial in person.trials)
    words += [f"{failed} without result"] if failed else []
    count = len(person.trials)
    return f"{count} walk{'' if count == 1 else 's'}: {', '.join(words)}."
