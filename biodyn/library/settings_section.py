"""Sections of the settings: validated, frozen parameters of one stage.

Each stage defines its section next to its code (`processing/contacts/settings.py` and so on); `biodyn.settings` combines them
under the names of a settings TOML. Numbers are strict (no text, no infinity), unknown entries are rejected, and every entry has
a default, a range and a description, from which docs/settings.md is generated.
"""

from __future__ import annotations

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from biodyn.errors import SettingsError
from biodyn.library.entry_faults import first_fault

__all__ = [
    "BeforeValidator",
    "Field",
    "Section",
    "ValidationError",
    "field_validator",
    "model_validator",
    "settings_error",
]


#: Settings of earlier versions, and their replacements.
REMOVED = {
    "header": "its entries are now in [subject]",
    "model.sex": "it is now called 'subject.sex'",
    "report.age_years": "it is now called 'subject.age_years'",
    "signals.smoothing": "it is now called 'method'",
    "contacts.min_contact_s": "it was removed: a foot contact lasts at least 0.1 s",
    "contacts.max_foot_distance_m": "it was removed: the centre of pressure is at most 0.05 m outside of the foot outline",
    "contacts.plate_margin_m": "it was removed: the whole plate is used (0 m)",
    "contacts.balance_fraction": "it was removed: its value is fixed at 0.1 of body weight",
    "estimation.marker_sd_m": "it was removed: its value is fixed at 0.001 m",
    "estimation.force_sd_n": "it was removed: its value is fixed at 3 N, and updated from the trial",
    "estimation.plate_place_sd_m": "it was removed: plates are used as in the file, see biodyn plates for corrections",
    "estimation.plate_gain_sd_share": "it was removed: plates are used as in the file, see biodyn plates for corrections",
    "estimation.force_delay_sd_s": "it was removed: forces are used as recorded",
    "inverse_kinematics.tolerance": "it was removed: its value is fixed at 1e-8 rad or m",
    "inverse_kinematics.max_iterations": "it was removed: its value is fixed at 60",
    "inverse_kinematics.method": "it was removed: the method is least squares of all markers, frame by frame",
    "inverse_kinematics.visibility_ramp_s": "it was removed: its value is fixed at 0.15 s",
    "inverse_kinematics.steady_lever_m": "it was removed: its value is fixed at 0.06 m",
    "limits.residual_force_fraction": "it was removed: its value is fixed at 0.05 of the peak ground force",
    "limits.residual_moment_fraction": "it was removed: its value is fixed at 0.01 of peak ground force times height",
    "limits.centre_of_mass_m": "it was removed: its value is fixed at 0.02 m",
    "limits.fitted_share": "it was removed: its value is fixed at 0.9",
    "limits.mass_mismatch_fraction": "it was removed: its value is fixed at 0.03",
    "limits.plate_shift_m": "it was removed: its value is fixed at 0.015 m",
    "limits.time_offset_s": "it was removed: its value is fixed at 0.016 s",
    "limits.marker_shift_m": "it was removed: its value is fixed at 0.015 m",
    "limits.pressure_outside_m": "it was removed: its value is fixed at 0.03 m",
    "limits.baseline_n": "it was removed: its value is fixed at 10 N",
    "output.csv": "it was removed: study.csv is written up to 20 million rows",
    "output.wide": "it was removed: study_wide.csv is written up to 20 million rows",
    "output.xlsx": "it was removed: study.xlsx is always written",
    "output.figure_dpi": "it was removed: its value is fixed at 110 dots per inch",
    "poses.origin_mm": "it was removed: specify a table with this value in uncertainty.magnitudes",
    "poses.turn_deg": "it was removed: specify a table with this value in uncertainty.magnitudes",
    "replay": "it was removed: biodyn.replay(folder, ReplayOptions(...)) takes these options",
    "uncertainty.scale": "it was removed: specify a table with other standard deviations in uncertainty.magnitudes",
    "variation": "it was removed: the cut-offs of --vary are 4, 5, 6, 8, 10 and 15 Hz, the powers of the weights 0 and 2",
}


class Section(BaseModel):
    """Section of the settings: validated parameters of one stage of the analysis."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


def settings_error(error: ValidationError, model: type[BaseModel], origin: str, below: str = "") -> SettingsError:
    """Return the error for the first invalid entry, with the most similar known name for an unknown one.

    Args: `origin`: name of the file; `below`: the validated table in the file, "" = all.
    """
    fault = first_fault(error, model, REMOVED)
    where = ".".join(filter(None, (below, fault.key)))
    if not where:  # the preset
        return SettingsError(f"{origin[:1].upper()}{origin[1:]}: {fault.problem}.", fault.hint)
    return SettingsError(f"Entry '{where}' of {origin} is not valid: {fault.problem}.", fault.hint)
