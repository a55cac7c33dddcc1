"""Markers recognised by where they are: exchanges found, false alarms, unnamed markers named. By hand:

    python benchmarks/marker_geometry.py [FOLDER ...] [--count 100] [--seed 1000]

Simulated people of 1.1 to 2.0 m (crouched, leaning, arms out or folded, legs of different length, markers put on with 1 cm of
error), seeds that no threshold was chosen on; and every recording in the folders (default: all at hand) whose labels are
understood: its quietest half second as it is, with two labels exchanged, with both sides exchanged, and without labels.
An exchange counts as found where exactly those labels are put right; `wrong` is any other change.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
from common import Table, parser_of, recordings_at_hand, tell
from support.standing_people import SETS, standing_person

from biodyn.conventions import FloatArray
from biodyn.errors import BiodynError
from biodyn.io import read
from biodyn.model.from_library.markersets import recognise
from biodyn.model.from_library.recognition.corrected import places_of
from biodyn.model.from_library.recognition.exchanged import judge
from biodyn.model.from_library.recognition.named import is_claimed, slots_of
from biodyn.model.from_library.recognition.person import mirrored_places
from biodyn.model.from_library.recognition.unnamed import name_points
from biodyn.processing.calibration.standing import quiet_standing
from biodyn.processing.signals.orientation import find_world

Points = Mapping[str, FloatArray]
_FAR_M = 0.10  # markers nearer to each other are counted apart


def exchanged(points: Points, places: Mapping[str, str], rng: np.random.Generator, pairs: int) -> Counter[str]:
    """What becomes of the labels as they are, of exchanged pairs and of exchanged sides."""
    count: Counter[str] = Counter()
    as_it_is = judge(points, places)
    count["people"] += 1
    count["false alarms"] += bool(as_it_is.exchanges)
    count["false doubts"] += bool(as_it_is.unclear)
    mirrored = mirrored_places()
    every = list(combinations(places, 2))
    sides = [(a, b) for a, b in every if mirrored[places[a]] == places[b]]
    chosen = [every[i] for i in rng.permutation(len(every))[:pairs]]
    chosen += [sides[i] for i in rng.permutation(len(sides))[:pairs]]
    for one, other in chosen:
        far = np.linalg.norm(points[one] - points[other]) > _FAR_M
        kind = ("sides of one" if (one, other) in sides else "pairs") if far else "near pairs"
        judged = judge({**points, one: points[other], other: points[one]}, places)
        count[kind] += 1
        count[f"{kind} found"] += [set(found.moved) for found in judged.exchanges] == [{one, other}]
        count["wrong"] += any(not {one, other} >= set(found.moved) for found in judged.exchanges)
        count["doubted"] += bool(judged.unclear)
    by_place = {place: label for label, place in places.items()}
    meant = {label: by_place.get(mirrored[place], label) for label, place in places.items()}
    judged = judge({label: points[meant.get(label, label)] for label in points}, places)
    mended = {a: b for found in judged.exchanges for a, b in found.moved.items()}
    count["whole bodies"] += 1
    count["whole bodies found"] += mended == {a: b for a, b in meant.items() if a != b}
    return count


def unnamed(points: Points, places: Mapping[str, str], set_name: str) -> Counter[str]:
    """What becomes of points without labels."""
    count: Counter[str] = Counter()
    own = {f"M{i:02d}": label for i, label in enumerate(points)}
    found = name_points({name: points[label] for name, label in own.items()}, [slots_of(name) for name in SETS])
    count["unnamed people"] += 1
    if found is None or not is_claimed(found, len(points)):
        count["unnamed refused"] += 1
        return count
    slots = slots_of(found.set_name)
    place_of = dict(zip(slots.labels, slots.places, strict=True))
    right = sum(places.get(own[name]) == place_of[label] for name, label in found.labels.items())
    count["markers"] += len(places)
    count["named"] += len(found.labels)
    count["named right"] += right
    return count


def standing_points(path: Path) -> tuple[dict[str, FloatArray], dict[str, str], str]:
    """Quiet points of a recording in World, the places of its labels, and its marker set."""
    recording = read(path)
    markers = recording.rotated(find_world(recording).R_WL).markers
    points = dict(quiet_standing(markers).points)
    mapping = recognise(markers.labels)
    return points, {label: place for label, place in places_of(mapping).items() if label in points}, mapping.name


def told(title: str, count: Counter[str]) -> list[object]:
    """A row of the table."""

    def share(kind: str) -> str:
        return f"{count[kind + ' found']}/{count[kind]}"

    return [
        title, count["people"], count["false alarms"], count["false doubts"], share("pairs"), share("sides of one"),
        share("near pairs"), share("whole bodies"), count["wrong"], count["doubted"],
        f"{count['unnamed people'] - count['unnamed refused']}/{count['unnamed people']}",
        f"{count['named']}/{count['markers']}", f"{count['named right']}/{count['named']}",
    ]  # fmt: skip


def main() -> None:
    """Print the table."""
    options = parser_of(__doc__, folders=True, count=100, seed=1000).parse_args()
    warnings.simplefilter("ignore")
    table = Table(
        ["what", "n", "false alarms", "false doubts", "pairs", "sides of one", "near pairs", "whole bodies", "wrong", "doubted",
         "claimed", "named", "right"]
    )  # fmt: skip
    for name in SETS:
        count: Counter[str] = Counter()
        for seed in range(options.seed, options.seed + options.count):
            rng = np.random.default_rng(seed)
            points = standing_person(name, rng)
            places = places_of(recognise(tuple(points)))
            count += exchanged(points, places, rng, 2) + unnamed(points, places, name)
        table.row(*told(name, count))
    every: Counter[str] = Counter()
    for path in sorted(p for folder in options.folders or recordings_at_hand() for p in folder.rglob("*.c3d")):
        try:
            points, places, name = standing_points(path)
        except BiodynError as error:
            tell(f"{path.name}: {error.message[:90]}")
            continue
        count = exchanged(points, places, np.random.default_rng(options.seed), 3)
        if name in SETS:
            count += unnamed(points, places, name)
        if count["false alarms"] or count["wrong"]:
            tell(f"{path}: {dict(count)}")
        every += count
    table.row(*told("real recordings", every))


if __name__ == "__main__":
    main()
