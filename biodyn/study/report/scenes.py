"""3-D views in the pages of studies: of stored walks, chosen by what they tell."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from biodyn.errors import ResultError
from biodyn.output.figures.trial import TrialView
from biodyn.output.report.compare_page import multi_trial_scene, scene_markup
from biodyn.output.report.scene import MOST_BYTES
from biodyn.output.store.read import StoredResult
from biodyn.study.report.source import StudySource, Trial

#: Walks of a session in one view; more cannot be told apart.
MOST_WALKS: Final = 4
#: Views of trials in the page of a study, and the bytes of numbers of each: 100 kB of text.
MOST_SCENES: Final = 3
LIGHT_BYTES: Final = 75_000


def stored_view(source: StudySource, trial: Trial) -> TrialView:
    """Return what a 3-D view needs of a stored result; raises ResultError in one sentence where it is not whole."""
    result = StoredResult(source.out / trial.folder)
    return TrialView(result.record, result.tables, result.arrays)


def typical_walk(source: StudySource) -> Trial | None:
    """The walk of the first representative cycle, else the first with a result; None where there is none."""
    done = {(trial.subject, trial.trial): trial for trial in source.trials if trial.done}
    cycles = source.table("cycles")
    if "representative" in cycles:
        for subject, trial in cycles.loc[cycles["representative"].astype(bool), ["subject", "trial"]].itertuples(
            index=False
        ):
            if (subject, trial) in done:
                return done[subject, trial]
    return next(iter(done.values()), None)


def walks_scene(walks: Sequence[tuple[str, StudySource, Trial]], most_bytes: int = MOST_BYTES) -> dict[str, Any] | None:
    """Return the view of some walks by name, with `most_bytes` of numbers; None where none has a motion.

    Who is not shown is named, with the reason.
    """
    found: dict[str, TrialView] = {}
    left_out = []
    for name, source, trial in walks:
        try:
            found[name] = stored_view(source, trial)
        except ResultError as error:
            left_out.append(f" Not shown: {name}. {_within(source, error)}")
    context = multi_trial_scene(found, most_bytes=most_bytes) if found else None
    return context and {**context, "drawn": context["drawn"] + "".join(left_out)}


def session_scene(source: StudySource, trials: Sequence[Trial]) -> dict[str, Any] | None:
    """Return the view of the first walks of a session that have a result; the others are named."""
    done = [(trial.trial, source, trial) for trial in trials if trial.done]
    scene = walks_scene(done[:MOST_WALKS])
    others = ", ".join(name for name, _, _ in done[MOST_WALKS:])
    if scene is None or not others:
        return scene
    return {**scene, "drawn": f"{scene['drawn']} Not shown, for more than {MOST_WALKS} cannot be told apart: {others}."}


def worst_trials(trials: Sequence[Trial], measures: Sequence[str], most: int) -> list[tuple[Trial, str]]:
    """Return the trials to be looked at first, each with its worst measure.

    Those that failed a check come first, then it counts by how many times a measure exceeds its median over all trials.
    """
    done = [trial for trial in trials if trial.done]
    usual = {
        name: float(np.median(known))
        if (known := [v for t in done if np.isfinite(v := t.number(name)) and v > 0.0])
        else np.nan
        for name in measures
    }

    def excess(trial: Trial) -> tuple[float, str]:
        return max(((_finite(trial.number(name) / usual[name]), name) for name in measures), default=(0.0, ""))

    ranked = sorted(done, key=lambda trial: (trial.status != "fail", -excess(trial)[0]))
    return [(trial, excess(trial)[1]) for trial in ranked[:most] if excess(trial)[0] > 0.0]


def _finite(value: float) -> float:
    return value if np.isfinite(value) else 0.0


def worst_scenes(source: StudySource, measures: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the trials to be looked at first: link, words, and the 3-D view, whose script the page adds once.

    Parameters: `measures` columns of summary.csv with their words. A trial without a motion is named with the reason; none where
    no trial has one.
    """
    found: list[dict[str, Any]] = []
    for trial, name in worst_trials(source.trials, tuple(measures), MOST_SCENES):
        who = f"{trial.subject}, {trial.trial}"
        why, context = "", None
        try:
            context = multi_trial_scene({who: stored_view(source, trial)}, most_bytes=LIGHT_BYTES)
        except ResultError as error:
            why = _within(source, error)
        found.append(
            {
                "who": who,
                "link": trial.report or trial.link,
                "measure": f"{measures[name]} {trial.number(name):.3g}",
                "failed": trial.metrics.get("checks_failed", ""),
                # one script serves all views of the page
                "view": scene_markup({**context, "script": ""}) if context else "",
                "why": why or ("" if context else "No motion is known."),
            }
        )
    return found if any(one["view"] for one in found) else []


def _within(source: StudySource, error: ResultError) -> str:
    """What is wrong, with paths as they are below the study's folder: the same results give the same page anywhere."""
    return str(error).replace(f"{source.out}{os.sep}", "")
