"""What the schemas share: strict tables, names, and the signs for both sides of the body."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

Text = Annotated[str, Field(min_length=1, max_length=2000)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Names = Annotated[tuple[Name, ...], Field(strict=False)]
OneOrMore = Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]
Numbers = Annotated[tuple[float, ...], Field(strict=False)]
Range = Annotated[tuple[float, ...], Field(strict=False, min_length=2, max_length=2)]
Three = Annotated[tuple[float, ...], Field(strict=False, min_length=3, max_length=3)]
_PLACEHOLDER = re.compile(r"\{[^{}]*\}?|\}")
SIDES = ("{s}", "{S}", "{o}")
AXES = ("x", "y", "z")


class Strict(BaseModel):
    """A table in which an unknown key, a wrong type or a number that is not finite is a fault."""

    # Built when first used: a run with a table of its own needs one or two of them.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True, defer_build=True)


class Table(Strict):
    """A table of the body, whose texts may hold {s}, {S} and {o} for the sides."""

    @model_validator(mode="after")
    def _sides_are_spelt(self) -> Table:
        for name, value in self:
            for text in _texts_of(value):
                wrong = next((p for p in _PLACEHOLDER.findall(text) if p not in SIDES), None)
                if wrong is not None:
                    raise ValueError(f"'{name}' holds {wrong!r}: the signs for the sides are {', '.join(SIDES)}")
        return self


class Titled(Table):
    """A table with a name, a title and a source."""

    name: Name | None = Field(None, description="short name; omitted = the file's")
    title: Text | None = Field(None, description="for people")
    citation: Text | None = Field(None, description="where it comes from")


def _texts_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in _texts_of(item)]
    return list(value) if isinstance(value, dict) and all(isinstance(key, str) for key in value) else []
