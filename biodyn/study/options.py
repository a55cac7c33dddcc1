"""Options of a study: sections [analysis] and [output] of study.toml with defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from biodyn.errors import SettingsError
from biodyn.library.study_parameters import ParameterDefinition
from biodyn.library.toml_files import load_table, suggest_name
from biodyn.variables.cycle_parameters import default_definitions


@cache
def load_study_table(name: str) -> dict[str, Any]:
    """Return a table in the folder `study` of the library by name."""
    return load_table(f"study/{name}")


def all_parameter_definitions(own: Sequence[ParameterDefinition] = ()) -> tuple[ParameterDefinition, ...]:
    """Return the default parameters, then the study's (`own`); a parameter with the name of a default replaces it."""
    merged = {definition.name: definition for definition in (*default_definitions(), *own)}
    return tuple(merged.values())


def require_known_names(names: Iterable[str], known: Iterable[str], what: str) -> None:
    """Raise SettingsError for the first unknown name, with the most similar known one."""
    known = tuple(known)
    for name in names:
        if name not in known:
            raise SettingsError(f"This study has no {what} '{name}'.", suggest_name(name, known))


# -- Options --------------------------------------------------------------------------------------------------------


#: Smallest number of subjects (of a group) that are compared.
LEAST_SUBJECTS = 3

Test = Literal["paired", "independent", "anova", "regression", "mixed"]


class AnalysisOptions(BaseModel):
    """Options of the group analysis; by default, all comparisons that the data allow are made."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    parameters: tuple[ParameterDefinition, ...] = Field(
        default=(), description="additional discrete parameters; one with the name of a default replaces it"
    )
    curves: tuple[str, ...] | None = Field(
        default=None, description="variables compared as curves; omitted = the default ones"
    )
    compared: tuple[str, ...] | None = Field(
        default=None, description="parameters compared; omitted = the default ones"
    )
    conditions: tuple[str, ...] | None = Field(
        default=None, description="conditions compared, in this order; omitted = all, in the order of the data"
    )
    groups: tuple[str, ...] | None = Field(default=None, description="groups compared, in this order; omitted = all")
    tests: Literal["auto"] | tuple[Test, ...] = Field(
        default="auto", description="auto: all tests that the data allow; a list: only these; []: none"
    )
    predictor: str | None = Field(
        default=None, description="parameter whose subject means are the predictor of curve regressions, e.g. speed"
    )
    side: Literal["mean", "r", "l", "each"] = Field(
        default="mean",
        description="observation per subject: mean of both sides, one side, or each side tested separately",
    )
    alpha: float = Field(default=0.05, gt=0, le=0.5, description="error rate of every family of tests")
    inference: Literal["random_field", "permutation"] = Field(
        default="random_field", description="method for the thresholds of curve tests"
    )
    reference_group: str | None = Field(
        default=None, description="group with the reference curves of the gait scores; omitted = published norms"
    )
    norms: str = Field(
        default="auto",
        description="norms next to the group curves: auto (from the trials' settings, else published norms for the ages and "
        'speed), "none", a name of the library, or a TOML file',
    )
    outliers: Literal["keep", "leave_out"] = Field(
        default="keep", description="outlier cycles: flagged and included in the means, or excluded"
    )
    include_failed: bool = Field(
        default=False, description="include trials that failed their checks in curves, numbers and tests"
    )

    @model_validator(mode="after")
    def _require_predictor(self) -> AnalysisOptions:
        if self.tests != "auto" and "regression" in self.tests and self.predictor is None:
            raise ValueError('tests contain "regression", but no predictor is given')
        return self

    @property
    def curve_variables(self) -> tuple[str, ...]:
        """Return the variables compared as curves."""
        return self.curves if self.curves is not None else tuple(load_study_table("analysis")["curves"])

    @property
    def compared_parameters(self) -> tuple[str, ...]:
        """Return the names of the compared parameters: those in [analysis], else all default parameters and the study's own."""
        if self.compared is not None:
            return self.compared
        additional = (definition.name for definition in self.parameters)
        return tuple(dict.fromkeys((*load_study_table("analysis")["compared"], *additional)))


def recorded_options(values: Mapping[str, Any]) -> AnalysisOptions:
    """Return the options in a group.json; removed entries of version 0.2 are ignored."""
    return AnalysisOptions.model_validate(
        {name: values[name] for name in AnalysisOptions.model_fields if name in values}
    )


#: Trials of a study that get a separate report.
Reports = Literal["all", "warn", "none"]


class OutputOptions(BaseModel):
    """Section [output] of study.toml: reports of single trials."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    reports: Reports = Field(
        default="none",
        description='trials that get a report.html: "all", "warn" (trials that did not pass all checks), or "none"',
    )
