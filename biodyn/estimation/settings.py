"""Settings of the estimate: the section [estimation]."""

from __future__ import annotations

from biodyn.library.section import Field, Section


class EstimationSettings(Section):
    """Estimate of motion and forces, used where `signals.method` is "estimate", or "auto" and chooses it."""

    force_cutoff_hz: float = Field(
        50.0, ge=10, le=1000, description="cut-off of the plate forces, Hz, at most 0.4 of the marker rate"
    )
    plate_place_sd_m: float = Field(
        0.005,
        ge=0,
        le=0.05,
        description="error of a force plate's position in the file, 1 SD along each axis of the floor, m; 0 = no error",
    )
    plate_gain_sd_share: float = Field(
        0.01, ge=0, le=0.1, description="error of a force plate's gain, 1 SD, share; 0 = no error"
    )
    force_delay_sd_s: float = Field(
        0.001, ge=0, le=0.02, description="delay of all forces against the markers, 1 SD, s; 0 = no delay"
    )
    inertia_sd_factor: float = Field(
        1.0,
        ge=0,
        le=5,
        description="factor on the expected errors of masses and mass centres; 0 = inertias stay as in the model",
    )
    session: bool = Field(
        True,
        description="masses, mass centres and plate errors are estimated from all walks of the session together, where "
        'model.fit is "session"; each walk is analysed once more for the others',
    )
