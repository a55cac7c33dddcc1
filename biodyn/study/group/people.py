"""Which norms fit the people of a study: one choice for all of them, by ages and mean walking speed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from biodyn.errors import ResultError
from biodyn.output.store.read import read_record
from biodyn.study.group.options import AnalysisOptions
from biodyn.study.plan import PlannedTrial
from biodyn.variables import NormChoice, Walker, choose_norms
from biodyn.variables.norm_choice import ENTRY, walker_of
from biodyn.variables.norms import AUTO


def walkers_of(trials: Iterable[PlannedTrial], out: Path) -> tuple[Walker, ...]:
    """Return every person of a study, from the records of the trials that have a result; the speed is the mean of theirs."""
    found: dict[str, list[Walker]] = {}
    for trial in trials:
        try:
            record = read_record(out / trial.folder)
        except ResultError:  # without a result, or a damaged one that collecting listed as failed
            continue
        if ENTRY not in record:  # of an older version
            continue
        speed = record[ENTRY]["speed"]["m_s"]
        found.setdefault(trial.subject, []).append(walker_of(record, np.nan if speed is None else speed))
    return tuple(mean_of_person(walkers) for walkers in found.values())


def mean_of_person(walkers: Sequence[Walker]) -> Walker:
    """The person on average; what is not known of one of them does not count, and walking counts where it is there."""
    walking = [one for one in walkers if one.activity == "walking"] or walkers
    ages = [one.age_years for one in walking if one.age_years is not None]
    legs = [one.leg_length_m for one in walking if one.leg_length_m]
    speeds = [one.speed_m_s for one in walking if np.isfinite(one.speed_m_s)]
    return Walker(
        float(np.mean(ages)) if len(ages) == len(walking) else None,
        float(np.mean([one.height_m for one in walking])),
        float(np.mean(legs)) if legs else None,
        float(np.mean(speeds)) if speeds else float("nan"),
        walking[0].activity,
    )


def norms_setting(options: AnalysisOptions, trials: Sequence[PlannedTrial]) -> str:
    """Return the norms of [analysis]; where these are chosen, those that all trials' settings name ([report] norms)."""
    if options.norms != AUTO:
        return options.norms
    named = {str(trial.settings.get("report", {}).get("norms", AUTO)) for trial in trials}
    return named.pop() if len(named) == 1 else AUTO


def mean_walker(walkers: Sequence[Walker]) -> Walker | None:
    """The people on average, None where nobody is known."""
    return mean_of_person(walkers) if walkers else None


def norms_of_people(setting: str, walkers: Sequence[Walker]) -> NormChoice:
    """Return the norms beside the curves of a study; none where children and adults stand in it together."""
    person = mean_walker(walkers)
    if person is None:
        return NormChoice((), ("No norms are shown: no trial tells who walks, and how fast.",))
    stages = {one.stage for one in walkers if one.activity == "walking"}
    if setting == AUTO and len(stages) > 1:
        return NormChoice((), ("No norms are shown: the study has adults and children, or people of unknown age.",))
    return choose_norms(setting, person)
