"""Correction of swapped labels of a walk and its static trial, and of the landmark of toe markers on the big toe."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from biodyn.conventions import SIDES, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.library.tables import sided_rows
from biodyn.model.from_library.recognition.articulated_marker_model import place_table
from biodyn.model.from_library.recognition.labelling_by_position import LabelledRecordings
from biodyn.model.from_library.recognition.swap_detection import Swap, SwapSearch, find_swaps
from biodyn.model.from_library.recognition.swap_over_time import (
    SwappedRecording,
    TimedSwap,
    representative_frames,
    swapped_recording,
    swaps_over_time,
    undo_swap,
)
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.recording import Markers


def places_by_label(mapping: MarkerMapping) -> dict[str, str]:
    """Return the place (`PlaceTable.names`) of every label that has a unique one."""
    table = place_table()
    places: dict[str, str] = {}
    for role in mapping.roles:
        place = role.landmark if role.landmark in table.body else table.by_label.get(role.label.upper(), "")
        if place and place not in places.values():
            places[role.label] = place
    return places


def correct_labels(
    walk: Markers, static: Markers, points: Mapping[str, FloatArray], mapping: MarkerMapping
) -> LabelledRecordings:
    """Correct swapped labels of both recordings, in World.

    Args: `points` (3,) m by label, mean positions in the static trial; `mapping` roles of the labels.
    """
    places = places_by_label(mapping)
    notes: list[Diagnostic] = []
    in_static = find_swaps(points, places)
    notes += [_swap_note(swap, "static trial") for swap in in_static.swaps]
    static, points = _correct_labels(static, points, _merge_corrections(in_static.swaps))
    in_walk = _swaps_in_walk(walk, places)
    notes += [_swap_note(swap, "walk") for swap in in_walk.swaps]
    walk, _ = _correct_labels(walk, {}, _merge_corrections(in_walk.swaps))
    bodies = {role.label: role.body for role in mapping.roles}
    for recording, markers in (("static trial", static), ("walk", walk)):
        corrections = _opposite_label_corrections(markers, bodies)
        notes += [_opposite_labels_note(corrections, recording)] if corrections else []
        if markers is walk:
            walk, _ = _correct_labels(walk, {}, corrections)
        else:
            static, points = _correct_labels(static, points, corrections)
            notes += [
                _ambiguous_swap_note(swap) for swap in in_static.ambiguous if not corrections.keys() >= {*swap.labels}
            ]
    parents = {str(row["name"]): str(row.get("parent", "")) for _, row in sided_rows("body/person", "segment")}
    for _ in range(12):  # largest number of swaps between static trial and walk
        swaps = swaps_over_time(walk, points, bodies, parents)
        recordings = [swapped_recording(swap, points, walk, places, bodies) for swap in swaps]
        decided = [(swap, recording) for swap, recording in zip(swaps, recordings, strict=True) if recording]
        if not decided:
            notes += [_undecided_swap_note(swap) for swap in swaps if not {swap.first, swap.second} <= set(places)]
            break
        swap, recording = decided[0]
        if recording == "static trial":
            corrections = {swap.first: swap.second, swap.second: swap.first}
            static, points = _correct_labels(static, points, corrections)
            notes.append(_timed_swap_note(swap, recording, "in the static trial, where they do not fit the body"))
            continue
        walk, frames = undo_swap(walk, swap, points, bodies, parents)
        notes.append(_timed_swap_note(swap, recording, _time_phrase(swap, frames, walk, recording)))
    searches = [search for search in (in_static, in_walk) if search.labels]
    all_sides = bool(searches) and all(_swaps_all_sides(search, places) for search in searches)
    return LabelledRecordings(walk, static, points, mapping, tuple(notes), all_sides)


def swaps_in_file(
    markers: Markers, mapping: MarkerMapping, if_all_sides: Diagnostic | None = None
) -> tuple[Diagnostic, ...]:
    """Return a finding about each label swap in one recording, in World.

    If right and left of the whole body are swapped, `if_all_sides` is returned instead (None = a finding about each swap).
    """
    places = places_by_label(mapping)
    search = _swaps_in_walk(markers, places)
    if if_all_sides is not None and _swaps_all_sides(search, places):
        return (if_all_sides,)
    return tuple(_swap_note(swap, "file") for swap in search.swaps)


def _merge_corrections(swaps: Sequence[Swap]) -> dict[str, str]:
    return {label: correct for swap in swaps for label, correct in swap.corrections.items()}


def _swaps_all_sides(search: SwapSearch, places: Mapping[str, str]) -> bool:
    """Return whether the swaps exchange right and left of every label that has a counterpart on the other side."""
    mirrored, corrections = place_table().mirrored, _merge_corrections(search.swaps)
    present = {places[label] for label in search.labels}
    sided = [label for label in search.labels if mirrored[places[label]] in present - {places[label]}]
    return bool(sided) and all(places[corrections.get(label, label)] == mirrored[places[label]] for label in sided)


def _correct_labels(
    markers: Markers, points: Mapping[str, FloatArray], corrections: Mapping[str, str]
) -> tuple[Markers, Mapping[str, FloatArray]]:
    """Return the trajectories and the mean points with corrected labels; positions are unchanged."""
    points = {corrections.get(label, label): point for label, point in points.items()}
    if not corrections:
        return markers, points
    return replace(markers, labels=tuple(corrections.get(label, label) for label in markers.labels)), points


def _opposite_label_corrections(markers: Markers, bodies: Mapping[str, str]) -> dict[str, str]:
    """Return the correct labels of pelvis, trunk and head markers with right and left opposite to those of the body.

    This detects a head on which all labels are swapped, which does not change the distances between its markers.
    """
    # least cosine between a pair and the axis from left to right, and least fraction of such frames
    least_cosine, least_share = 0.5, 0.9
    index = {label: k for k, label in enumerate(markers.labels)}
    pairs = [(label, other) for label in index if (other := _right_counterpart(label, index))]
    if not pairs:
        return {}
    left, right = (markers.positions[:, [index[pair[k]] for pair in pairs]] for k in (0, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        across = (right - left) / np.linalg.norm(right - left, axis=2, keepdims=True)
        axis = np.nansum(across, axis=1)
        cosines = np.einsum("tpi,ti->tp", across, axis / np.linalg.norm(axis, axis=1, keepdims=True))
    corrections: dict[str, str] = {}
    for (label, other), cosine in zip(pairs, cosines.T, strict=True):
        body = bodies.get(label, bodies.get(other, ""))
        known = cosine[np.isfinite(cosine)]
        is_axial = bool(body) and not body.endswith(("_l", "_r"))  # arms and legs may cross
        if is_axial and len(known) and np.mean(known < -least_cosine) >= least_share:
            corrections |= {label: other, other: label}
    return corrections


def _right_counterpart(label: str, labels: Mapping[str, int]) -> str:
    """Return the label of the same marker on the right side, "" for a marker of the right side or of the midline."""
    for left, right in (("LEFT", "RIGHT"), ("Left", "Right"), ("left", "right"), ("L", "R"), ("l", "r")):
        for found in re.finditer(left, label):
            other = f"{label[: found.start()]}{right}{label[found.end() :]}"
            if other in labels:
                return other
    return ""


def _swaps_in_walk(walk: Markers, places: Mapping[str, str]) -> SwapSearch:
    """Return the swaps that are found in each of three frames of the walk."""
    common: SwapSearch | None = None
    for frame in representative_frames(walk, places, (), 3):
        search = find_swaps(frame, places)
        common = common or search
        seen = [dict(swap.corrections) for swap in search.swaps]
        common = replace(common, swaps=tuple(swap for swap in common.swaps if dict(swap.corrections) in seen))
        if not common.swaps:
            break
    return common or SwapSearch()


# -- findings ----------------------------------------------------------------------------------------------------------


def _swap_note(swap: Swap, recording: str) -> Diagnostic:
    labels = swap.labels
    changes = ", ".join(f"{label} is {correct}" for label, correct in swap.corrections.items())
    details = f" ({changes})" if len(labels) > 2 else ""
    names = " and ".join(labels) if len(labels) == 2 else ", ".join(labels)
    return Diagnostic(
        "markers-exchanged",
        "warning",
        f"Labels of {names} are swapped in the {recording}{details}. The mean distance of the markers from their "
        f"expected positions is {1000 * swap.before_m:.0f} mm with the labels of the file and "
        f"{1000 * swap.after_m:.0f} mm with corrected labels. The analysis uses the corrected labels.",
        value=swap.before_m,
        limit=swap.after_m,
        unit="m",
        hint="Correct the labels in the file.",
        about=labels[0],
    )


def _opposite_labels_note(corrections: Mapping[str, str], recording: str) -> Diagnostic:
    return Diagnostic(
        "markers-exchanged",
        "warning",
        f"Labels of {', '.join(sorted(corrections))} are swapped in the {recording}: their right and left are opposite to those "
        "of the body. The analysis uses the corrected labels.",
        value=float(len(corrections)),
        hint="Correct the labels in the file.",
        about=min(corrections),
    )


def _ambiguous_swap_note(swap: Swap) -> Diagnostic:
    return Diagnostic(
        "labels-exchanged",
        "warning",
        f"Labels of {', '.join(swap.labels)} do not agree with the body in the static trial: the mean distance of "
        f"the markers from their expected positions is {1000 * swap.before_m:.0f} mm. Several corrections are "
        "equally probable, so that the labels were not changed.",
        value=swap.before_m,
        unit="m",
        hint="Check these labels in the capture software.",
        about=swap.labels[0],
    )


def _time_phrase(swap: TimedSwap, frames: int, walk: Markers, recording: SwappedRecording) -> str:
    if frames == walk.frame_count:
        return "in the whole walk" if recording == "walk" else "between the static trial and the walk"
    first_s, last_s = swap.first_frame / walk.rate_hz, swap.last_frame / walk.rate_hz
    return f"in {frames} frames of the walk ({first_s:.2f} to {last_s:.2f} s)"


def _timed_swap_note(swap: TimedSwap, recording: SwappedRecording, where: str) -> Diagnostic:
    in_static = recording == "static trial"
    return Diagnostic(
        "markers-exchanged",
        "warning",
        f"Labels of {swap.first} and {swap.second} are swapped {where}. With corrected labels their distances to "
        f"neighbouring markers agree better with the {('walk' if in_static else 'static trial')} (by "
        f"{1000 * swap.gain_m:.0f} mm). The analysis uses the corrected labels.",
        value=swap.gain_m,
        unit="m",
        frames=None if in_static else (swap.first_frame, swap.last_frame),
        hint="Correct the labels of these two trajectories.",
        about=swap.first,
    )


def _undecided_swap_note(swap: TimedSwap) -> Diagnostic:
    return Diagnostic(
        "labels-exchanged",
        "warning",
        f"Labels of {swap.first} and {swap.second} are swapped in either the static trial or the walk: with swapped "
        f"labels their distances to neighbouring markers would agree better (by {1000 * swap.gain_m:.0f} mm). The "
        "labels were not changed, because it is unknown which recording is wrong.",
        value=swap.gain_m,
        unit="m",
        hint="Check these labels in both recordings.",
        about=swap.first,
    )


# -- toe markers -------------------------------------------------------------------------------------------------------


def assign_big_toe_markers(mapping: MarkerMapping, markers: Markers) -> tuple[MarkerMapping, tuple[Diagnostic, ...]]:
    """Return the mapping with toe markers on the big toe assigned to `toe_medial`, and a finding if there are any.

    The criterion is the angle at the heel between toe and fifth metatarsal marker, mean of both feet. The head of the second
    metatarsal has 14.7 to 21.7 degrees (mean 17.3; ten feet of five people, four of them children), the big toe 28.5 to 33.7,
    the head of the first metatarsal 33 to 40; TOE markers of two people in the Rajagopal set, on the big toe, 26.2 and 29.7.

    Args: `markers` of the static trial, or of the walk without one.
    """
    largest_deg = 24.0
    feet = {side: foot for side in SIDES if (foot := _foot_roles(mapping, side))}
    angles_deg = [angle for foot in feet.values() if np.isfinite(angle := _toe_angle_deg(markers, foot))]
    angle_deg = float(np.mean(angles_deg)) if angles_deg else 0.0
    if angle_deg <= largest_deg:
        return mapping, ()
    toes = {foot[1].label: f"toe_medial_{side}" for side, foot in feet.items()}
    roles = tuple(replace(role, landmark=toes[role.label]) if role.label in toes else role for role in mapping.roles)
    note = Diagnostic(
        "toe-marker",
        "info",
        f"{' and '.join(toes)} {'are' if len(toes) > 1 else 'is'} on the big toe: the angle at the heel between toe and fifth "
        f"metatarsal marker is {angle_deg:.0f} degrees (second metatarsal: at most {largest_deg:.0f}). The foot axis "
        "passes between both markers.",
        value=angle_deg,
        limit=largest_deg,
        unit="deg",
        about=next(iter(toes)),
    )
    return replace(mapping, roles=roles), (note,)


def _foot_roles(mapping: MarkerMapping, side: Side) -> tuple[MarkerRole, MarkerRole, MarkerRole] | None:
    """Return the roles of heel, toe and fifth metatarsal; None if one is missing or the hallux has its own marker."""
    by_landmark = {role.landmark: role for role in mapping.roles}
    heel, toe, met5, hallux = (by_landmark.get(f"{name}_{side}") for name in ("heel", "toe", "met5", "hallux"))
    return None if heel is None or toe is None or met5 is None or hallux else (heel, toe, met5)


def _toe_angle_deg(markers: Markers, foot: tuple[MarkerRole, MarkerRole, MarkerRole]) -> float:
    """Return the median angle at the heel between toe and fifth metatarsal; NaN if no frame has all three markers."""
    labels = [role.label for role in foot]
    if not set(labels) <= set(markers.labels):
        return float("nan")
    heel, toe, met5 = (markers.positions[:, markers.labels.index(label)] for label in labels)
    to_toe, to_met5 = toe - heel, met5 - heel
    cosine = np.sum(to_toe * to_met5, axis=1) / (np.linalg.norm(to_toe, axis=1) * np.linalg.norm(to_met5, axis=1))
    known = cosine[np.isfinite(cosine)]
    return float(np.degrees(np.arccos(np.clip(np.median(known), -1.0, 1.0)))) if len(known) else float("nan")
