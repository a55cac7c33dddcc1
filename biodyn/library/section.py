"""What a section of the settings is: the frozen parameters of one stage, checked when they are made.

A stage defines its own, beside its code (`processing/contacts/parameters.py` and the like); `biodyn.settings` puts them
together under the names of a settings TOML. Numbers are strict (no text for a number, nothing infinite), unknown entries
are refused, and every entry has its default, its range and a description, of which docs/settings.md is made.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from biodyn.errors import SettingsError, printable
from biodyn.library.faults import first_fault
from biodyn.library.load import nearest
from biodyn.library.registry import Entry, Registry

__all__ = ["Field", "Section", "ValidationError", "field_validator", "invalid_entry", "registered"]


class Section(BaseModel):
    """Parameters of one stage; a section of the settings."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


def registered(name: str, registry: Registry[Entry]) -> str:
    """Return a name that stands in a registry; ValueError with the nearest one, as a validator of an entry raises it."""
    if name not in registry:
        raise ValueError(f"there is no {registry.kind} '{printable(name)}'. {nearest(name, registry)}".rstrip("."))
    return name


def invalid_entry(error: ValidationError, model: type[BaseModel], origin: str, below: str = "") -> SettingsError:
    """Return the error that names the first offending entry, and the nearest known ones for an unknown name.

    `origin` names the file, `below` the table of it that was validated, "" for the whole.
    """
    fault = first_fault(error, model)
    where = ".".join(filter(None, (below, fault.key)))
    return SettingsError(f"Entry '{where}' of {origin} is not valid: {fault.problem}.", fault.hint)
