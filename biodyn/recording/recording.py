"""The contents of one file in SI units and laboratory axes, before any processing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.recording.motion import Coordinates, Markers, SegmentPoses
from biodyn.recording.plates import ForcePlate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SubjectParameters:
    """Subject data stored in a file, in SI units; None or a missing key if not stated.

    `file`: name of the separate file with these data, "" for the recording itself.

    Keys of `measures` (metres unless the name has another unit) are the names of the measures in
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
    """A computed point channel of the laboratory software (angles, moments, powers ...), as stored.

    `values` is (T, 3) in file units `unit`, NaN if not computed; `kind` follows from POINT:ANGLES/MOMENTS/... or the label.
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
        time_s: time, s, 0 at the first stored frame of the file. confidence: 0-1.
        after_absence: whether the person was out of view before the event for so long that steps were missed, so no stride
            includes this period.
        cycle_left_out: whether the user excludes the cycle that ends with this strike.
    """

    time_s: float
    side: Side
    kind: EventKind
    source: EventSource
    confidence: float = 1.0
    after_absence: bool = False
    cycle_left_out: bool = False

    def time_difference_s(self, other: GaitEvent) -> float:
        """Return the time (s) between two events of the same foot and kind; infinite for others."""
        is_alike = self.side == other.side and self.kind == other.kind
        return abs(self.time_s - other.time_s) if is_alike else math.inf


@dataclass(frozen=True)
class FileFacts:
    """Facts of one recording, read without its data if the format allows it.

    Attributes:
        path: path of the file.
        subject: stored name, "" if absent. mass_kg, height_m: stored values, None if absent.
        leg_lengths_m: stored leg lengths by name. joint_offsets_rad: joint offsets stored by a static calibration, by name.
        labels: labels of labelled points, without subject prefixes. segments: labels of the segments with poses.
        coordinates: names of joint coordinates in a file without points.
        frame_count, rate_hz: number and rate of the point frames. plate_count: number of declared force plates.
        declared_static: whether the file declares a static trial. gait_events: number of stored foot strikes and foot offs.
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
        """Return whether the file holds a motion; False for ground forces only."""
        return bool(self.frame_count or self.labels or self.segments or self.coordinates)


@dataclass(frozen=True)
class StoredMotion:
    """The motion in a file in one or several forms; None for a missing form.

    If a file holds poses and no markers, `markers` are virtual points of the poses.

    Use this class if a form may be missing; the properties of `Recording` raise an error for a missing form.
    """

    markers: Markers | None = None
    poses: SegmentPoses | None = None
    coordinates: Coordinates | None = None

    def rotated(self, R: FloatArray) -> StoredMotion:
        """Return the motion in other axes; joint coordinates keep the ground frame of their model."""
        return replace(
            self,
            markers=None if self.markers is None else self.markers.rotated(R),
            poses=None if self.poses is None else self.poses.rotated(R),
        )

    def select_frames(self, first: int, stop: int, rate_hz: float) -> StoredMotion:
        """Return the motion from frame `first` to before `stop` at `rate_hz`; forms with another rate are cut at the same
        times."""
        forms = (self.markers, self.poses, self.coordinates)
        return StoredMotion(
            *(
                None
                if form is None
                else form.select_frames(*(round(frame * form.rate_hz / rate_hz) for frame in (first, stop)))
                for form in forms
            )  # type: ignore[arg-type]
        )

    def available_forms(self) -> tuple[str, ...]:
        """Return the names of the available forms, for messages."""
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
        labels, units: labels and units of the C channels, as stored. rate_hz: samples per second.
        values: (Ta, C) in `units`; offsets are not removed.
    """

    labels: tuple[str, ...]
    units: tuple[str, ...]
    rate_hz: float
    values: FloatArray

    @property
    def time_s(self) -> FloatArray:
        """Return the time (Ta,) s of each sample, 0 at the first frame of the file."""
        return np.arange(len(self.values)) / self.rate_hz

    def to_frame(self) -> pd.DataFrame:
        """Return a table: time_s, then each channel in its unit (`attrs["units"]`)."""
        import pandas as pd

        frame = pd.DataFrame(self.values, columns=list(self.labels))
        frame.insert(0, "time_s", self.time_s, allow_duplicates=True)
        frame.attrs["units"] = dict(zip(self.labels, self.units, strict=True))
        return frame

    def select_interval(self, start_s: float, end_s: float) -> AnalogSignals:
        """Return the samples from `start_s` to before `end_s`."""
        rows = slice(round(start_s * self.rate_hz), round(end_s * self.rate_hz))
        return replace(self, values=self.values[rows])

    def channel(self, label: str) -> FloatArray:
        """Return the samples (Ta,) of a channel; KeyError with the known labels for an unknown one."""
        if label not in self.labels:
            raise KeyError(f"no analog channel '{label}'; the channels are {', '.join(self.labels)}")
        return self.values[:, self.labels.index(label)]

    def __repr__(self) -> str:
        shown = ", ".join(self.labels[:6]) + (", ..." if len(self.labels) > 6 else "")
        return f"<{len(self.labels)} analog channels at {self.rate_hz:g} Hz: {shown}>"


@dataclass(frozen=True, repr=False)
class Recording:
    """The data of a file that biodyn uses. Any part may be missing.

    Attributes:
        path, sha256: path of the file and hash of its bytes.
        motion: markers, segment poses, joint coordinates; each may be None. `markers`, `poses` and `coordinates` of the
            recording are the same parts, but raise InputFileError if the part is missing.
        plates: force plates in file order (may be empty).
        events: events stored in the file (may be empty).
        subject: stored subject parameters; each may be None.
        model_outputs: computed points by cleaned label (may be empty).
        vertical: (3,) unit vector pointing up in the axes of `markers`, None if not stated.
        first_frame: stored number of the first frame.
        start_s: time of the first frame on the clock of the file, s; 0 if it has none.
        also_read: other files of the recording (forces, subject data) with their hashes.
        declared_static: True or False if stated in the file (SUBJECTS:IS_STATIC), else None.
        diagnostics: findings of reading.
        read_analog: reads all analog channels, None if the format has none.
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
        """Return all analog channels, read from the file on each access; InputFileError if the format has none."""
        if self.read_analog is None:
            raise self._missing_part_error("analog channels", "Give the C3D file of the recording.")
        return self.read_analog()

    @property
    def uses_poses(self) -> bool:
        """Return whether the markers are virtual points of measured poses."""
        return self.motion.markers is not None and self.motion.markers.virtual

    @property
    def markers(self) -> Markers:
        """Return the physical markers or the virtual points of poses; InputFileError if the file has neither."""
        if self.motion.markers is None:
            coordinates = self.motion.coordinates is not None
            hint = "Joint coordinates require their model: --model MODEL.osim." if coordinates else ""
            raise self._missing_part_error("markers", hint or "Give a file with marker trajectories.")
        return self.motion.markers

    @property
    def poses(self) -> SegmentPoses:
        """Return the segment poses; InputFileError if the file has none."""
        if self.motion.poses is None:
            raise self._missing_part_error("segment poses", "Give a file of a markerless system.")
        return self.motion.poses

    @property
    def coordinates(self) -> Coordinates:
        """Return the joint coordinates; InputFileError if the file has none."""
        if self.motion.coordinates is None:
            raise self._missing_part_error("joint coordinates", "Give a motion file.")
        return self.motion.coordinates

    def with_markers(self, markers: Markers) -> Recording:
        """Return the recording with other markers."""
        return replace(self, motion=replace(self.motion, markers=markers))

    def select_frames(self, first: int, stop: int) -> Recording:
        """Return the frames from `first` (0-based) to before `stop`: motion, plates, events and model outputs."""
        forms = (self.motion.markers, self.motion.poses, self.motion.coordinates)
        rate_hz = next(form.rate_hz for form in forms if form is not None)
        start_s, stop_s, last_s = first / rate_hz, stop / rate_hz, (stop - 1 - first) / rate_hz
        shifted = [replace(event, time_s=event.time_s - start_s) for event in self.events]
        return replace(
            self,
            motion=self.motion.select_frames(first, stop, rate_hz),
            plates=tuple(plate.select_frames(first, stop, rate_hz) for plate in self.plates),
            events=tuple(event for event in shifted if 0.0 <= event.time_s <= last_s),
            model_outputs={
                label: replace(output, values=output.values[first:stop]) for label, output in self.model_outputs.items()
            },
            first_frame=self.first_frame + first,
            start_s=self.start_s + start_s,
            read_analog=self.read_analog and (lambda: self.analog.select_interval(start_s, stop_s)),
        )

    def __repr__(self) -> str:
        held = [*self.motion.available_forms(), *([f"{len(self.plates)} force plates"] if self.plates else [])]
        held += [f"{len(self.events)} events"] if self.events else []
        return f"<recording '{self.path.name}': {', '.join(held) or 'no usable data'}>"

    def _missing_part_error(self, what: str, hint: str) -> InputFileError:
        forms = self.motion.available_forms()
        held = [*forms, *(["force plates"] if self.plates else []), *(["events"] if self.events else [])]
        return InputFileError(
            f"'{self.path}' contains no {what}; it contains {', '.join(held) or 'no usable data'}.", hint
        )

    def rotated(self, R: FloatArray) -> Recording:
        """Return the recording in other axes: motion, plates and vertical multiplied by R (3, 3).

        Joint coordinates keep the ground frame of their model; model outputs keep the axes and units of the file.
        """
        vertical = None if self.vertical is None else R @ self.vertical
        return replace(
            self,
            motion=self.motion.rotated(R),
            plates=tuple(plate.rotated(R) for plate in self.plates),
            vertical=vertical,
        )
