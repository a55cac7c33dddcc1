"""A walk and its static trial with the labels that their markers ought to have, and what was changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.library.tables import sided_rows
from biodyn.model.from_library.recognition.between import TimedExchange, exchanges, mended
from biodyn.model.from_library.recognition.exchanged import Exchange, Judged, exchange_gain, judge
from biodyn.model.from_library.recognition.person import mirrored_places, place_names, places_by_label
from biodyn.model.marker_roles import MarkerMapping
from biodyn.recording import Markers

CODE = "markers-exchanged"
_FRAMES = 3  # of a walk in which an exchange must be seen
_FRAMES_OF_PAIR = 7  # of a walk that are asked about one pair
_LEAST_DIFFERENCE = 10.0  # of squared distances, between the two files' gains: which of them is wrong
_ALWAYS = 0.9  # of the frames in which it can be told: nothing speaks for the labels in the others
_MOST = 12  # exchanges between static trial and walk


@dataclass(frozen=True)
class Corrected:
    """The recordings' markers under their mended labels.

    Attributes:
        notes: what was changed and why, or why not.
        all_sides: both sides of the whole body were exchanged in every one of the recordings that tells it.
    """

    walk: Markers
    static: Markers
    points: Mapping[str, FloatArray]
    notes: tuple[Diagnostic, ...]
    all_sides: bool = False


def places_of(mapping: MarkerMapping) -> dict[str, str]:
    """Place (`person.place_names`) of every label whose marker has one; each place once."""
    known, by_label = set(place_names()), places_by_label()
    places: dict[str, str] = {}
    for role in mapping.roles:
        place = role.landmark if role.landmark in known else by_label.get(role.label.upper(), "")
        if place and place not in places.values():
            places[role.label] = place
    return places


def corrected(walk: Markers, static: Markers, points: Mapping[str, FloatArray], mapping: MarkerMapping) -> Corrected:
    """Mend exchanged labels of both recordings, in World.

    Parameters: `points` (3,) m by label, the static trial's markers as they stand; `mapping` what the labels say.
    """
    places = places_of(mapping)
    notes: list[Diagnostic] = []
    standing = judge(points, places)
    notes += [_note(one, "static trial", places) for one in standing.exchanges]
    notes += [_unclear(one, "static trial") for one in standing.unclear]
    moved = _moves(standing.exchanges)
    static, points = _relabelled(static, moved), _renamed(points, moved)
    walking = _walking(walk, places)
    notes += [_note(one, "walk", places) for one in walking.exchanges]
    walk = _relabelled(walk, _moves(walking.exchanges))
    bodies = {role.label: role.body for role in mapping.roles}
    for _ in range(_MOST):
        found = exchanges(walk, points, bodies, _parents())
        clear = next((one for one in found if _is_walks(one, points, walk, places)), None)
        if clear is None:
            break
        walk, frames = mended(walk, clear, points, bodies, _parents())
        notes.append(_timed_note(clear, frames, walk))
    told = [judged for judged in (standing, walking) if judged.fit is not None]
    all_sides = bool(told) and all(_exchanges_all_sides(judged, places) for judged in told)
    return Corrected(walk, static, points, tuple(notes), all_sides)


def noticed_in(
    markers: Markers, mapping: MarkerMapping, if_all_sides: Diagnostic | None = None
) -> tuple[Diagnostic, ...]:
    """Exchanged labels that one recording shows by itself, in World, whatever it is a recording of.

    `if_all_sides`: what is said instead where both sides of the whole body are exchanged.
    """
    places = places_of(mapping)
    judged = _walking(markers, places)
    if if_all_sides is not None and _exchanges_all_sides(judged, places):
        return (if_all_sides,)
    return (*(_note(one, "file", places) for one in judged.exchanges),)


def _parents() -> dict[str, str]:
    return {str(row["name"]): str(row.get("parent", "")) for _, row in sided_rows("body/person", "segment")}


def _moves(found: Sequence[Exchange]) -> dict[str, str]:
    return {label: meant for one in found for label, meant in one.moved.items()}


def _exchanges_all_sides(judged: Judged, places: Mapping[str, str]) -> bool:
    """Whether every label of one side that has its fellow goes to the other side."""
    mirrored, moved = mirrored_places(), _moves(judged.exchanges)
    there = {places[label] for label in judged.labels}
    sided = [one for one in judged.labels if mirrored[places[one]] != places[one] and mirrored[places[one]] in there]
    return bool(sided) and all(places[moved.get(one, one)] == mirrored[places[one]] for one in sided)


def _relabelled(markers: Markers, moved: Mapping[str, str]) -> Markers:
    """The same trajectories; each under the label that it ought to have."""
    return replace(markers, labels=tuple(moved.get(label, label) for label in markers.labels)) if moved else markers


def _renamed(points: Mapping[str, FloatArray], moved: Mapping[str, str]) -> Mapping[str, FloatArray]:
    return {moved.get(label, label): point for label, point in points.items()}


def _walking(walk: Markers, places: Mapping[str, str]) -> Judged:
    """What several frames of a walk agree on."""
    first: Judged | None = None
    for frame in _frames(walk, places, (), _FRAMES):
        judged = judge(frame, places)
        if first is None:
            first = judged
        shared = tuple(one for one in first.exchanges if dict(one.moved) in [dict(o.moved) for o in judged.exchanges])
        first = replace(first, exchanges=shared)
        if not shared:
            break
    return first or Judged()


def _is_walks(
    found: TimedExchange, standing: Mapping[str, FloatArray], walk: Markers, places: Mapping[str, str]
) -> bool:
    """Whether an exchange between static trial and walk is the walk's: its own, or of markers whose names mean no place.

    Where the walk shows both orders, it is the walk's. Else the person's shape must tell which of the two files is right: in the
    middle one of some frames of the walk, since where feet pass each other either order makes a person.
    """
    pair = found.one, found.other
    if not set(pair) & set(places) or found.as_labelled > (1.0 - _ALWAYS) * found.told:
        return True
    gain = exchange_gain(standing, places, *pair)
    gains = [exchange_gain(frame, places, *pair) for frame in _frames(walk, places, pair, _FRAMES_OF_PAIR)]
    told = [value for value in gains if np.isfinite(value)]
    return bool(told and np.isfinite(gain) and np.median(told) - gain > _LEAST_DIFFERENCE)


def _frames(
    walk: Markers, places: Mapping[str, str], needed: Sequence[str], count: int
) -> Iterator[dict[str, FloatArray]]:
    """Points by label of some frames that show the `needed` ones and as many others with a place as any."""
    columns = [i for i, label in enumerate(walk.labels) if label in places]
    whole = np.isfinite(walk.positions[:, [walk.index(label) for label in needed], 0]).all(axis=1)
    seen = np.where(whole, np.isfinite(walk.positions[:, columns, 0]).sum(axis=1), 0)
    if not columns or not seen.any():
        return
    rows = np.flatnonzero(seen == seen.max())
    chosen = rows[np.linspace(0, len(rows) - 1, count + 2).round().astype(int)[1:-1]]
    for row in dict.fromkeys(int(row) for row in chosen):
        yield {walk.labels[i]: walk.positions[row, i] for i in dict.fromkeys((*columns, *map(walk.index, needed)))}


# -- what is said ------------------------------------------------------------------------------------------------------


def _note(found: Exchange, file: str, places: Mapping[str, str]) -> Diagnostic:
    labels = found.labels
    if len(labels) == 2:
        one, other = labels
        sides = mirrored_places()[places[one]] == places[other]
        who = f"Markers {one} and {other} are exchanged in the {file}" + (" (right and left)" if sides else "")
    else:
        changes = ", ".join(f"{label} is {meant}" for label, meant in found.moved.items())
        who = f"Markers {', '.join(labels)} are exchanged in the {file} ({changes})"
    return Diagnostic(
        CODE,
        "warning",
        f"{who}: as labelled they lie {1000 * found.before_m:.0f} mm from where the body has these markers, exchanged "
        f"{1000 * found.after_m:.0f} mm. Their labels were put right for this analysis.",
        value=found.before_m,
        limit=found.after_m,
        unit="m",
        hint="Correct the labels in the file.",
        about=labels[0],
    )


def _unclear(found: Exchange, file: str) -> Diagnostic:
    return Diagnostic(
        "markers-unclear",
        "warning",
        f"Labels of {', '.join(found.labels)} do not fit the body in the {file}: they lie {1000 * found.before_m:.0f} mm "
        "from where it has these markers, but which of them are exchanged cannot be told. Nothing was changed.",
        value=found.before_m,
        unit="m",
        hint="Look at these labels in the capture software.",
        about=found.labels[0],
    )


def _timed_note(found: TimedExchange, frames: int, walk: Markers) -> Diagnostic:
    rate = walk.rate_hz
    when = (
        "in the whole walk"
        if frames == walk.frame_count
        else f"in {frames} frames of the walk ({found.first / rate:.2f} to {found.last / rate:.2f} s)"
    )
    return Diagnostic(
        CODE,
        "warning",
        f"Markers {found.one} and {found.other} are exchanged {when}: exchanged back, their distances to neighbouring markers "
        f"are {1000 * found.gain_m:.0f} mm nearer to those of the static trial. They were exchanged back for this analysis.",
        value=found.gain_m,
        unit="m",
        frames=(found.first, found.last),
        hint="Correct the labels of these two trajectories.",
        about=found.one,
    )
