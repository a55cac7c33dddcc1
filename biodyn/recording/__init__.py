"""Recordings, wrenches and motions as frozen values; frames are the first axis everywhere."""

from biodyn.recording.motion import Motion
from biodyn.recording.values import (
    ForcePlate,
    GaitEvent,
    Markers,
    ModelOutput,
    Recording,
    SubjectParameters,
)
from biodyn.recording.wrenches import Contact, GroundReaction, PlateWrench, PlateZero

__all__ = [
    "Contact",
    "ForcePlate",
    "GaitEvent",
    "GroundReaction",
    "Markers",
    "ModelOutput",
    "Motion",
    "PlateWrench",
    "PlateZero",
    "Recording",
    "SubjectParameters",
]
