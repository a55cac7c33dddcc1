"""Sections of the settings: validated, frozen parameters of one stage.

Each stage defines its section next to its code (`processing/contacts/settings.py` and so on); `biodyn.settings` combines them
under the names of a settings TOML. Numbers are strict (no text, no infinity), unknown entries are rejected, and every entry has
a default, a range and a description, from which docs/settings.md is generated.
"""

from __future__ import annotations

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from biodyn.errors import SettingsError
from biodyn.library.entry_faults import first_fault
from biodyn.library.toml_files import load_table

__all__ = [
    "BeforeValidator",
    "Field",
    "Section",
    "ValidationError",
    "field_validator",
    "model_validator",
    "settings_error",
]


class Section(BaseModel):
    """Section of the settings: validated parameters of one stage of the analysis."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


def settings_error(error: ValidationError, model: type[BaseModel], origin: str, below: str = "") -> SettingsError:
    """Return the error for the first invalid entry, with the most similar known name for an unknown one.

    Args: `origin`: name of the file; `below`: the validated table in the file, "" = all.
    """
    fault = first_fault(error, model, load_table("settings/removed"))
    where = ".".join(filter(None, (below, fault.key)))
    if not where:  # the preset
        return SettingsError(f"{origin[:1].upper()}{origin[1:]}: {fault.problem}.", fault.hint)
    return SettingsError(f"Entry '{where}' of {origin} is not valid: {fault.problem}.", fault.hint)
