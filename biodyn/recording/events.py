"""Foot strikes and foot offs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from biodyn.conventions import Side

EventKind = Literal["foot_strike", "foot_off"]
EventSource = Literal["plate", "kinematic", "file"]


@dataclass(frozen=True)
class GaitEvent:
    """A foot strike or foot off. `time_s` is 0 at the file's first stored frame; confidence in 0-1."""

    time_s: float
    side: Side
    kind: EventKind
    source: EventSource
    confidence: float = 1.0
