"""Gap filling, smoothing of markers, low-pass filtering of plate wrenches, and the choice of the method.

The estimate of motion and forces is at least as accurate as a filter (docs/methods.md, section 2). It needs markers, because
errors of measured segment poses differ from errors of single points. A cut-off or filter order in the settings selects the
filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.gaps import Gap, distance_from_median, fill_gaps, remove_spikes
from biodyn.processing.signals.plate_wrenches import channel_contributions, frame_samples, plate_wrench, resample_wrench
from biodyn.processing.signals.settings import SignalSettings
from biodyn.processing.signals.smoothing import SMOOTHING
from biodyn.processing.signals.smoothing.butterworth import BUTTERWORTH, ESTIMATE
from biodyn.processing.signals.smoothing.spline import AutomaticCutoff, choose_cutoff
from biodyn.recording import ForcePlate, Markers, PlateWrench, Recording, is_person_visible


@dataclass(frozen=True)
class MethodChoice:
    """Smoothing method, and a text with the reason for it ("" if the settings specify the method)."""

    name: str
    reason: str = ""

    @property
    def is_estimate(self) -> bool:
        """Whether motion and forces are estimated together."""
        return self.name == ESTIMATE

    @property
    def description(self) -> str:
        """Description of the smoothing method that completes "smoothed by ..."."""
        return SMOOTHING.lookup(self.name).words


#: Default: the filter.
FILTERED = MethodChoice(BUTTERWORTH)


def select_method(settings: SignalSettings, on_poses: bool) -> MethodChoice:
    """Return the smoothing method of the settings, or the default method for the trial."""
    if settings.method != "auto":
        return MethodChoice(settings.method)
    if on_poses:
        return MethodChoice(
            BUTTERWORTH, "segment poses were measured, but the estimate of motion and forces needs markers"
        )
    named = settings.filter_entry
    if named:
        return MethodChoice(BUTTERWORTH, f"the settings select a filter ({named})")
    return MethodChoice(ESTIMATE, "markers and forces were measured")


def fall_back_to_filter(why: str) -> MethodChoice:
    """Return the filter as the method, with the reason why the estimate was not possible."""
    why = f"{why[:1].lower()}{why[1:]}"
    return MethodChoice(BUTTERWORTH, f"the estimate of motion and forces was not possible: {why}")


def stored_method(record: Mapping[str, Any]) -> str:
    """Return the method of a result from its run.json; older versions stored it in the settings or had only the filter."""
    name = str(record.get("method") or record["settings"].get("signals", {}).get("method", BUTTERWORTH))
    return BUTTERWORTH if name == "auto" else name


def is_butterworth_filtered(record: Mapping[str, Any]) -> bool:
    """Return whether motion and forces of a result were smoothed by a Butterworth filter only."""
    return stored_method(record) == BUTTERWORTH


#: Bandwidth of the forces of walking and running, including impacts.
FULL_BANDWIDTH_HZ = 50.0
#: Largest cut-off as a fraction of the sampling rate.
MOST_OF_RATE = 0.45


@dataclass(frozen=True)
class TrialSignals:
    """Signals of a walk in World.

    Attributes:
        settings, mapping: settings and marker mapping of the processing, used again if a marker or a plate changes.
        markers: gap-filled and smoothed markers. unfiltered_markers: gap-filled markers. recorded: recorded markers.
        gaps: filled and open gaps.
        cutoff_hz, order: cut-off and order of the smoothing of the markers, see `smoothing.SmoothedSignal`.
        raw_plates: unfiltered wrenches at the analog rate. plates: filtered wrenches at the marker rate.
        jump_m: (T, M) `gaps.distance_from_median` of all markers of the recording; None for poses.
        automatic: automatic choice of the cut-off; `settings` then contain the chosen value.
        method: smoothing method with its reason; `settings` contain its name.
    """

    settings: SignalSettings
    mapping: MarkerMapping
    markers: Markers
    unfiltered_markers: Markers
    recorded: Markers
    gaps: tuple[Gap, ...]
    cutoff_hz: float
    order: int
    raw_plates: tuple[PlateWrench, ...]
    plates: tuple[PlateWrench, ...]
    jump_m: FloatArray | None = None
    automatic: AutomaticCutoff | None = None
    method: MethodChoice = FILTERED

    @property
    def edge_s(self) -> float:
        """Distance from the end of a stretch, s, within which smoothing is inaccurate: half a cut-off period."""
        return 0.5 / self.cutoff_hz if self.cutoff_hz else 0.0

    @property
    def force_cutoff_hz(self) -> float:
        """Cut-off of the plate forces, 0 = none: from the settings, else as for the markers."""
        given = self.settings.force_cutoff_hz
        return self.cutoff_hz if given is None else given

    @property
    def force_smear_s(self) -> float:
        """Half the time over which the filter of the plate forces spreads an edge, s."""
        return 0.5 / self.force_cutoff_hz if self.force_cutoff_hz else 0.0

    def filter_text(self, measured: str = "markers") -> str:
        """Return the cut-offs of the measured points (named `measured`) and of the forces, with the reason, as text."""
        if self.force_cutoff_hz != self.cutoff_hz:
            return f"{measured} {_format_hertz(self.cutoff_hz)}, forces {_format_hertz(self.force_cutoff_hz)}"
        chosen = "" if self.automatic is None else f": {self.automatic.reason}"
        return f"{measured} and forces {_format_hertz(self.cutoff_hz)}{chosen}"

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Findings about the force plates."""
        return tuple(note for plate in self.raw_plates for note in plate.diagnostics)

    def tracked_labels(self) -> frozenset[str]:
        """Return the labels of the markers visible in at least half of the frames with the person.

        A recording may start long before the person is visible and end long after.
        """
        # Least fraction of frames in which a marker must be visible to determine a coordinate.
        tracked_share = 0.5
        labels = self.markers.labels
        seen = np.isfinite(self.markers.positions[..., 0])
        there = is_person_visible(seen[:, [self.mapping.role(label) is not None for label in labels]])
        if not there.any():
            return frozenset()
        share = seen[there].mean(axis=0)
        return frozenset(label for label, part in zip(labels, share, strict=True) if part >= tracked_share)


def _format_hertz(cutoff_hz: float) -> str:
    return f"{cutoff_hz:.3g} Hz" if cutoff_hz else "unfiltered"


def prepare_signals(recording: Recording, mapping: MarkerMapping, settings: SignalSettings) -> TrialSignals:
    """Fill gaps and smooth the markers of the marker set and those that may be attached later; filter the wrenches of the
    plates."""
    everything = recording.markers
    wanted = [i for i, label in enumerate(everything.labels) if mapping.role(label) or label in mapping.unknown]
    labels = tuple(everything.labels[i] for i in wanted)
    positions = everything.positions if len(wanted) == len(everything.labels) else everything.positions[:, wanted]
    markers = Markers(labels, positions, everything.rate_hz)
    jump_m = None if recording.uses_poses else distance_from_median(everything)
    if jump_m is not None:
        markers = remove_spikes(markers, jump_m[:, wanted])
    raw = tuple(plate_wrench(plate, markers.frame_count, markers.rate_hz) for plate in recording.plates)
    automatic = choose_cutoff(markers.positions, markers.rate_hz) if settings.cutoff_hz == "auto" else None
    method = select_method(settings, recording.uses_poses)
    settings = settings.model_copy(update={"method": method.name})
    if automatic is not None:
        if recording.uses_poses:
            automatic = replace(automatic, points="virtual points")
        settings = settings.model_copy(update={"cutoff_hz": automatic.cutoff_hz})
    bare = TrialSignals(settings, mapping, markers, markers, markers, (), 0.0, 0, (), (), jump_m, automatic, method)
    smoothed = replace_markers(bare, markers)
    if smoothed.cutoff_hz != settings.marker_cutoff_of_settings:  # methods that determine their cut-off
        smoothed = replace(smoothed, automatic=None)
    return replace_wrenches(smoothed, raw)


def replace_wrenches(signals: TrialSignals, raw: Sequence[PlateWrench]) -> TrialSignals:
    """Return the signals with other unfiltered plate wrenches `raw`, which are filtered and resampled to the marker frames."""
    plates = tuple(_filter_plate(plate, signals, signals.force_cutoff_hz) for plate in raw)
    return replace(signals, raw_plates=tuple(raw), plates=plates)


def replace_smoothing_method(signals: TrialSignals, method: MethodChoice) -> TrialSignals:
    """Return the signals with `method` recorded as the smoothing method."""
    settings = signals.settings.model_copy(update={"method": method.name})
    return replace(signals, settings=settings, method=method)


def plate_wrenches_at_marker_cutoff(signals: TrialSignals) -> tuple[FloatArray, ...]:
    """Return the wrench (T, 6) of each plate at the marker frames, filtered with the cut-off of the markers."""
    if signals.force_cutoff_hz == signals.cutoff_hz:
        return tuple(plate.wrench for plate in signals.plates)
    return tuple(_filter_plate(plate, signals, signals.cutoff_hz).wrench for plate in signals.raw_plates)


def full_bandwidth_plate_wrenches(signals: TrialSignals) -> tuple[float, tuple[FloatArray, ...]]:
    """Return the wrench (T, 6) of each plate at the marker frames with nearly full bandwidth, and its cut-off (Hz).

    The cut-off is half the frame rate, so that resampling does not alias, but at least `FULL_BANDWIDTH_HZ`.
    """
    hz = max(FULL_BANDWIDTH_HZ, 0.5 * signals.markers.rate_hz)
    return hz, tuple(
        _filter_plate(plate, signals, min(hz, MOST_OF_RATE * plate.rate_hz)).wrench for plate in signals.raw_plates
    )


def refilter_plates(signals: TrialSignals, cutoff_hz: float) -> TrialSignals:
    """Return the signals with the plate wrenches filtered at another cut-off, Hz."""
    settings = signals.settings.model_copy(update={"force_cutoff_hz": cutoff_hz})
    return replace_wrenches(replace(signals, settings=settings), signals.raw_plates)


def plate_channel_contributions(signals: TrialSignals, plate: ForcePlate) -> FloatArray:
    """Return the contribution of each channel of a plate (World) to its wrench in `signals.plate_wrenches`:
    `channel_contributions`."""
    markers = signals.markers

    def filter_and_resample(channels: FloatArray) -> FloatArray:
        passed = butterworth_lowpass(channels, plate.rate_hz, signals.force_cutoff_hz, signals.settings.filter_order)
        return frame_samples(passed, plate.rate_hz, markers.frame_count, markers.rate_hz)

    return channel_contributions(plate, filter_and_resample, markers.rate_hz)


def _filter_plate(plate: PlateWrench, signals: TrialSignals, cutoff_hz: float) -> PlateWrench:
    wrench = butterworth_lowpass(plate.wrench, plate.rate_hz, cutoff_hz, signals.settings.filter_order)
    markers = signals.markers
    return resample_wrench(replace(plate, wrench=wrench), markers.frame_count, markers.rate_hz)


def replace_markers(signals: TrialSignals, recorded: Markers) -> TrialSignals:
    """Return the signals for other recorded markers, after gap filling and smoothing of these markers."""
    settings = signals.settings
    filled = fill_gaps(
        recorded.positions,
        recorded.rate_hz,
        _segment_groups(recorded.labels, signals.mapping),
        settings.spline_gap_s,
        settings.rigid_gap_s,
    )
    method = SMOOTHING.lookup(settings.method)
    smoothed = method.smooth(
        filled.positions, recorded.rate_hz, settings.marker_cutoff_of_settings, settings.filter_order
    )
    return replace(
        signals,
        markers=replace(recorded, positions=smoothed.values),
        unfiltered_markers=replace(recorded, positions=filled.positions),
        recorded=recorded,
        gaps=tuple(filled.record),
        cutoff_hz=smoothed.cutoff_hz,
        order=smoothed.order,
    )


def _segment_groups(labels: tuple[str, ...], mapping: MarkerMapping) -> list[tuple[int, ...]]:
    groups: dict[str, list[int]] = {}
    for index, label in enumerate(labels):
        role = mapping.role(label)
        if role is not None:
            groups.setdefault(role.body, []).append(index)
    return [tuple(group) for group in groups.values()]
