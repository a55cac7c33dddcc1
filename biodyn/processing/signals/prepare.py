"""A recording made ready: gaps filled, markers and forces through the same low-pass filter, plates as wrenches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.diagnostics import Diagnostic
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.gaps import Gap, fill_gaps
from biodyn.processing.signals.plates import plate_wrench, resample_wrench
from biodyn.recording import Markers, PlateWrench, Recording

# A marker seen in fewer frames than this share of the walk cannot carry a coordinate.
_TRACKED_SHARE = 0.5


@dataclass(frozen=True)
class SignalOptions:
    """Numbers of the signal processing, see `settings.SignalSettings`."""

    cutoff_hz: float
    force_cutoff_hz: float
    filter_order: int
    spline_gap_s: float
    rigid_gap_s: float


@dataclass(frozen=True)
class TrialSignals:
    """Signals of a walk in World.

    Attributes:
        markers: gaps filled and filtered; unfiltered: gaps filled only; recorded: neither. gaps: what was filled and left.
        raw_plates: at the analog rate, unfiltered; plates: filtered, at the marker rate.
    """

    markers: Markers
    unfiltered: Markers
    recorded: Markers
    gaps: tuple[Gap, ...]
    raw_plates: tuple[PlateWrench, ...]
    plates: tuple[PlateWrench, ...]

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the plates had to be corrected for."""
        return tuple(note for plate in self.raw_plates for note in plate.diagnostics)

    def tracked(self) -> frozenset[str]:
        """Labels of the markers seen in at least half of the frames."""
        share = np.isfinite(self.markers.positions[..., 0]).mean(axis=0)
        return frozenset(
            label for label, seen in zip(self.markers.labels, share, strict=True) if seen >= _TRACKED_SHARE
        )


def prepare_signals(recording: Recording, mapping: MarkerMapping, options: SignalOptions) -> TrialSignals:
    """Fill gaps and filter the markers that the set explains or that may be attached later, and the plates' wrenches."""
    everything = recording.markers
    wanted = [i for i, label in enumerate(everything.labels) if mapping.role(label) or label in mapping.unknown]
    labels = tuple(everything.labels[i] for i in wanted)
    markers = Markers(labels, everything.positions[:, wanted], everything.rate_hz)
    raw = [plate_wrench(plate, markers.frame_count, markers.rate_hz) for plate in recording.plates]
    bare = TrialSignals(markers, markers, markers, (), tuple(raw), filtered_plates(raw, markers, options))
    return with_markers(bare, markers, mapping, options)


def filtered_plates(raw: Sequence[PlateWrench], markers: Markers, options: SignalOptions) -> tuple[PlateWrench, ...]:
    """The plates' wrenches filtered and at the marker frames."""
    plates = []
    for plate in raw:
        wrench = butterworth_lowpass(plate.wrench, plate.rate_hz, options.force_cutoff_hz, options.filter_order)
        plates.append(resample_wrench(replace(plate, wrench=wrench), markers.frame_count, markers.rate_hz))
    return tuple(plates)


def with_markers(
    signals: TrialSignals, recorded: Markers, mapping: MarkerMapping, options: SignalOptions
) -> TrialSignals:
    """Return the signals with other recorded markers: their gaps filled, filtered."""
    filled = fill_gaps(
        recorded.positions,
        recorded.rate_hz,
        _segment_groups(recorded.labels, mapping),
        options.spline_gap_s,
        options.rigid_gap_s,
    )
    smooth = butterworth_lowpass(filled.positions, recorded.rate_hz, options.cutoff_hz, options.filter_order)
    return replace(
        signals,
        markers=replace(recorded, positions=smooth),
        unfiltered=replace(recorded, positions=filled.positions),
        recorded=recorded,
        gaps=tuple(filled.record),
    )


def _segment_groups(labels: tuple[str, ...], mapping: MarkerMapping) -> list[tuple[int, ...]]:
    groups: dict[str, list[int]] = {}
    for index, label in enumerate(labels):
        role = mapping.role(label)
        if role is not None:
            groups.setdefault(role.body, []).append(index)
    return [tuple(group) for group in groups.values()]
