"""What a section of the settings is: the frozen parameters of one stage, checked when they are made.

A stage defines its own, beside its code (`processing/contacts/parameters.py` and the like); `biodyn.settings` puts them
together under the names of a settings TOML. Numbers are strict (no text for a number, nothing infinite), unknown entries
are refused, and every entry has its default, its range and a description, of which docs/settings.md is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    field_validator,
    model_validator,
)

from biodyn.errors import SettingsError, printable
from biodyn.library.faults import first_fault
from biodyn.library.load import nearest
from biodyn.library.registry import Registry

__all__ = [
    "BeforeValidator",
    "Field",
    "OneOf",
    "Section",
    "ValidationError",
    "field_validator",
    "invalid_entry",
    "model_validator",
]


class Section(BaseModel):
    """Parameters of one stage; a section of the settings.

    `renamed` holds the former names of its entries: they are refused with the name of today.
    """

    renamed: ClassVar[Mapping[str, str]] = {}

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


@dataclass(frozen=True)
class OneOf:
    """Annotation of an entry that names a member of a registry: `Annotated[str, OneOf(METHODS)]`.

    besides: words that are no members and may stand there, too.
    """

    registry: Registry[Any]
    besides: tuple[str, ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Return the schema of text, with the look-up behind it."""
        return AfterValidator(self._known).__get_pydantic_core_schema__(source, handler)

    def _known(self, name: str) -> str:
        if name not in self.registry and name not in self.besides:
            near = nearest(name, (*self.besides, *self.registry))
            raise ValueError(f"there is no {self.registry.kind} '{printable(name)}'. {near}".rstrip("."))
        return name


def invalid_entry(error: ValidationError, model: type[BaseModel], origin: str, below: str = "") -> SettingsError:
    """Return the error that names the first offending entry, and the nearest known ones for an unknown name.

    `origin` names the file, `below` the table of it that was validated, "" for the whole.
    """
    fault = first_fault(error, model)
    where = ".".join(filter(None, (below, fault.key)))
    if not where:  # of the whole: the preset
        return SettingsError(f"{origin[:1].upper()}{origin[1:]}: {fault.problem}.", fault.hint)
    return SettingsError(f"Entry '{where}' of {origin} is not valid: {fault.problem}.", fault.hint)
