"""What the head of a file says of a trial, small enough to keep of ten thousand files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class FileFacts:
    """Facts of one recording, read without its data where the format allows that.

    Attributes:
        path: the file.
        subject: name stored, "" where there is none. mass_kg, height_m: stored, None where they are not.
        leg_lengths_m: stored, by name. joint_offsets_rad: that a static calibration left in the file, by name.
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
