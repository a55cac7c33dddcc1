"""Everything one file holds, in SI and in the laboratory's own frame, before anything is computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.recording.coordinates import Coordinates
from biodyn.recording.events import GaitEvent
from biodyn.recording.markers import Markers
from biodyn.recording.model_outputs import ModelOutput
from biodyn.recording.plates import ForcePlate
from biodyn.recording.poses import SegmentPoses
from biodyn.recording.subject import SubjectParameters


@dataclass(frozen=True)
class StoredMotion:
    """The motion that a file holds, in one or several forms; None for a form that it does not hold.

    Where a file holds poses and no markers, `markers` are the poses' virtual points.

    Ask here where a form may be missing; ask the `Recording` where it is needed.
    """

    markers: Markers | None = None
    poses: SegmentPoses | None = None
    coordinates: Coordinates | None = None

    def rotated(self, R: FloatArray) -> StoredMotion:
        """Return the motion in another frame; joint coordinates keep the ground frame of their own model."""
        return replace(
            self,
            markers=None if self.markers is None else self.markers.rotated(R),
            poses=None if self.poses is None else self.poses.rotated(R),
        )

    def held(self) -> tuple[str, ...]:
        """Names of the forms that are there, for messages."""
        named = (
            ("markers", None if self.markers is None or self.markers.virtual else self.markers),
            ("segment poses", self.poses),
            ("joint coordinates", self.coordinates),
        )
        return tuple(name for name, form in named if form is not None)


@dataclass(frozen=True, repr=False)
class Recording:
    """Everything a file holds that biodyn uses. Any part may be missing.

    Attributes:
        path, sha256: the file and the hash of its bytes.
        motion: markers, segment poses, joint coordinates; each may be None. `markers`, `poses` and `coordinates` of the
            recording are the same parts, but raise InputFileError in one sentence where the part is missing.
        plates: force plates in file order (may be empty).
        events: events stored in the file (may be empty).
        subject: stored subject parameters; each may be None.
        model_outputs: computed points by cleaned label (may be empty).
        vertical: (3,) unit vector pointing up in the frame of `markers`, or None where the file does not tell.
        first_frame: the file's own number of the first frame.
        frame_step: the file's frames from one frame to the next: more than 1 where it stores frames that no camera measured.
        start_s: time of the first frame by the file's own clock; 0 where it has none.
        also_read: the other files that the recording is made of, with the hash of their bytes: forces that lie beside it.
        declared_static: True/False where the file says (SUBJECTS:IS_STATIC), else None.
        diagnostics: what was noticed while reading.
    """

    path: Path
    sha256: str
    motion: StoredMotion
    plates: tuple[ForcePlate, ...] = ()
    events: tuple[GaitEvent, ...] = ()
    subject: SubjectParameters = field(default_factory=SubjectParameters)
    model_outputs: Mapping[str, ModelOutput] = field(default_factory=dict)
    vertical: FloatArray | None = None
    first_frame: int = 1
    frame_step: int = 1
    start_s: float = 0.0
    also_read: tuple[tuple[Path, str], ...] = ()
    declared_static: bool | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def on_poses(self) -> bool:
        """True where the markers are virtual points of measured poses."""
        return self.motion.markers is not None and self.motion.markers.virtual

    @property
    def markers(self) -> Markers:
        """The physical markers, or the virtual points of poses; InputFileError where the file holds neither."""
        if self.motion.markers is None:
            coordinates = self.motion.coordinates is not None
            hint = "Coordinates are a model's: name it with --model MODEL.osim." if coordinates else ""
            raise self._without("markers", hint or "Give a file with marker trajectories.")
        return self.motion.markers

    @property
    def poses(self) -> SegmentPoses:
        """The poses of the segments; InputFileError where the file holds none."""
        if self.motion.poses is None:
            raise self._without("segment poses", "Give a file of a markerless system.")
        return self.motion.poses

    @property
    def coordinates(self) -> Coordinates:
        """The joint coordinates; InputFileError where the file holds none."""
        if self.motion.coordinates is None:
            raise self._without("joint coordinates", "Give a motion file.")
        return self.motion.coordinates

    def with_markers(self, markers: Markers) -> Recording:
        """Return the recording with other markers."""
        return replace(self, motion=replace(self.motion, markers=markers))

    def __repr__(self) -> str:
        held = [*self.motion.held(), *([f"{len(self.plates)} force plates"] if self.plates else [])]
        held += [f"{len(self.events)} events"] if self.events else []
        return f"<recording '{self.path.name}': {', '.join(held) or 'nothing to use'}>"

    def _without(self, what: str, hint: str) -> InputFileError:
        held = [*self.motion.held(), *(["force plates"] if self.plates else []), *(["events"] if self.events else [])]
        return InputFileError(f"'{self.path}' holds no {what}; it holds {', '.join(held) or 'nothing to use'}.", hint)

    def rotated(self, R: FloatArray) -> Recording:
        """Return the recording in another frame: motion, plates and vertical multiplied by R (3, 3).

        Joint coordinates keep the ground frame of their model, model outputs the file's own frame and units.
        """
        vertical = None if self.vertical is None else R @ self.vertical
        return replace(
            self,
            motion=self.motion.rotated(R),
            plates=tuple(plate.rotated(R) for plate in self.plates),
            vertical=vertical,
        )
