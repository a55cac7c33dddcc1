"""The quiet part of a static trial, averaged; frames of a walk in which a foot stands flat."""

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
from biodyn.library.load import load_table
from biodyn.library.tables import sided_rows
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.processing.signals.gaps import without_spikes
from biodyn.recording import Markers, ModelOutput, Recording, quietest_part
from biodyn.recording.stillness import MOVING_RANGE_M, QUIET_RANGE_M, movement_m

#: What tells where joints and markers are on a person's segments: a static trial; a part of another recording in which the
#: person stands quietly; the joint offsets that the laboratory's software stored; the motion of the walk alone; poses of
#: segments, which tell joint centres and axes themselves; or an OpenSim model, which has them.
CalibrationSource: TypeAlias = Literal["static trial", "quiet part", "stored offsets", "walk", "poses", "model"]
#: Each of them in words, where it had to do instead of a static trial.
SOURCE_WORDS: dict[CalibrationSource, str] = {
    "static trial": "a static trial",
    "quiet part": "a part of a recording in which the subject stands",
    "stored offsets": "the joint offsets that the laboratory's software stored, and the walk itself",
    "walk": "the walk itself",
    "poses": "the poses of its segments",
    "model": "an OpenSim model",
}

# A foot is flat while its markers are this near to their own lowest height and most of them rise or fall slower than this, for
# this long; at both ends of that time heel or toes are still on their way.
_LOW_PERCENT = 5.0
_LOW_M = 0.035
_RISING_M_S = 0.08
_MOST_MARKERS = 0.8
_LEAST_FLAT_S = 0.06
_MARGIN_SHARE = 0.2
_LEAST_FRAMES = 10


@dataclass(frozen=True)
class Standing:
    """Mean marker positions (3,) m by label over the quietest window; frames [first, last]; how far markers moved, m.

    Where the walk itself had to tell, the positions are those of an assembled person over all its frames, and `movement_m` is
    how far markers typically are from their mean place on their segment.
    """

    points: dict[str, FloatArray]
    first: int
    last: int
    movement_m: float
    diagnostics: tuple[Diagnostic, ...]


def quiet_standing(markers: Markers, frames: tuple[int, int] | None = None) -> Standing:
    """Average every marker over the half second in which the markers move least, or over the frames (first, last) that are named.

    Markers that are seen at some time but not in that window are averaged over the frames that show them; frames in which one
    jumps away and back do not. Raises StaticTrialError if the subject moves all the time.
    """
    markers = without_spikes(markers)
    p = markers.positions
    seen = np.isfinite(p[..., 0])
    if frames is None:
        quiet = quietest_part(markers)
        first, last, moved = quiet.first, quiet.last, quiet.movement_m
    else:
        first, last = frames
        moved = movement_m(p[first : last + 1])
    moved = moved if np.isfinite(moved) else 0.0
    window = slice(first, last + 1)
    points: dict[str, FloatArray] = {}
    for column, label in enumerate(markers.labels):
        inside = p[window, column][seen[window, column]]
        sample = inside if len(inside) else p[seen[:, column], column]
        if len(sample):
            points[label] = sample.mean(axis=0)
    when = "the quietest half second" if frames is None else "the frames that were named"
    if moved > MOVING_RANGE_M:
        raise StaticTrialError(
            f"Not a static trial: its markers move by {100 * moved:.0f} cm even in {when} "
            f"(expected less than {100 * MOVING_RANGE_M:.0f} cm).",
            "Name a trial in which the subject stands still with --static, or none with --static none.",
        )
    diagnostics: tuple[Diagnostic, ...] = ()
    if moved > QUIET_RANGE_M:
        diagnostics = (
            Diagnostic(
                "static-doubtful",
                "warning",
                f"The markers move by {1000 * moved:.0f} mm in {when} of the static trial.",
                value=moved,
                limit=QUIET_RANGE_M,
                unit="m",
                hint="Use a trial in which the subject stands still.",
            ),
        )
    return Standing(points, first, last, moved, diagnostics)


def flat_frames(positions: FloatArray, rate_hz: float) -> BoolArray:
    """Return the frames (T,) in which a foot stands flat: all its markers (T, M, 3) are low, and hardly one rises or falls.

    The heel has come down and has not risen yet: the middle of the stance. Where the floor goes (treadmill) does not matter.
    """
    height = positions[..., 1]
    whole = np.isfinite(height).all(axis=1)
    flat = np.zeros(len(height), dtype=bool)
    if np.count_nonzero(whole) < _LEAST_FRAMES:
        return flat
    low = np.all(height - np.percentile(height[whole], _LOW_PERCENT, axis=0) < _LOW_M, axis=1)
    rate = np.abs(np.gradient(height, 1.0 / rate_hz, axis=0))
    still = np.mean(rate < _RISING_M_S, axis=1) >= _MOST_MARKERS
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (whole & low & still).astype(int), [0]])))
    for first, stop in zip(edges[::2], edges[1::2], strict=True):
        margin = round(_MARGIN_SHARE * (stop - first))
        if stop - first >= _LEAST_FLAT_S * rate_hz:
            flat[first + margin : stop - margin] = True
    return flat


_SEPARATORS = re.compile(r"[\s_.\-#]+")
# A joint centre lies within the body: farther from every marker it is in another unit or frame.
_FARTHEST_M = 0.3


@dataclass(frozen=True)
class StoredCentre:
    """A joint centre that a recording holds: the label of the computed point, the landmark that it is, a segment at the joint."""

    label: str
    landmark: str
    body: str


def stored_centres(static: Recording) -> tuple[StoredCentre, ...]:
    """Return the joint centres that the recording holds, one a joint.

    Take it before the recording is turned: computed points keep the file's own frame.
    """
    found: dict[str, StoredCentre] = {}
    for _, row in sided_rows("body/computed_centres", "centre"):
        labels = (_matching(static, re.compile(pattern)) for pattern in row["labels"])
        label = next(filter(None, labels), "")
        if label:
            found.setdefault(row["landmark"], StoredCentre(label, row["landmark"], row["body"]))
    return tuple(found.values())


def with_stored_centres(static: Recording, centres: Sequence[StoredCentre]) -> Recording:
    """Return the recording with its stored joint centres among the markers, so that they are averaged and turned with them."""
    columns = [_metres(static.model_outputs[centre.label])[:, None] for centre in centres]
    if not columns:
        return static
    markers = static.markers
    positions = np.concatenate([markers.positions, *columns], axis=1)
    more = replace(markers, labels=(*markers.labels, *(centre.label for centre in centres)), positions=positions)
    return replace(static, motion=replace(static.motion, markers=more))


def centre_roles(mapping: MarkerMapping, centres: Sequence[StoredCentre]) -> tuple[MarkerMapping, list[Diagnostic]]:
    """Return the mapping in which the stored centres mark their landmarks and are fitted to nothing, and the notice of it."""
    if not centres:
        return mapping, []
    roles = tuple(MarkerRole(c.label, c.landmark, c.body, 0.0, True, "stored") for c in centres)
    said = ", ".join(f"{centre.label} ({centre.landmark})" for centre in centres)
    note = Diagnostic(
        "stored-centres",
        "info",
        f"Joint centres are those that the static trial's file stores: {said}.",
        hint="[model] stored_centres = false uses biodyn's own.",
    )
    return replace(mapping, roles=mapping.roles + roles), [note]


def _matching(static: Recording, pattern: re.Pattern[str]) -> str:
    """A computed point whose label matches, is seen, and lies in the body."""
    for label, output in static.model_outputs.items():
        if output.kind != "virtual_point" or not pattern.fullmatch(_SEPARATORS.sub("", label.upper())):
            continue
        place = np.nanmedian(_metres(output), axis=0) if np.isfinite(output.values).any() else np.full(3, np.nan)
        distance = np.linalg.norm(np.nanmedian(static.markers.positions, axis=0) - place, axis=1)
        if np.isfinite(place).all() and np.nanmin(distance) < _FARTHEST_M:
            return label
    return ""


def _metres(output: ModelOutput) -> FloatArray:
    factors = load_table("formats/c3d_names")["length_units"]
    return np.asarray(output.values * factors.get(output.unit.strip().lower(), 0.001))


# Three markers hold a segment; they must span this much across their longest line (a pelvis: 10 cm and more).
_LEAST_MARKERS, _LEAST_SPAN_M = 3, 0.04
_LEAST_FRAMES_carried = 10
# How far the others may be from their shape in the static trial, and the marker from its mean place, RMS: with skin that moves
# 5 to 7 mm on a simulated pelvis; beyond this one of them was moved between the recordings.
_MOST_APART_M = 0.015


@dataclass(frozen=True)
class _Place:
    """A marker's place (3,) m in the static trial's World; how far it and its carriers are from rigid, RMS, m."""

    point: FloatArray
    apart_m: float
    carriers: tuple[str, ...]


def with_missing_markers(standing: Standing, walk: Markers, mapping: MarkerMapping) -> Standing:
    """Return the standing person with each marker that only the walk shows, where its segment carries it.

    Of a segment that shows three other markers in both recordings. `walk`: markers in the walk's World, gaps filled. The note
    `marker-carried-over` says how far the segment's markers are from a rigid body.
    """
    places = {
        role.label: (role, place)
        for role in mapping.roles
        if role.label not in standing.points and role.label in walk.labels and not role.soft
        if (place := _place(role, standing.points, walk, mapping)) is not None
    }
    if not places:
        return standing
    return replace(
        standing,
        points=standing.points | {label: place.point for label, (_, place) in places.items()},
        diagnostics=(*standing.diagnostics, *(_note(role, place) for role, place in places.values())),
    )


def _place(
    missing: MarkerRole, points: Mapping[str, FloatArray], walk: Markers, mapping: MarkerMapping
) -> _Place | None:
    carriers = tuple(
        role.label
        for role in mapping.roles
        if role.body == missing.body and role.label in points and role.label in walk.labels and not role.soft
    )
    if len(carriers) < _LEAST_MARKERS:
        return None
    standing = np.stack([points[label] for label in carriers])
    if np.linalg.svd(standing - standing.mean(axis=0), compute_uv=False)[1] < _LEAST_SPAN_M:
        return None
    walking = walk.positions[:, [walk.index(label) for label in (*carriers, missing.label)]]
    walking = walking[np.isfinite(walking).all(axis=(1, 2))]
    if len(walking) < _LEAST_FRAMES_carried:
        return None
    R, p = rigid_fit(standing, walking[:, :-1])  # from the static trial's World into each frame
    back = np.einsum("tji,tmj->tmi", R, walking - p[:, None])
    place = np.median(back[:, -1], axis=0)
    apart = np.concatenate([(back[:, :-1] - standing).reshape(-1, 3), back[:, -1] - place])
    rms = float(np.sqrt(np.mean(np.sum(apart**2, axis=1))))
    return _Place(place, rms, carriers) if rms < _MOST_APART_M else None


def _note(role: MarkerRole, place: _Place) -> Diagnostic:
    return Diagnostic(
        "marker-carried-over",
        "warning",
        f"{role.label} is not in the static trial: it was put where {', '.join(place.carriers)} carry it in the walk (markers of "
        f"{role.body}, {1000 * place.apart_m:.1f} mm RMS off a rigid body).",
        value=place.apart_m,
        limit=_MOST_APART_M,
        unit="m",
        hint="Use a static trial that shows it: skin moves between standing and walking.",
        about=role.label,
    )
