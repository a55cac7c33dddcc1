"""Parameters of the inverse kinematics: the section [inverse_kinematics] of the settings."""

from __future__ import annotations

from typing import Annotated, Literal

from biodyn.library.section import Field, OneOf, Section
from biodyn.processing.kinematics.methods import METHODS


class InverseKinematicsSettings(Section):
    """The least-squares fit of the skeleton to the markers."""

    method: Annotated[str, OneOf(METHODS)] = Field(
        "least_squares", description="how the motion is estimated; least_squares: frame by frame, all markers at once"
    )
    tolerance: float = Field(
        1e-8, ge=1e-12, le=0.01, description="largest coordinate change of the last step, rad or m"
    )
    max_iterations: int = Field(60, ge=1, le=10_000, description="most iterations per frame")
    visibility_ramp_s: float = Field(
        0.15, ge=0, le=5, description="a marker's weight fades over this time beside a gap, s"
    )
    steady_lever_m: float = Field(
        0.06,
        ge=0,
        le=0.5,
        description="a leg's coordinate is steadied over frames in which one radian of it moves the markers by less than this, m "
        "(hip rotation at the straight knee); 0 = never",
    )
    unseen_segments: Literal["carried", "fixed"] = Field(
        "carried",
        description="segments without markers: carried as people do (the trunk upright, the arms swinging; assumed, see the "
        "skeleton's `unseen`), or fixed to their parent as in the static trial",
    )
    marker_weights: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = Field(
        default_factory=dict, description="weights by marker label, over the set's"
    )
