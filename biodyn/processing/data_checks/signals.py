"""Checks of single signals: gaps, spikes, hot spots, joint limits, filters, pressure beside the sole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.diagnostics import Diagnostic
from biodyn.processing.filtering import finite_stretches
from biodyn.processing.gaps import Gap
from biodyn.processing.kinematics import Fit
from biodyn.trial import Contact, Markers

# A marker off the median of its neighbouring frames by so much jumped: no marker on a walking person does that at 50 Hz or more.
_SPIKE_M = 0.03
_SPIKE_WINDOW = 5
# A coordinate this near its limit rests on it.
_AT_LIMIT_RAD = np.deg2rad(0.2)
_LIMIT_SHARE = 0.05
# A hot spot has more than this many times the usual marker's error.
_HOT = 2.0


def gaps_left(gaps: Sequence[Gap], labels: Sequence[str], rate_hz: float, worth_s: float) -> tuple[Diagnostic, ...]:
    """A finding for every marker with gaps that were not filled, and one for those that had to be guessed from others.

    `worth_s`: filled gaps shorter than this are not worth a word.
    """
    notes = []
    by_marker: dict[int, list[Gap]] = {}
    for gap in gaps:
        by_marker.setdefault(gap.marker, []).append(gap)
    for marker, own in by_marker.items():
        left = [gap for gap in own if gap.method == "left"]
        worth = left or [gap for gap in own if (gap.last - gap.first + 1) / rate_hz > worth_s]
        if not worth:
            continue
        longest = max(worth, key=lambda gap: gap.last - gap.first)
        length = (longest.last - longest.first + 1) / rate_hz
        what = "not filled: the marker has no weight there" if left else "filled from the other markers of its segment"
        notes.append(
            Diagnostic(
                "marker-gap",
                "warning" if left else "info",
                f"Marker {labels[marker]} is missing in {len(worth)} gap{'s' if len(worth) > 1 else ''}, the longest of "
                f"{length:.2f} s, {what}.",
                value=length,
                limit=worth_s,
                unit="s",
                frames=(longest.first, longest.last),
                hint="Fill it in the capture software where other cameras saw it." if left else "",
            )
        )
    return tuple(notes)


def spikes(markers: Markers) -> tuple[Diagnostic, ...]:
    """Markers that jump away for a frame or two and come back."""
    p = markers.positions
    half = _SPIKE_WINDOW // 2
    if len(p) < _SPIKE_WINDOW:
        return ()
    windows = np.stack([p[k : len(p) - _SPIKE_WINDOW + 1 + k] for k in range(_SPIKE_WINDOW)])
    off = np.linalg.norm(p[half : len(p) - half] - np.sort(windows, axis=0)[half], axis=2)
    off[np.isnan(windows).any(axis=(0, 3))] = 0.0  # no judgement beside a gap
    notes = []
    for column in np.flatnonzero((off > _SPIKE_M).any(axis=0)):
        rows = np.flatnonzero(off[:, column] > _SPIKE_M) + half
        worst = float(off[:, column].max())
        notes.append(
            Diagnostic(
                "marker-spike",
                "warning",
                f"Marker {markers.labels[column]} jumps by {1000 * worst:.0f} mm and back in {len(rows)} frames.",
                value=worst,
                limit=_SPIKE_M,
                unit="m",
                frames=(int(rows[0]), int(rows[-1])),
                hint="A phantom or an exchanged label: correct the trajectory in the capture software.",
            )
        )
    return tuple(notes)


def hot_spots(fit: Fit, limit_m: float) -> tuple[Diagnostic, ...]:
    """Markers whose own error (RMS) exceeds `limit_m` and that of the usual marker by far."""
    error = fit.marker_error
    seen = np.isfinite(error)
    rms = np.sqrt(np.where(seen, np.nan_to_num(error) ** 2, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))
    usual = float(np.median(rms)) if len(rms) else 0.0
    notes = []
    for column in np.flatnonzero((rms > limit_m) & (rms > _HOT * usual)):
        notes.append(
            Diagnostic(
                "marker-error",
                "warning",
                f"Marker {fit.labels[column]} lies {1000 * rms[column]:.0f} mm (RMS) from its place on the skeleton, the usual "
                f"marker {1000 * usual:.0f} mm.",
                value=float(rms[column]),
                limit=limit_m,
                unit="m",
                hint="Loose clothing, an exchanged label, or a marker touched after the static trial.",
            )
        )
    return tuple(notes)


def joint_limits(fit: Fit) -> tuple[Diagnostic, ...]:
    """Coordinates that rest on the limit of their range for a while: there the skeleton cannot follow the markers."""
    notes = []
    q = fit.motion.q
    for coordinate in fit.model.coordinates:
        low, high = coordinate.range_rad
        angle = q[:, coordinate.q_index]
        resting = (angle < low + _AT_LIMIT_RAD) | (angle > high - _AT_LIMIT_RAD)
        share = float(resting.mean())
        if share <= _LIMIT_SHARE:
            continue
        first, stop = max(finite_stretches(resting), key=lambda run: run[1] - run[0])
        end = low if np.nanmean(angle[resting]) < 0.5 * (low + high) else high
        notes.append(
            Diagnostic(
                "joint-limit",
                "info",
                f"{coordinate.name} rests on the limit of its range ({np.rad2deg(end):.0f} degrees) in {100 * share:.0f} % of "
                "the frames.",
                value=share,
                limit=_LIMIT_SHARE,
                frames=(int(first), int(stop - 1)),
                hint="A marker on a wrong place or with a wrong label, or a joint axis that does not fit the person.",
            )
        )
    return tuple(notes)


def filters_differ(cutoff_hz: float, force_cutoff_hz: float) -> tuple[Diagnostic, ...]:
    """Markers and forces filtered differently put false peaks into the torques at every impact."""
    if cutoff_hz == force_cutoff_hz:
        return ()
    return (
        Diagnostic(
            "filters-differ",
            "warning",
            f"Markers are filtered at {cutoff_hz:g} Hz, forces at {force_cutoff_hz:g} Hz (0 = not at all): torques have "
            "artefacts at impacts.",
            value=force_cutoff_hz,
            limit=cutoff_hz,
            unit="Hz",
            hint="Use one cut-off for both: Bisseling & Hof 2006, J Biomech 39:2438-2444; Kristianslund et al. 2012, "
            "doi 10.1016/j.jbiomech.2011.12.011.",
        ),
    )


def pressure_beside_sole(contacts: Sequence[Contact], rate_hz: float, limit_m: float) -> tuple[Diagnostic, ...]:
    """Contacts in which the centre of pressure leaves the sole by more than `limit_m` (95th percentile)."""
    notes = []
    for contact in contacts:
        distance = contact.evidence.get("cop_distance_95_m", np.nan)
        if contact.decision != "assigned" or not distance > limit_m:
            continue
        notes.append(
            Diagnostic(
                "cop-outside-sole",
                "warning",
                f"The centre of pressure on plate {contact.plate} lies up to {100 * distance:.1f} cm beside the sole "
                f"({contact.start_s:.2f} to {contact.end_s:.2f} s).",
                value=distance,
                limit=limit_m,
                unit="m",
                frames=(int(contact.start_s * rate_hz), int(contact.end_s * rate_hz)),
                hint="Corners or origin of the plate, its zero, or the markers of this foot.",
            )
        )
    return tuple(notes)
