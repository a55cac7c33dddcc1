"""What one C3D file holds, in SI and in the laboratory's own frame, before anything is computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.diagnostics import Diagnostic

EventKind = Literal["foot_strike", "foot_off"]
EventSource = Literal["plate", "kinematic", "file"]


@dataclass(frozen=True)
class Markers:
    """Trajectories of the physical markers.

    Attributes:
        labels: cleaned marker labels (subject prefix stripped), unique, in file order; length M.
        positions: (T, M, 3) m; NaN where the marker was not seen. Frame: as the owner says (laboratory in a
            `Recording` fresh from a file, World after `Recording.rotated`).
        rate_hz: frames per second.
    """

    labels: tuple[str, ...]
    positions: FloatArray
    rate_hz: float

    @property
    def frame_count(self) -> int:
        """Number of frames T."""
        return int(self.positions.shape[0])

    @property
    def time_s(self) -> FloatArray:
        """Time of each frame, 0 at the file's first frame; (T,) s."""
        return np.arange(self.frame_count) / self.rate_hz

    def index(self, label: str) -> int:
        """Column of a marker; KeyError if it is not there."""
        try:
            return self.labels.index(label)
        except ValueError:
            raise KeyError(label) from None

    def rotated(self, R: FloatArray) -> Markers:
        """Return the same markers with every position multiplied by R (3, 3)."""
        return replace(self, positions=self.positions @ R.T)


@dataclass(frozen=True)
class ForcePlate:
    """One force plate as stored: channels in N and Nm (CoP channels of type 1 in m), geometry in the file's frame.

    Attributes:
        number: 1-based number in the file.
        type: C3D FORCE_PLATFORM:TYPE.
        corners: (4, 3) m, in the C3D order (+x+y, -x+y, -x-y, +x-y of the plate's own axes).
        origin: (3,) m, FORCE_PLATFORM:ORIGIN of this plate, plate axes.
        channels: (Ta, C) analog samples at `rate_hz`, scaled to physical units; offset not removed.
        rate_hz: analog samples per second; an integer multiple of the marker rate.
        cal_matrix: (6, C) or None; applied to `channels` by type 4 (and 5), already for SI units.
        zero_frames: first and last marker frame (0-based, inclusive) of the unloaded baseline, None if the file names none.
        channel_labels: the analog labels, for messages.
    """

    number: int
    type: int
    corners: FloatArray
    origin: FloatArray
    channels: FloatArray
    rate_hz: float
    cal_matrix: FloatArray | None = None
    zero_frames: tuple[int, int] | None = None
    channel_labels: tuple[str, ...] = ()

    def rotated(self, R: FloatArray) -> ForcePlate:
        """Return the same plate with its corners multiplied by R (3, 3)."""
        return replace(self, corners=self.corners @ R.T)


@dataclass(frozen=True)
class GaitEvent:
    """A foot strike or foot off. `time_s` is 0 at the file's first stored frame; confidence in 0-1."""

    time_s: float
    side: Side
    kind: EventKind
    source: EventSource
    confidence: float = 1.0


@dataclass(frozen=True)
class SubjectParameters:
    """What the file itself says of the subject; None or a missing key where it is silent. SI units.

    Keys of `measures` (metres unless named otherwise) are the names of the measures of
    `library/body/measures.toml`, e.g. ``knee_width_r``, ``leg_length_l``, ``marker_diameter``.
    """

    name: str = ""
    mass_kg: float | None = None
    height_m: float | None = None
    sex: Literal["male", "female"] | None = None
    measures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelOutput:
    """A computed point channel of the laboratory's own software (angles, moments, powers ...), as stored.

    `values` is (T, 3) in file units `unit`, NaN where not computed; kind from POINT:ANGLES/MOMENTS/... or the label.
    """

    label: str
    kind: Literal["angle", "moment", "force", "power", "scalar", "virtual_point", "other"]
    values: FloatArray
    unit: str


@dataclass(frozen=True)
class Recording:
    """Everything a C3D file holds that biodyn uses.

    Attributes:
        path, sha256: the file and the hash of its bytes.
        markers: physical markers.
        plates: force plates in file order (may be empty).
        events: events stored in the file.
        subject: stored subject parameters.
        model_outputs: computed points by cleaned label.
        vertical: (3,) unit vector pointing up in the frame of `markers`, or None where the file does not tell.
        first_frame: the file's own number of its first stored frame.
        declared_static: True/False where the file says (SUBJECTS:IS_STATIC), else None.
        diagnostics: what was noticed while reading.
    """

    path: Path
    sha256: str
    markers: Markers
    plates: tuple[ForcePlate, ...] = ()
    events: tuple[GaitEvent, ...] = ()
    subject: SubjectParameters = field(default_factory=SubjectParameters)
    model_outputs: Mapping[str, ModelOutput] = field(default_factory=dict)
    vertical: FloatArray | None = None
    first_frame: int = 1
    declared_static: bool | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    def rotated(self, R: FloatArray) -> Recording:
        """Return the recording in another frame: markers, plates and vertical multiplied by R (3, 3).

        Model outputs keep the file's own frame and units.
        """
        vertical = None if self.vertical is None else R @ self.vertical
        return replace(
            self,
            markers=self.markers.rotated(R),
            plates=tuple(plate.rotated(R) for plate in self.plates),
            vertical=vertical,
        )
