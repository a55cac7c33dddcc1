"""What the command line, or whoever calls from Python, chooses over a study.toml: a preset, single settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from biodyn.settings import joined, settings_from, stated
from biodyn.study.collecting.options import Reports
from biodyn.study.discovery import StudyDefinition
from biodyn.study.plan import StudyPlan


def with_choices(
    definition: StudyDefinition, preset: str | None, entries: Sequence[str] = (), reports: Reports | None = None
) -> StudyDefinition:
    """Return a definition with a preset under its settings, "section.key=value" over them, and other reports of trials.

    Raises SettingsError for a choice that is not valid, now and not in each trial.
    """
    if reports is not None:
        output = definition.output.model_copy(update={"reports": reports})
        definition = definition.model_copy(update={"output": output})
    if preset is None and not entries:
        return definition
    named = {} if preset is None else {"preset": preset}
    settings_from(named, entries=entries)
    return definition.model_copy(update={"settings": joined(definition.settings, named, *stated(entries))})


def with_entries(plan: StudyPlan, entries: Sequence[str]) -> StudyPlan:
    """Return a plan whose trials have the entries over what study.toml says of single subjects and files."""
    if not entries:
        return plan
    over = stated(entries)
    trials = tuple(replace(trial, settings=joined(trial.settings, *over)) for trial in plan.trials)
    return replace(plan, trials=trials)
