"""What a study can have, known before any trial runs: a wrong entry of [analysis] is told then, not hours later."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from biodyn.errors import SettingsError
from biodyn.model.from_library.skeleton import load_skeleton
from biodyn.output.tables.gait import stride_columns
from biodyn.processing.gait.variables import variables_of
from biodyn.settings import settings_from
from biodyn.study.group.definitions import all_definitions
from biodyn.study.group.options import AnalysisOptions
from biodyn.study.plan import StudyPlan
from biodyn.variables import load_norm_set, unknown_norms
from biodyn.variables.norms import AUTO, NONE

_LISTED = 12


@dataclass(frozen=True)
class Possible:
    """Names that the results of a study may hold.

    Attributes:
        variables: of the gait cycles. strides: parameters of the stride. conditions, groups: of the planned trials.
    """

    variables: tuple[str, ...] = ()
    strides: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Named:
    """Names that an entry of study.toml gives: what they are, and those there may be."""

    entry: str
    what: str
    names: tuple[str, ...]
    known: tuple[str, ...]


def possible_names(plan: StudyPlan) -> Possible:
    """Return what the trials of a plan may hold, from their skeletons and labels. Raises ModelError for a bad skeleton."""
    skeletons = dict.fromkeys(settings_from(dict(trial.settings)).model.skeleton for trial in plan.trials)
    variables: dict[str, None] = {}
    for name in skeletons:
        variables |= dict.fromkeys(variables_of(load_skeleton("full_body" if name == "auto" else name)))
    return Possible(
        tuple(variables),
        stride_columns(),
        tuple(dict.fromkeys(trial.condition for trial in plan.trials)),
        tuple(dict.fromkeys(trial.group for trial in plan.trials)),
    )


def require_possible(plan: StudyPlan, options: AnalysisOptions) -> None:
    """Raise SettingsError for the first name in [analysis] that no result of the plan can have, with the nearest one."""
    if not plan.trials:
        return
    possible = possible_names(plan)
    for named in names_of(options, possible):
        for name in named.names:
            if name not in named.known:
                raise SettingsError(
                    f"Entry '{named.entry}' of study.toml is not valid: there is no {named.what} '{name}' in this study.",
                    _nearest(name, named.known),
                )
    problem = unknown_norms(options.norms)
    if problem:
        raise SettingsError(f"Entry 'analysis.norms' of study.toml is not valid: {problem}")
    if options.norms not in (AUTO, NONE):
        load_norm_set(options.norms)


def names_of(options: AnalysisOptions, possible: Possible) -> Iterator[Named]:
    """Yield every name that the options give."""
    for definition in options.parameters:
        stride = definition.operation == "stride"
        what, known = ("parameter of the stride", possible.strides) if stride else ("variable", possible.variables)
        yield Named(f"analysis.parameters.{definition.name}.variable", what, (definition.variable,), known)
    parameters = tuple(definition.name for definition in all_definitions(options.parameters))
    yield Named("analysis.curves", "variable", options.curves or (), possible.variables)
    yield Named("analysis.representative", "variable", options.representative or (), possible.variables)
    yield Named("analysis.compared", "parameter", options.compared or (), parameters)
    yield Named("analysis.predictor", "parameter", (options.predictor,) if options.predictor else (), parameters)
    yield Named("analysis.conditions", "condition", options.conditions or (), possible.conditions)
    yield Named("analysis.groups", "group", options.groups or (), possible.groups)
    reference = (options.reference_group,) if options.reference_group is not None else ()
    yield Named("analysis.reference_group", "group", reference, possible.groups)


def _nearest(name: str, known: Iterable[str]) -> str:
    texts = [text for text in known if text]
    near = difflib.get_close_matches(name, texts, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    listed = ", ".join(texts[:_LISTED]) + (", ..." if len(texts) > _LISTED else "")
    return f"{hint}There are {listed or 'none'}."
