"""Settings of the inverse kinematics: the section [inverse_kinematics]."""

from __future__ import annotations

from typing import Annotated, Literal

from biodyn.library.section import Field, OneOf, Section
from biodyn.processing.kinematics.methods import METHODS


class InverseKinematicsSettings(Section):
    """Settings of the fit of the skeleton to the markers."""

    method: Annotated[str, OneOf(METHODS)] = Field(
        "least_squares", description="estimation method; least_squares = fit of all markers, frame by frame"
    )
    visibility_ramp_s: float = Field(
        0.15, ge=0, le=5, description="the weight of a marker fades over this time next to a gap, s"
    )
    steady_lever_m: float = Field(
        0.06,
        ge=0,
        le=0.5,
        description="coordinates of the legs are regularised if one radian moves the markers by less than this, m "
        "(e.g. hip rotation with a straight knee); 0 = never",
    )
    unseen_segments: Literal["carried", "fixed"] = Field(
        "carried",
        description="motion of segments without markers: carried = typical motion is assumed (trunk upright, arms "
        "swinging; `unseen` in the skeleton), fixed = fixed to the parent segment as in the static trial",
    )
    marker_weights: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = Field(
        default_factory=dict, description="marker weights by label; they override the weights of the marker set"
    )
