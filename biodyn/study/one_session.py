"""The session of one person and day: its walks analysed with one subject model, and one page over all of them.

A session is a study of one person that is analysed as single walks are: each walk with figures, report and bands. What
differs is what may be in it, and its page (`report/session_page.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from biodyn.errors import StudyError
from biodyn.output.report.paper import asked_paper
from biodyn.processing.calibration.subject import require_plausible
from biodyn.settings import joined
from biodyn.study.discovery import StudyDefinition, discover, read_definition
from biodyn.study.discovery.listing import DEFINITION_NAME
from biodyn.study.plan import PlannedTrial, StudyPlan, no_walk
from biodyn.study.progress import told
from biodyn.study.result import SESSION, StudyResult
from biodyn.study.running.run import OnOutcome
from biodyn.study.study import Say, Study, with_choices, with_entries

#: Under all other settings: one model for all walks, and every walk as `biodyn run` writes it.
SESSION_SETTINGS: Final[dict[str, Any]] = {
    "model": {"fit": "session"},
    "output": {"figures": True, "report": True, "tables": "csv"},
    "uncertainty": {"compute": True},
}
# Folders between the walks and the one that holds them all: beyond that they are no session's.
_MOST_LEVELS = 3
_LISTED = 6


def open_session(
    source: str | Path | Sequence[str | Path],
    preset: str | None = None,
    entries: Sequence[str] = (),
    static: str | Path | None = None,
    mass_kg: float | None = None,
) -> Study:
    """Return the study of the walks of one person and day.

    Parameters:
        source: a folder that holds one session, or its walks. A study.toml in the folder (in the nearest that holds all the
            walks) is followed.
        preset, entries: as of `Study.open`. With `model.osim` among them all walks run on that model.
        static, mass_kg: of all walks, over what a study.toml says; they scale that model.

    Raises StudyError where there is no walk, where a file is none, where more than one person or session is there, or where a
    model would be scaled by several static trials.
    """
    given = [Path(source)] if isinstance(source, (str, Path)) else [Path(path) for path in source]
    root, walks = _place(given)
    own = read_definition(root / DEFINITION_NAME) if (root / DEFINITION_NAME).is_file() else StudyDefinition()
    under = own.model_copy(update={"settings": joined(SESSION_SETTINGS, own.settings)})
    definition = with_choices(under, preset, entries)
    folder = definition.folder(root / DEFINITION_NAME)
    plan = with_entries(discover(folder, definition), entries)
    trials = plan.trials if walks is None else _chosen(plan, walks)
    if not trials:
        raise no_walk(plan)
    trials = _with_static(trials, static, mass_kg)
    whose = _one_session(trials, root)
    _require_one_model(trials)
    return Study(definition, replace(plan, name=whose, trials=trials), SESSION)


def _listed(names: Sequence[str]) -> str:
    """Names in a message: the first few."""
    shown = ", ".join(name or "(none)" for name in names[:_LISTED])
    return shown + (", ..." if len(names) > _LISTED else "")


def _place(given: Sequence[Path]) -> tuple[Path, list[Path] | None]:
    """The folder of a session, and its walks where they are named."""
    if not given:
        raise StudyError("No walk was given.", "Give a folder, or the walks of one person and day.")
    if len(given) == 1 and given[0].is_dir():
        return given[0], None
    for path in given:
        if path.is_dir():
            raise StudyError(f"'{path}' is a folder among walks.", "Give one folder, or walks.")
        if not path.exists():
            raise StudyError(f"'{path}' does not exist.")
    walks = [path.absolute() for path in given]
    try:
        root = Path(os.path.commonpath([path.parent for path in walks]))
    except ValueError:  # on different drives
        root = Path(walks[0].anchor)
    if any(len(path.parent.relative_to(root).parts) > _MOST_LEVELS for path in walks if path.is_relative_to(root)):
        raise StudyError(
            f"The walks lie more than {_MOST_LEVELS} folders below the one that holds them all, '{root}'.",
            "The walks of a session lie together: copy them into one folder.",
        )
    return root, walks


def _chosen(plan: StudyPlan, walks: Sequence[Path]) -> tuple[PlannedTrial, ...]:
    """The trials of the named files, in the plan's order; StudyError for a file that is none."""
    wanted = {os.path.realpath(path): path for path in walks}
    trials = {os.path.realpath(plan.root / trial.path): trial for trial in plan.trials}
    reasons = {os.path.realpath(plan.root / file.path): file for file in plan.files}
    for place, path in wanted.items():
        if place not in trials:
            file = reasons.get(place)
            why = f"is no walk: {file.role}. {file.reason}" if file is not None else "is no recording that can be read"
            raise StudyError(
                f"'{path.name}' {why}".rstrip(".") + ".", "Leave it out, or say its role in a study.toml beside it."
            )
    return tuple(trial for place, trial in trials.items() if place in wanted)


def _with_static(
    trials: Sequence[PlannedTrial], static: str | Path | None, mass_kg: float | None
) -> tuple[PlannedTrial, ...]:
    """The trials with the static trial and the body mass that the command names."""
    require_plausible(mass_kg, None)
    if static is not None and not Path(static).is_file():
        raise StudyError(f"The static trial '{static}' does not exist.")
    found = tuple(trials)
    if static is not None:
        path = Path(static).absolute()
        found = tuple(replace(trial, static=path, statics=(), named_static=True) for trial in found)
    return found if mass_kg is None else tuple(replace(trial, mass_kg=mass_kg) for trial in found)


def _require_one_model(trials: Sequence[PlannedTrial]) -> None:
    """Raise StudyError where the walks would run on differently scaled models."""
    if len({_imported(trial) for trial in trials}) > 1:
        raise StudyError(
            "The walks of this session would run on several models: model.osim, static trial or mass differ among them.",
            "Give one of each for all: --model, --static, --mass.",
        )


def _imported(trial: PlannedTrial) -> tuple[str, str, float | None] | None:
    """The OpenSim model of a walk and what scales it; None where it runs on biodyn's own."""
    osim = trial.settings.get("model", {}).get("osim")
    if osim is None:
        return None
    return str(osim), str(trial.static) if trial.named_static else "", trial.mass_kg


def _one_session(trials: Sequence[PlannedTrial], root: Path) -> str:
    """Name of the person and session; StudyError where there are several."""
    people = list(dict.fromkeys(trial.subject for trial in trials))
    if len(people) > 1:
        raise StudyError(
            f"'{root}' holds walks of {len(people)} people: {_listed(people)}. A session is of one person and day.",
            "Name the walks of one person, say whose they are in a study.toml, or run 'biodyn study'.",
        )
    sessions = list(dict.fromkeys(trial.session for trial in trials))
    if len(sessions) > 1:
        raise StudyError(
            f"'{root}' holds {len(sessions)} sessions of {people[0]}: {_listed(sessions)}. A session is of one person and day.",
            "Name the walks of one session, or run 'biodyn study'.",
        )
    return ", ".join(filter(None, (people[0], sessions[0])))


def run_session(
    source: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    preset: str | None = None,
    entries: Sequence[str] = (),
    static: str | Path | None = None,
    mass_kg: float | None = None,
    on_outcome: OnOutcome = lambda _: None,
    progress: Say | None = None,
    pdf: bool = False,
    head: str | Path | None = None,
) -> StudyResult:
    """Analyse the walks of one person and day with one subject model, as `biodyn session` does.

    Parameters: `source`, `preset`, `entries`, `static`, `mass_kg`: see `open_session`; `out`: by default
    reports/<person>[, <session>].
    `progress`, `pdf`, `head`: see `run_study`; the others and what is raised: see `Study.run`.
    """
    paper, session = asked_paper(pdf, head), open_session(source, preset, entries, static, mass_kg)
    target = session.default_folder if out is None else out
    ended, say = told(progress, len(session.plan.trials), on_outcome)
    return session.run(target, workers, on_outcome=ended, say=say, paper=paper)
