"""Everything one file holds, in SI and in the laboratory's own frame, before anything is computed from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.recording.motion import Coordinates, Markers, SegmentPoses
from biodyn.recording.plates import ForcePlate


@dataclass(frozen=True)
class SubjectParameters:
    """What the file itself says of the subject; None or a missing key where it is silent. SI units.

    `file`: name of the separate file with these data, "" for the recording itself.

    Keys of `measures` (metres unless named otherwise) are the names of the measures of
    `library/body/measures.toml`, e.g. ``knee_width_r``, ``leg_length_l``, ``marker_diameter``.
    """

    name: str = ""
    mass_kg: float | None = None
    height_m: float | None = None
    sex: Literal["male", "female"] | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    file: str = ""
    age_years: float | None = None


@dataclass(frozen=True)
class ModelOutput:
    """A computed point channel of the laboratory's own software (angles, moments, powers ...), as stored.

    `values` is (T, 3) in file units `unit`, NaN where not computed; kind from POINT:ANGLES/MOMENTS/... or the label.
    """

    label: str
    kind: Literal["angle", "moment", "force", "power", "scalar", "virtual_point", "other"]
    values: FloatArray
    unit: str


EventKind = Literal["foot_strike", "foot_off"]
EventSource = Literal["plate", "kinematic", "file"]


@dataclass(frozen=True)
class GaitEvent:
    """A foot strike or foot off.

    Attributes:
        time_s: 0 at the file's first stored frame. confidence: 0-1.
        after_absence: the person was away before it, for so long that steps were missed: no stride reaches back over that.
        cycle_left_out: the user leaves out the cycle that ends with this strike.
    """

    time_s: float
    side: Side
    kind: EventKind
    source: EventSource
    confidence: float = 1.0
    after_absence: bool = False
    cycle_left_out: bool = False

    def apart_s(self, other: GaitEvent) -> float:
        """Return the time between two events of one foot and kind, s; infinite between others."""
        is_alike = self.side == other.side and self.kind == other.kind
        return abs(self.time_s - other.time_s) if is_alike else math.inf


@dataclass(frozen=True)
class FileFacts:
    """Facts of one recording, read without its data where the format allows that.

    Attributes:
        path: the file.
        subject: stored name, "" if absent. mass_kg, height_m: stored values, None if absent.
        leg_lengths_m: stored, by name. joint_offsets_rad: stored by a static calibration, by name.
        labels: of the points, without subject prefixes and unnamed ones. segments: of the poses of segments.
        coordinates: of a model, in a file without points.
        frame_count, rate_hz: of the points. plate_count: force plates announced.
        declared_static: the file says that it is a static trial. gait_events: foot strikes and foot offs stored.
    """

    path: Path
    subject: str
    mass_kg: float | None
    height_m: float | None
    leg_lengths_m: Mapping[str, float] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    frame_count: int = 0
    rate_hz: float = 0.0
    plate_count: int = 0
    declared_static: bool = False
    gait_events: int = 0
    joint_offsets_rad: Mapping[str, float] = field(default_factory=dict)
    segments: frozenset[str] = frozenset()
    coordinates: frozenset[str] = frozenset()

    @property
    def has_motion(self) -> bool:
        """False where the file holds ground forces alone."""
        return bool(self.frame_count or self.labels or self.segments or self.coordinates)


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

    def part(self, first: int, stop: int, rate_hz: float) -> StoredMotion:
        """Return the motion from frame `first` to before `stop` at `rate_hz`; a form of another rate over the same time."""
        forms = (self.markers, self.poses, self.coordinates)
        return StoredMotion(
            *(
                None if form is None else form.part(*(round(frame * form.rate_hz / rate_hz) for frame in (first, stop)))
                for form in forms
            )  # type: ignore[arg-type]
        )

    def held(self) -> tuple[str, ...]:
        """Return names of the forms that are there, for messages."""
        named = (
            ("markers", None if self.markers is None or self.markers.virtual else self.markers),
            ("segment poses", self.poses),
            ("joint coordinates", self.coordinates),
        )
        return tuple(name for name, form in named if form is not None)


@dataclass(frozen=True, eq=False, repr=False)
class AnalogSignals:
    """All analog channels of a file: EMG, plates, footswitches and others.

    Attributes:
        labels, units: of the C channels, as stored. rate_hz: samples per second.
        values: (Ta, C) scaled by the file; offsets not removed.
    """

    labels: tuple[str, ...]
    units: tuple[str, ...]
    rate_hz: float
    values: FloatArray

    @property
    def time_s(self) -> FloatArray:
        """Time of each sample (Ta,) s, 0 at the first frame of the file."""
        return np.arange(len(self.values)) / self.rate_hz

    def part(self, start_s: float, end_s: float) -> AnalogSignals:
        """Return the samples from one time to before another."""
        rows = slice(round(start_s * self.rate_hz), round(end_s * self.rate_hz))
        return replace(self, values=self.values[rows])

    def channel(self, label: str) -> FloatArray:
        """Return the samples (Ta,) of a channel; KeyError with the labels for an unknown one."""
        if label not in self.labels:
            raise KeyError(f"no analog channel '{label}'; there are {', '.join(self.labels)}")
        return self.values[:, self.labels.index(label)]

    def __repr__(self) -> str:
        shown = ", ".join(self.labels[:6]) + (", ..." if len(self.labels) > 6 else "")
        return f"<{len(self.labels)} analog channels at {self.rate_hz:g} Hz: {shown}>"


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
        start_s: time of the first frame by the file's own clock; 0 where it has none.
        also_read: other files of the recording (forces, subject data), with their hashes.
        declared_static: True/False where the file says (SUBJECTS:IS_STATIC), else None.
        diagnostics: what was noticed while reading.
        read_analog: reads all analog channels, None where the format has none.
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
    start_s: float = 0.0
    also_read: tuple[tuple[Path, str], ...] = ()
    declared_static: bool | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    read_analog: Callable[[], AnalogSignals] | None = field(default=None, compare=False, repr=False)

    @property
    def analog(self) -> AnalogSignals:
        """All analog channels, read from the file on each access; InputFileError where the format has none."""
        if self.read_analog is None:
            raise self._without("analog channels", "Give the C3D file of the recording.")
        return self.read_analog()

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

    def part(self, first: int, stop: int) -> Recording:
        """Return the frames from `first` (0-based) to before `stop`: motion, plates, events and model outputs."""
        form = next(
            form for form in (self.motion.markers, self.motion.poses, self.motion.coordinates) if form is not None
        )
        rate_hz = form.rate_hz
        start_s, last_s = first / rate_hz, (stop - 1 - first) / rate_hz
        shifted = [replace(event, time_s=event.time_s - start_s) for event in self.events]
        return replace(
            self,
            motion=self.motion.part(first, stop, rate_hz),
            plates=tuple(plate.part(first, stop, rate_hz) for plate in self.plates),
            events=tuple(event for event in shifted if 0.0 <= event.time_s <= last_s),
            model_outputs={
                label: replace(output, values=output.values[first:stop]) for label, output in self.model_outputs.items()
            },
            first_frame=self.first_frame + first,
            start_s=self.start_s + start_s,
            read_analog=None if self.read_analog is None else lambda: self.analog.part(start_s, stop / rate_hz),
        )

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
