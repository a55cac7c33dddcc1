"""Settings of the estimate: the section [estimation]."""

from __future__ import annotations

from biodyn.library.settings_section import Field, Section


class EstimationSettings(Section):
    """Settings of the estimate of motion and forces, used if `signals.method` is "estimate", or "auto" and the estimate is
    possible."""

    force_cutoff_hz: float = Field(
        50.0, ge=10, le=1000, description="cut-off of the plate forces, Hz, at most 0.4 of the marker rate"
    )
    inertia_sd_factor: float = Field(
        1.0,
        ge=0,
        le=5,
        description="factor on the prior SDs of masses and mass centres; 0 = the inertias of the model are used",
    )
    session: bool = Field(
        True,
        description="masses, mass centres and plate errors are estimated from all walks of the session together if "
        'model.fit is "session"; each walk is then analysed twice',
    )
