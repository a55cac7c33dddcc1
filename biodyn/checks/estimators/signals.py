"""Checks of single signals: gaps, spikes, hot spots, joint limits, filters, centre of pressure outside the foot outline."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic, Severity
from biodyn.library.tables import segment_title
from biodyn.model.assembly import Coordinate
from biodyn.processing.kinematics.skeleton_fit import Fit, PoseMisfit
from biodyn.processing.signals.filtering import finite_rms, finite_stretches
from biodyn.processing.signals.gaps import Gap
from biodyn.recording import Contact, Markers, PlateWrench

# Number of markers above which simultaneous gaps (with this overlap) are reported as one event.
_SINGLE = 4
# Distance within which a coordinate is at the limit of its range.
_AT_LIMIT_RAD = np.deg2rad(0.2)
LIMIT_SHARE = 0.05
# Least error of a reported marker, in multiples of the median error.
_HOT = 2.0

# Activities with impacts, and their least cut-off. In simulated running at 3.3 m/s the RMS error of knee torque is
# 0.14 Nm/kg at 6 Hz and 0.04 at 12 Hz.
_IMPACTS = frozenset(("running", "jump"))
LEAST_IMPACT_HZ = 10.0


def find_long_gaps(
    gaps: Sequence[Gap], rate_hz: float, longest_s: float, span: tuple[int, int] | None, absent: BoolArray
) -> list[Gap]:
    """Return unfilled gaps longer than `longest_s` that overlap the frames `span` (both inclusive).

    During shorter gaps the other markers determine the segment, and the uncertainty of the torques includes the effect. If
    `span` is None, all frames except those without a person (`absent` (T,)) are included.
    """
    first, last = span if span is not None else (0, np.inf)
    return [
        gap
        for gap in gaps
        if gap.method == "left"
        and np.count_nonzero(~absent[gap.first : gap.last + 1]) / rate_hz > longest_s
        and gap.first <= last
        and gap.last >= first
    ]


def report_gaps(
    gaps: Sequence[Gap], labels: Sequence[str], rate_hz: float, worth_s: float, long: Sequence[Gap]
) -> tuple[Diagnostic, ...]:
    """Report unfilled gaps and gaps filled from other markers, one finding per marker.

    Simultaneous gaps of many markers are one finding. `worth_s`: shortest reported gap; `long`: gaps with a warning.
    """
    worth = [gap for gap in gaps if (gap.last - gap.first + 1) / rate_hz > worth_s]
    unfilled = [gap for gap in worth if gap.method == "left"]
    notes = []
    for together in _simultaneous_gaps(unfilled):
        notes.append(_simultaneous_gap_note(together, labels, rate_hz, worth_s, _severity_of_gaps(together, long)))
        unfilled = [gap for gap in unfilled if gap not in together]
    guessed = [gap for gap in worth if gap.method != "left"]
    for kind in (unfilled, guessed):
        by_marker: dict[int, list[Gap]] = {}
        for gap in kind:
            by_marker.setdefault(gap.marker, []).append(gap)
        notes += [
            _gap_note(marker_gaps, labels[marker], rate_hz, worth_s, _severity_of_gaps(marker_gaps, long))
            for marker, marker_gaps in by_marker.items()
        ]
    return tuple(notes)


def _severity_of_gaps(gaps: Sequence[Gap], long: Sequence[Gap]) -> Severity:
    return "warning" if any(gap in long for gap in gaps) else "info"


def _simultaneous_gaps(unfilled: Sequence[Gap]) -> list[list[Gap]]:
    """Return groups of gaps of many markers over nearly the same frames."""
    together = 0.8  # overlap of simultaneous gaps
    groups: list[list[Gap]] = []
    for gap in unfilled:
        group = next((group for group in groups if _overlap_fraction(gap, group[0]) > together), None)
        if group is None:
            groups.append([gap])
        else:
            group.append(gap)
    return [group for group in groups if len(group) > _SINGLE]


def _overlap_fraction(a: Gap, b: Gap) -> float:
    """Return the overlap of two gaps as a fraction of their union."""
    return (min(a.last, b.last) - max(a.first, b.first) + 1) / (max(a.last, b.last) - min(a.first, b.first) + 1)


def _simultaneous_gap_note(
    together: Sequence[Gap], labels: Sequence[str], rate_hz: float, worth_s: float, severity: Severity
) -> Diagnostic:
    first, last = min(gap.first for gap in together), max(gap.last for gap in together)
    names = [labels[gap.marker] for gap in together]
    if len(names) == len(labels):
        who, so = "All markers", "no joint moments can be computed in these frames"
    else:
        shown = ", ".join(names[:_SINGLE])
        who = f"{len(names)} of {len(labels)} markers ({shown}, ...)"
        so = "they are excluded from the fit in these frames"
    length = (last - first + 1) / rate_hz
    return Diagnostic(
        "marker-gap",
        severity,
        f"{who} are missing together from {first / rate_hz:.2f} to {last / rate_hz:.2f} s. The gaps were not "
        f"filled, and {so}.",
        value=length,
        limit=worth_s,
        unit="s",
        frames=(first, last),
        hint="The person was out of view, or the capture software dropped frames. Cut the trial, or export it again.",
    )


def _gap_note(gaps: Sequence[Gap], label: str, rate_hz: float, worth_s: float, severity: Severity) -> Diagnostic:
    is_unfilled = gaps[0].method == "left"
    longest = max(gaps, key=lambda gap: gap.last - gap.first)
    length = (longest.last - longest.first + 1) / rate_hz
    what = (
        "not filled, and excluded from the fit in these frames"
        if is_unfilled
        else "filled from the other markers of its segment"
    )
    count = "1 gap" if len(gaps) == 1 else f"{len(gaps)} gaps, the longest"
    return Diagnostic(
        "marker-gap",
        severity,
        f"{label}: {count} ({length:.2f} s), {what}.",
        value=length,
        limit=worth_s,
        unit="s",
        frames=(longest.first, longest.last),
        hint="Fill the gap in the capture software if other cameras recorded the marker." if is_unfilled else "",
        about=label,
    )


def find_spikes(markers: Markers, off: FloatArray, limit_m: FloatArray) -> tuple[Diagnostic, ...]:
    """Report markers that jump for one or two frames; off: (T, M) `distance_from_median`, m; limit_m: (M,)."""
    notes = []
    for column in np.flatnonzero((off > limit_m).any(axis=0)):
        rows = np.flatnonzero(off[:, column] > limit_m[column])
        worst = float(off[:, column].max())
        frames = f"{len(rows)} frames" if len(rows) > 1 else f"frame {rows[0]}"
        notes.append(
            Diagnostic(
                "marker-spike",
                "warning",
                f"Marker {markers.labels[column]} jumps by {1000 * worst:.0f} mm in {frames}. These samples are not "
                "used.",
                value=worst,
                limit=float(limit_m[column]),
                unit="m",
                frames=(int(rows[0]), int(rows[-1])),
                hint="The cause is a ghost marker or a swapped label. Correct the trajectory in the capture software.",
                about=markers.labels[column],
            )
        )
    return tuple(notes)


def report_large_marker_errors(fit: Fit, limit_m: float) -> tuple[Diagnostic, ...]:
    """Report markers with an RMS error above `limit_m` and far above the median of all markers."""
    errors = rms_errors(fit)
    usual = float(np.median(errors)) if len(errors) else 0.0
    notes = []
    for column in np.flatnonzero((errors > limit_m) & (errors > _HOT * usual)):
        notes.append(
            Diagnostic(
                "marker-error",
                "warning",
                f"Marker {fit.labels[column]} has a tracking error of {1000 * errors[column]:.0f} mm RMS (median of all "
                f"markers {1000 * usual:.0f} mm).",
                value=float(errors[column]),
                limit=limit_m,
                unit="m",
                hint="Possible causes are loose clothing, a swapped label, or a marker that was moved after the "
                "calibration.",
                about=fit.labels[column],
            )
        )
    return tuple(notes)


def report_distant_poses(misfit: PoseMisfit, limit_m: float) -> tuple[Diagnostic, ...]:
    """Report segments with an RMS distance of the origin above `limit_m` and far above the median."""
    away, turned = finite_rms(misfit.origin_m.T), finite_rms(misfit.turn_rad.T)
    usual = float(np.median(away)) if len(away) else 0.0
    return tuple(
        Diagnostic(
            "pose-error",
            "warning",
            f"Segment {misfit.labels[i]} differs from the skeleton by {1000 * away[i]:.0f} mm and "
            f"{np.rad2deg(turned[i]):.0f} degrees RMS (median of all segments {1000 * usual:.0f} mm).",
            value=float(away[i]),
            limit=limit_m,
            unit="m",
            hint="Check for frames with jumps. The joints of the skeleton rotate but do not translate.",
            about=misfit.labels[i],
        )
        for i in np.flatnonzero((away > limit_m) & (away > _HOT * usual))
    )


def rms_errors(fit: Fit) -> FloatArray:
    """Return the RMS error (M,) m of every fitted marker over its visible frames; 0 if it is never visible."""
    error = fit.marker_error
    seen = np.isfinite(error)
    total = np.where(seen, np.nan_to_num(error) ** 2, 0.0).sum(axis=0)
    return np.asarray(np.sqrt(total / np.maximum(seen.sum(axis=0), 1)))


def report_joint_limits(fit: Fit) -> tuple[Diagnostic, ...]:
    """Report coordinates at the limit of their range in more than `LIMIT_SHARE` of the frames."""
    notes = []
    for coordinate in fit.model.coordinates:
        low, high = coordinate.range_rad
        angle, resting = _coordinate_values(fit, coordinate), frames_at_limit(fit, coordinate)
        share = float(resting.mean())
        if share <= LIMIT_SHARE:
            continue
        first, stop = max(finite_stretches(resting), key=lambda run: run[1] - run[0])
        end = low if np.nanmean(angle[resting]) < 0.5 * (low + high) else high
        notes.append(
            Diagnostic(
                "joint-limit",
                "info",
                f"{coordinate.name} is at the limit of its range ({np.rad2deg(end):.0f} degrees) in {100 * share:.0f} % of "
                "the frames.",
                value=share,
                limit=LIMIT_SHARE,
                frames=(int(first), int(stop - 1)),
                hint=f"{_markers_text(fit, coordinate.body)} may be misplaced or have exchanged labels, or a joint "
                "axis does not agree with the subject.",
                about=coordinate.name,
            )
        )
    return tuple(notes)


def _markers_text(fit: Fit, body: str) -> str:
    """Return the fitted markers of a body as the subject of a sentence."""
    labels = [marker.label for marker in fit.model.markers if marker.body == body and marker.label in fit.labels]
    title = segment_title(body)
    return f"Markers of the {title} ({', '.join(labels)})" if labels else f"Markers distal to the {title}"


def frames_at_limit(fit: Fit, coordinate: Coordinate) -> BoolArray:
    """Return the frames (T,) with a coordinate at a limit of its range."""
    low, high = coordinate.range_rad
    angle = _coordinate_values(fit, coordinate)
    return np.asarray((angle < low + _AT_LIMIT_RAD) | (angle > high - _AT_LIMIT_RAD))


def _coordinate_values(fit: Fit, coordinate: Coordinate) -> FloatArray:
    return fit.values[:, fit.model.coordinates.index(coordinate)]


def report_different_filters(cutoff_hz: float, force_cutoff_hz: float) -> tuple[Diagnostic, ...]:
    """Report different cut-offs of markers and forces, which cause artefacts in torques at impacts."""
    if cutoff_hz == force_cutoff_hz:
        return ()
    return (
        Diagnostic(
            "filters-differ",
            "warning",
            f"Markers are filtered at {cutoff_hz:g} Hz and forces at {force_cutoff_hz:g} Hz (0 = not filtered), so "
            "that torques have artefacts at impacts.",
            value=force_cutoff_hz,
            limit=cutoff_hz,
            unit="Hz",
            hint="Use the same cut-off for both (Bisseling & Hof 2006, J Biomech 39:2438-2444; Kristianslund et al. "
            "2012, doi 10.1016/j.jbiomech.2011.12.011).",
        ),
    )


def report_low_cutoff(cutoff_hz: float, kind: str) -> tuple[Diagnostic, ...]:
    """Report a cut-off that is too low for the impacts of running and jumping; `kind`: kind of activity."""
    if kind not in _IMPACTS or not 0.0 < cutoff_hz < LEAST_IMPACT_HZ:
        return ()
    return (
        Diagnostic(
            "cutoff-low",
            "warning",
            f"Markers are filtered at {cutoff_hz:g} Hz, which is appropriate for walking, but the activity is {kind}. "
            "Torques at impacts are too low and too early.",
            value=cutoff_hz,
            limit=LEAST_IMPACT_HZ,
            unit="Hz",
            hint='Set signals.cutoff_hz = "auto", the default (see docs/rough_walks.md).',
        ),
    )


def report_pressure_outside_sole(contacts: Sequence[Contact], rate_hz: float, limit_m: float) -> tuple[Diagnostic, ...]:
    """Report contacts with a centre of pressure more than `limit_m` outside the sole (95th percentile)."""
    notes = []
    for contact in contacts:
        distance = contact.evidence.get("cop_distance_95_m", np.nan)
        if contact.decision != "assigned" or not distance > limit_m:
            continue
        notes.append(
            Diagnostic(
                "cop-outside-sole",
                "warning",
                f"The centre of pressure on plate {contact.plate} is up to {100 * distance:.1f} cm outside the foot outline "
                f"({contact.start_s:.2f} to {contact.end_s:.2f} s).",
                value=distance,
                limit=limit_m,
                unit="m",
                frames=(int(contact.start_s * rate_hz), int(contact.end_s * rate_hz)),
                hint="Check corners, origin and offset of the plate, and the markers of this foot.",
            )
        )
    return tuple(notes)


# -- markers and forces that were low-pass filtered before they were stored --------------------------------------------
# In walking, changes of the vertical force are nearly as large at 25 to 40 Hz as at 10 to 18 Hz; a low-pass filter reduces
# the higher band, independent of person and speed. The same holds for accelerations of the feet at 6 to 9 and at 2 to 4 Hz.

# Least load of an evaluated plate as a fraction of body weight, and least duration of an evaluated trajectory.
_LEAST_LOAD, _LEAST_S = 0.4, 0.8
_FEWEST, _FASTEST = 4, 5  # the fifth of the markers with the largest accelerations


def force_band_ratio(plates: Sequence[PlateWrench], weight_n: float) -> float:
    """Return the ratio of the amplitudes of changes of the vertical force at 25 to 40 Hz and at 10 to 18 Hz.

    plates: unfiltered wrenches at their sampling rates. NaN without a loaded plate, or if the rates are too low for 40 Hz.
    """
    vertical = 4  # index in a wrench [moment; force] in World
    force_bands_hz = ((10.0, 18.0), (25.0, 40.0))
    ratios = []
    for plate in plates:
        force = np.nan_to_num(plate.wrench[:, vertical])
        if plate.rate_hz <= 2.0 * force_bands_hz[1][1] or np.abs(force).max(initial=0.0) < _LEAST_LOAD * weight_n:
            continue
        if np.count_nonzero(np.abs(force) > 0.1 * weight_n) >= 0.25 * plate.rate_hz:
            ratios.append(
                _band_ratio(
                    np.diff(force * _taper_weights(len(force), plate.rate_hz))[:, None], plate.rate_hz, force_bands_hz
                )
            )
    return float(np.median([ratio for _, ratio in ratios])) if ratios else math.nan


def marker_band_ratio(markers: Markers) -> float:
    """Return the ratio of the amplitudes of accelerations of the fastest markers at 6 to 9 Hz and at 2 to 4 Hz.

    markers: recorded markers. NaN without long trajectories, or if the rate is too low.
    """
    marker_bands_hz = ((2.0, 4.0), (6.0, 9.0))
    rate_hz = markers.rate_hz
    if rate_hz <= 2.0 * marker_bands_hz[1][1]:
        return math.nan
    ratios = []
    for path in np.moveaxis(markers.positions, 1, 0):
        stretches = finite_stretches(np.isfinite(path).all(axis=1))
        first, stop = max(stretches, key=lambda ends: ends[1] - ends[0], default=(0, 0))
        if stop - first >= _LEAST_S * rate_hz:
            bend = np.diff(path[first:stop], 2, axis=0) * rate_hz**2
            ratios.append(_band_ratio(bend * np.hanning(len(bend))[:, None], rate_hz, marker_bands_hz))
    ratios.sort(reverse=True)
    fastest = [ratio for _, ratio in ratios[: max(_FEWEST, len(ratios) // _FASTEST)]]
    return float(np.median(fastest)) if len(fastest) >= _FEWEST else math.nan


def _taper_weights(count: int, rate_hz: float) -> FloatArray:
    """Return weights (count,) that increase smoothly from 0 at both ends to 1."""
    taper_s = 0.1
    edge = np.minimum(np.arange(count), np.arange(count)[::-1]) / (taper_s * rate_hz)
    return np.asarray(np.sin(0.5 * np.pi * np.minimum(edge, 1.0)) ** 2)


def _band_ratio(signal: FloatArray, rate_hz: float, bands_hz: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    """Return the mean power of a signal (T, k) in the lower band, and the amplitude ratio of the upper to the lower band."""
    count = max(len(signal), round(4.0 * rate_hz))  # frequency resolution of at least 0.25 Hz
    power = (np.abs(np.fft.rfft(signal, count, axis=0)) ** 2).sum(axis=1)
    hz = np.fft.rfftfreq(count, 1.0 / rate_hz)
    low, high = (float(power[(hz >= begin) & (hz < end)].mean()) for begin, end in bands_hz)
    return low, math.sqrt(high / low) if low > 0.0 else math.inf


def report_smoothed_forces(content: float, limit: float) -> tuple[Diagnostic, ...]:
    """Report forces that were low-pass filtered before they were stored."""
    text = (
        "The forces were low-pass filtered before they were stored, at about 10 Hz or lower: the ratio of "
        f"amplitudes at 25 to 40 Hz and at 10 to 18 Hz is {content:.2f}; measured walks have at least 0.3. Joint "
        "torques after foot strike are too small."
    )
    hint = "Export the forces unfiltered at the sampling rate of the plates."
    return _smoothing_finding("forces-smoothed-before", text, hint, content, limit)


def report_smoothed_markers(content: float, limit: float) -> tuple[Diagnostic, ...]:
    """Report trajectories that were low-pass filtered before they were stored."""
    text = (
        "The markers were low-pass filtered before they were stored, below about 4 Hz: the ratio of amplitudes of "
        f"foot accelerations at 6 to 9 Hz and at 2 to 4 Hz is {content:.2f}; measured walks have at least 0.16. "
        "Fast components of motion and joint torques are lost."
    )
    hint = "Export the trajectories without a filter, or with a cut-off of at least 6 Hz."
    return _smoothing_finding("markers-smoothed-before", text, hint, content, limit)


def _smoothing_finding(code: str, text: str, hint: str, content: float, limit: float) -> tuple[Diagnostic, ...]:
    return (Diagnostic(code, "warning", text, value=content, limit=limit, hint=hint),) if content < limit else ()
