"""What a study compares and how: section [analysis] of study.toml, every default here."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from biodyn.study.group.definitions import ParameterDefinition, group_table

Test = Literal["paired", "independent", "anova", "regression", "mixed"]


class AnalysisOptions(BaseModel):
    """Choices of the group analysis; without any, the data decide what can be compared."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    parameters: tuple[ParameterDefinition, ...] = Field(
        default=(), description="own discrete parameters; one named like a default replaces it"
    )
    curves: tuple[str, ...] | None = Field(
        default=None, description="variables compared as curves; omitted = the usual ones"
    )
    compared: tuple[str, ...] | None = Field(default=None, description="parameters compared; omitted = the usual ones")
    conditions: tuple[str, ...] | None = Field(
        default=None, description="conditions compared, in this order; omitted = all, in the order of the data"
    )
    groups: tuple[str, ...] | None = Field(default=None, description="groups compared, in this order; omitted = all")
    tests: Literal["auto"] | tuple[Test, ...] = Field(
        default="auto", description="auto: what the data allow; a list: these only; []: none"
    )
    predictor: str | None = Field(
        default=None, description="parameter whose subject means the curves are regressed on, e.g. speed"
    )
    side: Literal["mean", "r", "l", "each"] = Field(
        default="mean",
        description="observation of a subject: mean of both sides, one side, or each side tested by itself",
    )
    alpha: float = Field(default=0.05, gt=0, le=0.5, description="error rate of every family of tests")
    correction: Literal["holm", "none"] = Field(
        default="holm", description="adjustment of p over the tests of one family"
    )
    inference: Literal["random_field", "permutation"] = Field(
        default="random_field", description="where the thresholds of curve tests come from"
    )
    permutations: int = Field(default=10_000, ge=100, description="random arrangements of a permutation test")
    seed: int = Field(default=0, ge=0, description="of the permutations")
    least_subjects: int = Field(default=3, ge=2, description="fewer subjects (a group) are not compared")
    reference_group: str | None = Field(
        default=None,
        description="group whose mean curves are the reference of the gait scores; omitted = published norms",
    )
    norms: str = Field(
        default="auto",
        description="norms beside the group curves: auto (those of the trials' settings, else published ones that fit ages and "
        'speed), "none", a name of the library, or a TOML file',
    )
    representative: tuple[str, ...] | None = Field(
        default=None, description="variables that decide which cycle is representative; omitted = the usual ones"
    )
    outliers: Literal["keep", "leave_out"] = Field(
        default="keep", description="outlier cycles: flagged and kept in the means, or left out of them"
    )
    include_failed: bool = Field(
        default=False, description="count trials whose checks failed too; else they are in no curve, number or test"
    )
    outlier_fence: float = Field(
        default=1.5,
        gt=0,
        description="a cycle is an outlier beyond the upper quartile of the distances plus so many quartile ranges",
    )
    mixed_model: bool = Field(
        default=True, description="fit value ~ condition * group with the subject as random effect"
    )
    symmetry: bool = Field(default=True, description="compare left and right")
    repeatability: bool = Field(default=True, description="compare cycles and sessions with each other")

    @model_validator(mode="after")
    def _regression_needs_a_predictor(self) -> AnalysisOptions:
        if self.tests != "auto" and "regression" in self.tests and self.predictor is None:
            raise ValueError('tests name "regression", but no predictor is given')
        return self

    @property
    def curve_variables(self) -> tuple[str, ...]:
        """Variables compared as curves."""
        return self.curves if self.curves is not None else tuple(group_table("analysis")["curves"])

    @property
    def compared_parameters(self) -> tuple[str, ...]:
        """Parameters compared: those asked for, else the usual ones and the study's own."""
        if self.compared is not None:
            return self.compared
        own = (definition.name for definition in self.parameters)
        return tuple(dict.fromkeys((*group_table("analysis")["compared"], *own)))

    @property
    def representative_variables(self) -> tuple[str, ...]:
        """Variables by which cycles are judged."""
        usual = tuple(group_table("analysis")["representative"]["variables"])
        return self.representative if self.representative is not None else usual
