"""The quietest part of a static trial, joint centres stored by other software, and markers missing in the static trial."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StaticTrialError
from biodyn.geometry.points import rigid_fit
from biodyn.library.tables import sided_rows
from biodyn.library.toml_files import load_table
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.gaps import remove_spikes
from biodyn.recording import Markers, ModelOutput, Recording, quietest_part
from biodyn.recording.stillness import MOVING_RANGE_M, QUIET_RANGE_M, movement_m

#: Source of joint centres and marker positions: a static trial; quiet standing in another recording; joint offsets
#: stored by the laboratory's software; the motion of the walk; segment poses; or an OpenSim model.
CalibrationSource: TypeAlias = Literal["static trial", "quiet part", "stored offsets", "walk", "poses", "model"]
#: Description of each source, for messages.
SOURCE_WORDS: dict[CalibrationSource, str] = {
    "static trial": "a static trial",
    "quiet part": "quiet standing in another recording",
    "stored offsets": "the joint offsets stored by the laboratory's software, and the walking trial itself",
    "walk": "the walking trial itself",
    "poses": "the segment poses in the file",
    "model": "an OpenSim model",
}

_LEAST_FRAMES = 10


@dataclass(frozen=True)
class StandingPosture:
    """Mean marker positions (3,) m by label in the quietest window, first and last frame of the window, and the movement (m) of
    the markers in it.

    Without a static trial, the positions are those of a person assembled from all frames of the walk, and `movement_m` is the
    typical distance of the markers from their mean position on the segment.
    """

    points: dict[str, FloatArray]
    first: int
    last: int
    movement_m: float
    diagnostics: tuple[Diagnostic, ...]


def average_quiet_standing(markers: Markers, frames: tuple[int, int] | None = None) -> StandingPosture:
    """Average every marker over the half second with the least movement, or over the given frames (first, last).

    Markers that are visible only at other times are averaged over those frames. Spikes are excluded. Raises StaticTrialError if
    the subject never stands still.
    """
    markers = remove_spikes(markers)
    p = markers.positions
    seen = np.isfinite(p[..., 0])
    if frames is None:
        quiet = quietest_part(markers)
        first, last, movement = quiet.first, quiet.last, quiet.movement_m
    else:
        first, last = frames
        movement = movement_m(p[first : last + 1])
    movement = movement if np.isfinite(movement) else 0.0
    window = slice(first, last + 1)
    points: dict[str, FloatArray] = {}
    for column, label in enumerate(markers.labels):
        inside = p[window, column][seen[window, column]]
        sample = inside if len(inside) else p[seen[:, column], column]
        if len(sample):
            points[label] = sample.mean(axis=0)
    when = "the quietest half second" if frames is None else "the given frames"
    if movement > MOVING_RANGE_M:
        raise StaticTrialError(
            f"Not a static trial: the markers move by {100 * movement:.0f} cm even in {when} (expected less than "
            f"{100 * MOVING_RANGE_M:.0f} cm).",
            "Select a trial of quiet standing with --static FILE, or analyse without a static trial with --static "
            "none.",
        )
    diagnostics: tuple[Diagnostic, ...] = ()
    if movement > QUIET_RANGE_M:
        diagnostics = (
            Diagnostic(
                "static-doubtful",
                "warning",
                f"The markers move by {1000 * movement:.0f} mm in {when} of the static trial.",
                value=movement,
                limit=QUIET_RANGE_M,
                unit="m",
                hint="Use a trial in which the subject stands still.",
            ),
        )
    return StandingPosture(points, first, last, movement, diagnostics)


def flat_foot_frames(positions: FloatArray, rate_hz: float) -> BoolArray:
    """Return a mask (T,) of the frames with a flat foot, in which all its markers (T, M, 3) m are low and nearly at rest
    vertically.

    This is the middle of stance, between heel contact and heel rise. The motion of a treadmill belt has no effect, because only
    vertical speeds are used.
    """
    # Flat foot: markers within this height of their own lowest (percentile) height, most of them with a lower vertical speed, for
    # this time, without a margin at both ends.
    low_percent = 5.0
    low_m = 0.035
    rising_m_s = 0.08
    most_markers = 0.8
    least_flat_s = 0.06
    margin_share = 0.2
    height = positions[..., 1]
    whole = np.isfinite(height).all(axis=1)
    flat = np.zeros(len(height), dtype=bool)
    if np.count_nonzero(whole) < _LEAST_FRAMES:
        return flat
    low = np.all(height - np.percentile(height[whole], low_percent, axis=0) < low_m, axis=1)
    rate = np.abs(np.gradient(height, 1.0 / rate_hz, axis=0))
    still = np.mean(rate < rising_m_s, axis=1) >= most_markers
    for first, stop in finite_stretches(whole & low & still):
        margin = round(margin_share * (stop - first))
        if stop - first >= least_flat_s * rate_hz:
            flat[first + margin : stop - margin] = True
    return flat


_SEPARATORS = re.compile(r"[\s_.\-#]+")


def read_stored_centres(static: Recording) -> tuple[MarkerRole, ...]:
    """Return the stored joint centres of the recording, one per joint.

    Call this function before the recording is rotated, because computed points stay in the frame of the file.
    """
    centres: dict[str, MarkerRole] = {}
    for _, row in sided_rows("body/computed_centres", "centre"):
        labels = (_match_label(static, re.compile(pattern)) for pattern in row["labels"])
        label = next(filter(None, labels), "")
        if label:
            role = MarkerRole(label, row["landmark"], row["body"], 0.0, True, "stored")
            centres.setdefault(row["landmark"], role)
    return tuple(centres.values())


def add_stored_centres(static: Recording, centres: Sequence[MarkerRole]) -> Recording:
    """Return the recording with the stored joint centres as additional markers, so that they are averaged and rotated with
    them."""
    columns = [_to_metres(static.model_outputs[centre.label])[:, None] for centre in centres]
    if not columns:
        return static
    markers = static.markers
    positions = np.concatenate([markers.positions, *columns], axis=1)
    more = replace(markers, labels=(*markers.labels, *(centre.label for centre in centres)), positions=positions)
    return replace(static, motion=replace(static.motion, markers=more))


def add_centre_roles(mapping: MarkerMapping, centres: Sequence[MarkerRole]) -> tuple[MarkerMapping, list[Diagnostic]]:
    """Return the mapping with the stored centres as landmarks, which have no weight in the fit, and a finding about them."""
    if not centres:
        return mapping, []
    names = ", ".join(f"{centre.label} ({centre.landmark})" for centre in centres)
    note = Diagnostic(
        "stored-centres",
        "info",
        f"The joint centres stored in the static trial are used: {names}.",
        hint="Set [model] stored_centres = false to use the joint centres computed by biodyn.",
    )
    return replace(mapping, roles=(*mapping.roles, *centres)), [note]


def _match_label(static: Recording, pattern: re.Pattern[str]) -> str:
    """Return the label of a computed point that matches the pattern, is visible and is within the body; "" if none exists."""
    # Largest distance of a joint centre from the nearest marker; a larger one shows another unit or frame.
    farthest_m = 0.3
    for label, output in static.model_outputs.items():
        if output.kind != "virtual_point" or not pattern.fullmatch(_SEPARATORS.sub("", label.upper())):
            continue
        place = np.nanmedian(_to_metres(output), axis=0) if np.isfinite(output.values).any() else np.full(3, np.nan)
        distance = np.linalg.norm(np.nanmedian(static.markers.positions, axis=0) - place, axis=1)
        if np.isfinite(place).all() and np.nanmin(distance) < farthest_m:
            return label
    return ""


def _to_metres(output: ModelOutput) -> FloatArray:
    factors = load_table("formats/c3d_names")["length_units"]
    return np.asarray(output.values * factors.get(output.unit.strip().lower(), 0.001))


# Largest RMS deviation from a rigid segment (soft tissue of a simulated pelvis: 5 to 7 mm); beyond it a marker was moved
# between the recordings.
_MOST_APART_M = 0.015


def add_missing_markers(standing: StandingPosture, walk: Markers, mapping: MarkerMapping) -> StandingPosture:
    """Add the markers that are visible only in the walk to the standing posture, at their positions on the segments.

    A marker is added if its segment has three other markers in both recordings. walk: markers in World, gaps filled. The finding
    `marker-carried-over` states the deviation of the markers of the segment from a rigid body.
    """
    places = {
        role.label: (role, place)
        for role in mapping.roles
        if role.label not in standing.points and role.label in walk.labels and not role.soft
        if (place := _locate_marker(role, standing.points, walk, mapping)) is not None
    }
    if not places:
        return standing
    return replace(
        standing,
        points=standing.points | {label: place[0] for label, (_, place) in places.items()},
        diagnostics=(
            *standing.diagnostics,
            *(_added_marker_note(role, deviation_m, others) for role, (_, deviation_m, others) in places.values()),
        ),
    )


def _locate_marker(
    missing: MarkerRole, points: Mapping[str, FloatArray], walk: Markers, mapping: MarkerMapping
) -> tuple[FloatArray, float, tuple[str, ...]] | None:
    """Return the position (3,) m of a missing marker in the static trial, computed from the other markers of its segment.

    The RMS deviation (m) of the segment from a rigid body and the labels of these markers are also returned; None if too few
    markers or frames are available, or the segment is not rigid.
    """
    # Least number of markers of a segment and least extent across their longest line (pelvis: 10 cm and more).
    least_markers, least_span_m = 3, 0.04
    others = tuple(
        role.label
        for role in mapping.roles
        if role.body == missing.body and role.label in points and role.label in walk.labels and not role.soft
    )
    if len(others) < least_markers:
        return None
    standing = np.stack([points[label] for label in others])
    if np.linalg.svd(standing - standing.mean(axis=0), compute_uv=False)[1] < least_span_m:
        return None
    walking = walk.positions[:, [walk.index(label) for label in (*others, missing.label)]]
    walking = walking[np.isfinite(walking).all(axis=(1, 2))]
    if len(walking) < _LEAST_FRAMES:
        return None
    R, p = rigid_fit(standing, walking[:, :-1])  # from World of the static trial into each frame
    back = np.einsum("tji,tmj->tmi", R, walking - p[:, None])
    place = np.median(back[:, -1], axis=0)
    deviation = np.concatenate([(back[:, :-1] - standing).reshape(-1, 3), back[:, -1] - place])
    rms = float(np.sqrt(np.mean(np.sum(deviation**2, axis=1))))
    return (place, rms, others) if rms < _MOST_APART_M else None


def _added_marker_note(role: MarkerRole, deviation_m: float, others: Sequence[str]) -> Diagnostic:
    return Diagnostic(
        "marker-carried-over",
        "warning",
        f"{role.label} is not in the static trial: its position relative to {', '.join(others)} was taken from the walk "
        f"({role.body} deviates by {1000 * deviation_m:.1f} mm RMS from a rigid body).",
        value=deviation_m,
        limit=_MOST_APART_M,
        unit="m",
        hint="Use a static trial with this marker: soft tissue moves between standing and walking.",
        about=role.label,
    )
