"""Common parts of the schemas: strict tables, names, and the placeholders of the body's sides."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

Text = Annotated[str, Field(min_length=1, max_length=2000)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Names = Annotated[tuple[Name, ...], Field(strict=False)]
OneOrMore = Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
Numbers = Annotated[tuple[float, ...], Field(strict=False)]
Range = Annotated[tuple[float, ...], Field(strict=False, min_length=2, max_length=2)]
Three = Annotated[tuple[float, ...], Field(strict=False, min_length=3, max_length=3)]
_PLACEHOLDER = re.compile(r"\{[^{}]*\}?|\}")
SIDES = ("{s}", "{S}", "{o}")
AXES = ("x", "y", "z")


class Strict(BaseModel):
    """A table that refuses unknown keys, wrong types and numbers that are not finite."""

    # built when first used: a run with a user's table needs one or two of them
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True, defer_build=True)


class Table(Strict):
    """A table of the body, whose texts may contain the placeholders {s}, {S} and {o} of the sides."""

    @model_validator(mode="after")
    def _known_placeholders(self) -> Table:
        for name, value in self:
            for text in _texts_of(value):
                unknown = next((p for p in _PLACEHOLDER.findall(text) if p not in SIDES), None)
                if unknown is not None:
                    raise ValueError(
                        f"'{name}' contains {unknown!r}: the placeholders of the sides are {', '.join(SIDES)}"
                    )
        return self


class Titled(Table):
    """A table with a name, a title and a source."""

    name: Name | None = Field(None, description="short name; the file name if omitted")
    title: Text | None = Field(None, description="title")
    citation: Text | None = Field(None, description="source")


def _texts_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in _texts_of(item)]
    return list(value) if isinstance(value, dict) and all(isinstance(key, str) for key in value) else []
