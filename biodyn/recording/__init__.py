"""The contents of a recording as frozen dataclasses in SI units.

A `Recording` has optional parts: motion as `Markers`, `SegmentPoses` or `Coordinates`, `ForcePlate`s, `GaitEvent`s,
`SubjectParameters`, and outputs of the laboratory software (`ModelOutput`). Frames are the first axis of all arrays, time is 0
at the first frame of the file, missing values are NaN, and vectors are in laboratory axes until `Recording.rotated` transforms
them to World. `FileFacts` holds facts from the head of a file, for searches in many files.

Read `recording` first (contents of a file, and access to missing parts), then `motion` (markers,
segment poses, joint coordinates, configurations of a skeleton), `plates`, `plate_calibration` and `wrenches` (force
plates as stored, their corrections, ground reaction per plate and per foot) and `stillness` (quiet standing).
"""

from biodyn.recording.motion import Coordinates, Markers, Motion, SegmentPoses, is_person_visible
from biodyn.recording.plate_calibration import PlateCalibration, PlateCorrection
from biodyn.recording.plates import ForcePlate
from biodyn.recording.recording import (
    AnalogSignals,
    EventKind,
    EventSource,
    FileFacts,
    GaitEvent,
    ModelOutput,
    Recording,
    StoredMotion,
    SubjectParameters,
)
from biodyn.recording.stillness import Preview, QuietPart, quietest_part
from biodyn.recording.wrenches import Contact, GroundReaction, PlateWrench, PlateZero, SharedLoad

__all__ = [
    "AnalogSignals",
    "Contact",
    "Coordinates",
    "EventKind",
    "EventSource",
    "FileFacts",
    "ForcePlate",
    "GaitEvent",
    "GroundReaction",
    "Markers",
    "ModelOutput",
    "Motion",
    "PlateCalibration",
    "PlateCorrection",
    "PlateWrench",
    "PlateZero",
    "Preview",
    "QuietPart",
    "Recording",
    "SegmentPoses",
    "SharedLoad",
    "StoredMotion",
    "SubjectParameters",
    "is_person_visible",
    "quietest_part",
]
