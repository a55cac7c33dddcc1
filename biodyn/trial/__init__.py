"""Recordings, wrenches and motions as frozen values; frames are the first axis everywhere."""

from biodyn.trial.motion import Motion
from biodyn.trial.recording import (
    ForcePlate,
    GaitEvent,
    Markers,
    ModelOutput,
    Recording,
    SubjectParameters,
)
from biodyn.trial.wrenches import Contact, GroundReaction, PlateWrench, PlateZero

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
