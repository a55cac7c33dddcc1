"""Settings of the inverse kinematics: the section [inverse_kinematics]."""

from __future__ import annotations

from typing import Annotated, Literal

from biodyn.library.settings_section import Field, Section


class InverseKinematicsSettings(Section):
    """Settings of the inverse kinematics, i.e. of the fit of the skeleton to the markers."""

    unseen_segments: Literal["carried", "fixed"] = Field(
        "carried",
        description="motion of segments without markers: carried = typical motion is assumed (trunk upright, arms "
        "swinging; `unseen` in the skeleton), fixed = fixed to the parent segment as in the static trial",
    )
    marker_weights: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = Field(
        default_factory=dict, description="marker weights by label; they override the weights of the marker set"
    )
