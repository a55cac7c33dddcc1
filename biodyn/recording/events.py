"""Foot strikes and foot offs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from biodyn.conventions import Side

EventKind = Literal["foot_strike", "foot_off"]
EventSource = Literal["plate", "kinematic", "file"]


@dataclass(frozen=True)
class GaitEvent:
    """A foot strike or foot off.

    Attributes:
        time_s: 0 at the file's first stored frame. confidence: 0-1.
        after_absence: the person was away before it, for so long that steps were missed: no stride reaches back over that.
    """

    time_s: float
    side: Side
    kind: EventKind
    source: EventSource
    confidence: float = 1.0
    after_absence: bool = False

    def apart_s(self, other: GaitEvent) -> float:
        """Return the time between two events of one foot and kind, s; infinite between others."""
        is_alike = self.side == other.side and self.kind == other.kind
        return abs(self.time_s - other.time_s) if is_alike else math.inf
