"""Settings of the signal processing: the section [signals]."""

from __future__ import annotations

from typing import Annotated, Literal

from biodyn.errors import printable_text
from biodyn.library.settings_section import Field, Section, field_validator
from biodyn.library.toml_files import suggest_name
from biodyn.processing.signals.smoothing import SMOOTHING
from biodyn.processing.signals.smoothing.spline import LOWEST_AUTOMATIC_HZ


def method_names() -> tuple[str, ...]:
    """Return the values of `signals.method`: auto, and all smoothing methods."""
    return ("auto", *SMOOTHING)


class SignalSettings(Section):
    """Settings of the gap filling, of the smoothing of markers and of the filter of plate forces."""

    method: str = Field(
        "auto",
        description="processing of markers and forces (docs/methods.md). estimate: motion and forces are estimated "
        "together, section [estimation]; a filter gives the initial motion. butterworth: filter with "
        "`cutoff_hz`. spline: smoothing spline with an automatic cut-off for each marker; forces are "
        "filtered. auto: the estimate, or the filter for measured poses and OpenSim models, if the "
        "estimate is not possible, or if `cutoff_hz`, `force_cutoff_hz` or `filter_order` is set",
    )
    cutoff_hz: Annotated[float, Field(ge=0, le=1000)] | Literal["auto"] = Field(
        "auto",
        description="low-pass cut-off of markers, Hz, at least 1; 0 switches the filter off; auto: a whole number from 6 to 25 "
        "chosen from the noise and the motion of the trial's markers (docs/methods.md)",
    )
    force_cutoff_hz: float | None = Field(
        None,
        ge=0,
        le=1000,
        description="cut-off of the plate forces, Hz, at least 1; 0 = off; omitted = the same as the markers",
    )
    filter_order: Literal[2, 4, 6, 8] = Field(
        4, description="total order of the zero-lag (two-pass) Butterworth filter"
    )
    spline_gap_s: float = Field(0.1, ge=0, le=10, description="longest gap filled by a spline, s")
    rigid_gap_s: float = Field(0.5, ge=0, le=10, description="longest gap filled from the segment's other markers, s")

    @field_validator("method")
    @classmethod
    def _check_method(cls, name: str) -> str:
        if name not in method_names():
            near = suggest_name(name, method_names())
            raise ValueError(f"there is no {SMOOTHING.kind} '{printable_text(name)}'. {near}".rstrip("."))
        return name

    @field_validator("cutoff_hz", "force_cutoff_hz")
    @classmethod
    def _check_frequency(cls, hz: float | str | None) -> float | str | None:
        # the slowest strides last 2 s and have several harmonics
        if isinstance(hz, float) and 0.0 < hz < 1.0:
            raise ValueError(
                f"expected 0 (no filter) or a number from 1 to 1000, found {hz:g}; a cut-off below 1 Hz removes the "
                "signal of walking"
            )
        return hz

    @property
    def filter_entry(self) -> str:
        """Text of the setting that selects a filter; "" if none exists."""
        usual = {name: field.default for name, field in type(self).model_fields.items()}
        entries = {name: getattr(self, name) for name in ("cutoff_hz", "force_cutoff_hz", "filter_order")}
        return ", ".join(f"{name} = {value:g}" for name, value in entries.items() if value != usual[name])

    @property
    def force_cutoff_of_settings(self) -> float:
        """Cut-off of the plate forces, Hz, if the markers have the cut-off of the settings; 0 = none."""
        return self.marker_cutoff_of_settings if self.force_cutoff_hz is None else self.force_cutoff_hz

    @property
    def marker_cutoff_of_settings(self) -> float:
        """Cut-off of the markers, Hz, in the settings; the lowest automatic cut-off for "auto"."""
        return LOWEST_AUTOMATIC_HZ if self.cutoff_hz == "auto" else float(self.cutoff_hz)
