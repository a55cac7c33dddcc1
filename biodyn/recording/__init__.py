"""What a recording holds, as frozen values in SI: the language that reading and computing share.

Comes in: what a reader of `biodyn.io` found in one file. Goes out: a `Recording` whose parts may each be missing: motion
as `Markers`, `SegmentPoses` or `Coordinates`, `ForcePlate`s, `GaitEvent`s, `SubjectParameters`, and what the laboratory's
own software had computed (`ModelOutput`). Frames are the first axis everywhere, time is 0 at the file's first frame,
missing is NaN, and the frame is the laboratory's until `Recording.rotated` turns it into World.
`FileFacts` is what the head of a file tells, for whoever looks through very many files.

Read `recording` first (what may be in a file, and what asking for a missing part does), then the part you need:
`markers`, `poses`, `coordinates`, `plates`, `events`, `subject`, `model_outputs`, `facts`. `motion` and `wrenches` are
what processing makes of them: configurations of a skeleton, and ground reactions per plate and per foot.
`stillness` tells where a person stands, of all frames or of a `Glimpse`: short pieces that are read quickly.
"""

from biodyn.recording.coordinates import Coordinates
from biodyn.recording.events import EventKind, EventSource, GaitEvent
from biodyn.recording.facts import FileFacts
from biodyn.recording.markers import Markers, person_is_there
from biodyn.recording.model_outputs import ModelOutput
from biodyn.recording.motion import Motion
from biodyn.recording.plates import ForcePlate
from biodyn.recording.poses import SegmentPoses
from biodyn.recording.recording import Recording, StoredMotion
from biodyn.recording.stillness import Glimpse, QuietPart, quietest_part
from biodyn.recording.subject import SubjectParameters
from biodyn.recording.wrenches import Contact, GroundReaction, PlateWrench, PlateZero, SharedLoad

__all__ = [
    "Contact",
    "Coordinates",
    "EventKind",
    "EventSource",
    "FileFacts",
    "ForcePlate",
    "GaitEvent",
    "Glimpse",
    "GroundReaction",
    "Markers",
    "ModelOutput",
    "Motion",
    "PlateWrench",
    "PlateZero",
    "QuietPart",
    "Recording",
    "SegmentPoses",
    "SharedLoad",
    "StoredMotion",
    "SubjectParameters",
    "person_is_there",
    "quietest_part",
]
