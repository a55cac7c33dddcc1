"""A walk and its static trial with the labels that their markers ought to have, and what was changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import SIDES, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.library.tables import sided_rows
from biodyn.model.from_library.recognition.person import mirrored_places, place_names, places_by_label
from biodyn.model.from_library.recognition.swap_detection import Exchange, Judged, judge
from biodyn.model.from_library.recognition.swap_over_time import (
    TimedExchange,
    Whose,
    exchanges,
    frames_of,
    mended,
    whose_exchange,
)
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.recording import Markers

CODE = "markers-exchanged"
_FRAMES = 3  # of a walk in which an exchange must be seen
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
        whose = [whose_exchange(one, points, walk, places, bodies) for one in found]
        clear = next((k for k, told in enumerate(whose) if told), None)
        if clear is None:
            notes += [_undecided(one) for one in found if not {one.one, one.other} <= set(places)]
            break
        one = found[clear]
        if whose[clear] == "static trial":
            swapped = {one.one: one.other, one.other: one.one}
            static, points = _relabelled(static, swapped), _renamed(points, swapped)
            notes.append(_standing_note(one))
            continue
        walk, frames = mended(walk, one, points, bodies, _parents())
        notes.append(_timed_note(one, frames, walk, whose[clear]))
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
    for frame in frames_of(walk, places, (), _FRAMES):
        judged = judge(frame, places)
        if first is None:
            first = judged
        shared = tuple(one for one in first.exchanges if dict(one.moved) in [dict(o.moved) for o in judged.exchanges])
        first = replace(first, exchanges=shared)
        if not shared:
            break
    return first or Judged()


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


def _timed_note(found: TimedExchange, frames: int, walk: Markers, whose: Whose) -> Diagnostic:
    rate = walk.rate_hz
    whole = "in the whole walk" if whose == "walk" else "between the static trial and the walk"
    when = (
        whole
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


def _standing_note(found: TimedExchange) -> Diagnostic:
    return Diagnostic(
        CODE,
        "warning",
        f"Markers {found.one} and {found.other} are exchanged in the static trial, where they do not fit the body: exchanged "
        f"back, their distances to neighbouring markers are {1000 * found.gain_m:.0f} mm nearer to those of the walk. They were "
        "exchanged back for this analysis.",
        value=found.gain_m,
        unit="m",
        hint="Correct the labels of these two trajectories.",
        about=found.one,
    )


def _undecided(found: TimedExchange) -> Diagnostic:
    return Diagnostic(
        "markers-unclear",
        "warning",
        f"Markers {found.one} and {found.other} are exchanged in one of static trial and walk: exchanged, their distances to "
        f"neighbouring markers would be {1000 * found.gain_m:.0f} mm nearer to those of the other. Which recording is wrong "
        "cannot be told, and nothing was changed.",
        value=found.gain_m,
        unit="m",
        hint="Look at these labels in both recordings.",
        about=found.one,
    )


BIG_TOE_CODE = "toe-marker"
# Seen from the heel, away from the head of the fifth metatarsal, degrees: the second one's head 14.7 to 21.7 (mean 17.3; ten
# feet of five people, four of them children), the big toe's 28.5 to 33.7 and the first one's head 33 to 40; TOE of two people
# in the Rajagopal set, which sits over the big toe, 26.2 and 29.7.
_BIG_TOE_DEG = 24.0


def with_big_toes(mapping: MarkerMapping, markers: Markers) -> tuple[MarkerMapping, tuple[Diagnostic, ...]]:
    """Return the mapping with the toe markers over the big toe as such, and what is said of them.

    Parameters: `markers` of the static trial, or of the walk where that has to do. Both feet are read alike: from their mean.
    """
    feet = {side: foot for side in SIDES if (foot := _foot(mapping, side))}
    seen = [degrees for foot in feet.values() if np.isfinite(degrees := _degrees(markers, foot))]
    degrees = float(np.mean(seen)) if seen else 0.0
    if degrees <= _BIG_TOE_DEG:
        return mapping, ()
    toes = {foot[1].label: f"toe_medial_{side}" for side, foot in feet.items()}
    roles = tuple(replace(role, landmark=toes[role.label]) if role.label in toes else role for role in mapping.roles)
    note = Diagnostic(
        BIG_TOE_CODE,
        "info",
        f"{' and '.join(toes)} {'sit' if len(toes) > 1 else 'sits'} over the big toe: seen from the heel {degrees:.0f} degrees "
        f"beside the fifth metatarsal, where the second one is less than {_BIG_TOE_DEG:.0f}. The foot points between both.",
        value=degrees,
        limit=_BIG_TOE_DEG,
        unit="deg",
        about=next(iter(toes)),
    )
    return replace(mapping, roles=roles), (note,)


def _foot(mapping: MarkerMapping, side: Side) -> tuple[MarkerRole, MarkerRole, MarkerRole] | None:
    """The roles of heel, toe and fifth metatarsal; None where one is missing, or another marker is on the big toe."""
    by_landmark = {role.landmark: role for role in mapping.roles}
    heel, toe, met5, hallux = (by_landmark.get(f"{name}_{side}") for name in ("heel", "toe", "met5", "hallux"))
    return None if heel is None or toe is None or met5 is None or hallux else (heel, toe, met5)


def _degrees(markers: Markers, foot: tuple[MarkerRole, MarkerRole, MarkerRole]) -> float:
    """Angle between toe and fifth metatarsal, seen from the heel: median of the frames; NaN where none shows all three."""
    labels = [role.label for role in foot]
    if not set(labels) <= set(markers.labels):
        return float("nan")
    heel, toe, met5 = (markers.positions[:, markers.labels.index(label)] for label in labels)
    one, other = toe - heel, met5 - heel
    cosine = np.sum(one * other, axis=1) / (np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1))
    known = cosine[np.isfinite(cosine)]
    return float(np.degrees(np.arccos(np.clip(np.median(known), -1.0, 1.0)))) if len(known) else float("nan")
