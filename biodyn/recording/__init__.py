"""The contents of a recording as frozen values in SI, shared by reading and computing.

A `Recording` has optional parts: motion
as `Markers`, `SegmentPoses` or `Coordinates`, `ForcePlate`s, `GaitEvent`s, `SubjectParameters`, and what the laboratory's
own software had computed (`ModelOutput`). Frames are the first axis everywhere, time is 0 at the file's first frame,
missing is NaN, and the frame is the laboratory's until `Recording.rotated` turns it into World.
`FileFacts` is facts from the head of a file, for searches of many files.

Read `recording` first (what a file may hold, and what happens when a missing part is requested), then `motion` (markers,
segment poses, joint coordinates, configurations of a skeleton), `plates`, `plate_calibration` and `wrenches` (force
plates as stored, their corrections, ground reaction per plate and per foot) and `stillness` (quiet standing).
"""

from biodyn.recording.motion import Coordinates, Markers, Motion, SegmentPoses, person_is_there
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
    "person_is_there",
    "quietest_part",
]
