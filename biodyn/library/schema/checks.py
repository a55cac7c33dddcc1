"""Limits and words of the checks of the input data."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, OneOrMore, Strict, Text

Positive = Annotated[float, Field(gt=0)]


class _PressurePath(Strict):
    share: Annotated[tuple[float, ...], Field(strict=False, min_length=3, max_length=3)]
    share_sd: Positive
    outward_sd_m: Positive
    person_forward_sd_m: Positive
    person_outward_sd_m: Positive
    step_sd_m: Positive


class _Body(Strict):
    vertical_force_sd: Positive
    forward_force_sd: Positive
    sideways_force_sd: Positive
    lever_sd_m: Positive
    lever_forward_m: float
    lever_person_forward_sd_m: Positive
    lever_person_outward_sd_m: Positive
    lever_step_forward_sd_m: Positive
    lever_step_outward_sd_m: Positive


_Four = Annotated[tuple[Positive, Positive, Positive, Positive], Field(strict=False)]


class _PlateGain(Strict):
    judges: OneOrMore
    place_forward: _Four
    place_outward: _Four
    free_moment: _Four
    vertical: _Four
    forward: _Four
    outward: _Four
    lever_forward: _Four
    lever_outward: _Four
    twist: _Four
    parts_alike: Positive
    least_gain: Positive
    least_share: Annotated[float, Field(ge=0.0, lt=1.0)]
    least_change: Positive
    least_known: Positive
    least_lead: Positive
    sound: Positive
    silent_force: Positive
    silent_moment_m: Positive


class _PlateHeight(Strict):
    ankle: Name
    flat_deg: Positive
    markers_sd_m: Positive
    lowest_marker_m: Positive
    ankle_share: Positive
    usual_ankle_share: Positive
    ankle_range: Annotated[tuple[Positive, Positive], Field(strict=False)]
    ankle_margin: Positive
    raised_m: Positive


class _Facing(Strict):
    part: Name
    front: OneOrMore
    back: OneOrMore
    right: OneOrMore
    left: OneOrMore


@SCHEMAS.register("checks/checks")
class CheckNumbers(Strict):
    """What tells a usual recording from a faulty one."""

    pressure_path: _PressurePath
    body: _Body
    plate_gain: _PlateGain
    plate_height: _PlateHeight
    facing: Annotated[tuple[_Facing, ...], Field(strict=False, min_length=1)]


@SCHEMAS.register("checks/finding_titles")
class FindingTitles(Strict):
    """Titles of findings that steps of the analysis make."""

    finding_titles: dict[Name, Text]
