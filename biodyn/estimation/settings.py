"""Settings of the estimate: the section [estimation]."""

from __future__ import annotations

from biodyn.library.section import Field, Section


class EstimationSettings(Section):
    """Estimate of motion and forces, used where `signals.method` is "estimate", or "auto" and chooses it."""

    force_cutoff_hz: float = Field(
        50.0, ge=10, le=1000, description="cut-off of the plate forces, Hz, at most 0.4 of the marker rate"
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
