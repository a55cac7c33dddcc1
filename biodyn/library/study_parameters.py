"""Schema of the discrete parameters of a study: `library/study/parameters.toml`, and of the user in study.toml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Operation = Literal[
    "max",
    "min",
    "range",
    "mean",
    "at_percent",
    "time_of_max",
    "time_of_min",
    "impulse",
    "positive_impulse",
    "negative_impulse",
    "positive_work",
    "negative_work",
    "stride",
]
NamedWindow = Literal["whole", "stance", "swing", "first_half_of_stance", "second_half_of_stance"]
Phase = Literal["cycle", "stance", "swing"]
Percent = Annotated[float, Field(ge=0, le=100)]


class Interval(BaseModel):
    """Part of the gait cycle, of stance or of swing, in percent."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    of: Phase = Field(default="cycle", description="reference of the percentages")
    start: Percent = Field(default=0.0, description="start, %")
    end: Percent = Field(default=100.0, description="end, %")

    @model_validator(mode="after")
    def _require_order(self) -> Interval:
        if not self.start < self.end:
            raise ValueError(f"start {self.start:g} % is not before end {self.end:g} %")
        return self


NAMED_WINDOWS: dict[NamedWindow, Interval] = {
    "whole": Interval(of="cycle", start=0.0, end=100.0),
    "stance": Interval(of="stance", start=0.0, end=100.0),
    "swing": Interval(of="swing", start=0.0, end=100.0),
    "first_half_of_stance": Interval(of="stance", start=0.0, end=50.0),
    "second_half_of_stance": Interval(of="stance", start=50.0, end=100.0),
}


class ParameterDefinition(BaseModel):
    """Definition of a discrete parameter: one number per gait cycle, computed from a curve.

    The unit is the unit of the variable, times s for impulses, or J/kg for the work of a power in W/kg.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str = Field(min_length=1, pattern=r"^[A-Za-z][A-Za-z0-9_]*$", description="short name, column in tables")
    title: str = Field(default="", description="for people")
    variable: str = Field(
        description='variable of the data set, or a column of spatiotemporal.csv for operation "stride"'
    )
    operation: Operation = Field(description="operation on the curve in the window")
    window: NamedWindow | Interval = Field(default="whole", description="part of the cycle")
    at: Percent | None = Field(default=None, description='instant in percent of the window, for "at_percent"')
    sign: Literal[1, -1] = Field(
        default=1, description="-1 = the sign is reversed first, e.g. to make extension positive"
    )
    mirrored: bool = Field(
        default=False, description="also reverse the sign of the left side, so that values are positive to the right"
    )
    unit: str = Field(default="", description="unit; omitted = derived from the unit of the variable")
    source: str = Field(default="", description="citation of the definition")

    @model_validator(mode="after")
    def _require_consistent_operation(self) -> ParameterDefinition:
        if (self.operation == "at_percent") != (self.at is not None):
            raise ValueError('"at" is needed for operation "at_percent", and only for this operation')
        return self

    @property
    def label(self) -> str:
        """Title of the parameter; its name if it has no title."""
        return self.title or self.name.replace("_", " ")

    @property
    def interval(self) -> Interval:
        """Window of the parameter as an interval of the cycle, of stance or of swing."""
        return self.window if isinstance(self.window, Interval) else NAMED_WINDOWS[self.window]
