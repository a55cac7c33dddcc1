"""Seeded lists of labels with the truth of each: published sets, laboratories' lists, laboratories put together from words.

    for case in cases(2000, seed=1):            # labels as a file stores them, in its order
        case.truth[label]                       # "knee_lateral_r", "@femur_r" (follows it), "-" (computed), "?" (no landmark)
    outcome(case.truth[label], landmark, body)  # "right", "wrong" or "missed"

`lists()` are the label lists themselves (`data/marker_lists.toml`, each with its source), for whoever wants markers at
certain landmarks: `MarkerList.truth`. `gathered()` are lists that were gathered after the rules stood
(`data/gathered_marker_lists.toml`): no case is made of them, they are read as they are.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

_DATA = Path(__file__).with_name("data")
_TABLE, _GATHERED = _DATA / "marker_lists.toml", _DATA / "gathered_marker_lists.toml"
Outcome = Literal["right", "wrong", "missed"]

# Points that software computes, in the names of several programs; {S} for R and L.
_OUTPUTS = (
    ("{S}HipAngles", "{S}KneeAngles", "{S}AnkleAngles", "{S}HipMoment", "{S}KneeMoment", "{S}AnklePower", "{S}KneeForce"),
    ("{S}FEO", "{S}FEA", "{S}FEL", "{S}FEP", "{S}TIO", "{S}TIA", "{S}TIL", "{S}TIP"),
    ("{S}FOO", "{S}FOA", "{S}FOL", "{S}FOP", "PELO", "PELA", "PELL", "PELP"),
    ("{S}HJC", "{S}KJC", "{S}AJC"),
    ("{S}_HJC", "{S}_KJC", "{S}HJC_func", "{S}KJC_score"),
    ("CentreOfMass", "CentreOfMassFloor", "MidASIS", "MidPSIS"),
    ("Pelvis_{S}Femur_score", "{S}Femur_{S}Tibia_SARA", "{S}_Hip_Joint_Centre"),
    ("V_{S}.Hip_JC", "V_{S}.Knee_JC_Dynamic", "V_{S}.Ankle_JC_Static"),
    ("{S}HipCenter", "{S}KneeJointCenter", "{S}AnkleJointCentre"),
)  # fmt: skip
_FOREIGN = (
    "WAND1",
    "WAND2",
    "Stick_A",
    "Box_01",
    "Treadmill3",
    "CANE_top",
    "FP_corner1",
    "XQ7",
    "Chair2",
    "EXO_4",
    "ball",
)
_PREFIXES = ("Anna:", "Subject01:", "Skeleton_001:", "S01_", "251112_KUO_", "P03 patient:", "HC002D_", "Vic-tim:")
_SUFFIXES = ("_study", "_marker", "_mkr", " mk")
_ROWS = (
    "knee",
    "ankle",
    "heel",
    "toe",
    "asis",
    "psis",
    "trochanter",
    "fibula",
    "tuberosity",
    "thigh",
    "shank",
    "acromion",
)
_ROWS_ALONE = ("sacrum", "c7", "suprasternale")
_PLAIN = {"met1": "met1_{s}", "met5": "met5_{s}", "heel": "heel_{s}", "toe": "toe_{s}", "asis": "asis_{s}",
          "psis": "psis_{s}", "trochanter": "trochanter_{s}", "fibula": "@tibia_{s}", "tuberosity": "@tibia_{s}",
          "acromion": "acromion_{s}"}  # fmt: skip


@dataclass(frozen=True)
class MarkerList:
    """One published set or one laboratory's list; `truth`: label, both sides written out -> what it marks."""

    name: str
    kind: str
    half: str
    source: str
    truth: dict[str, str]
    prefix: str = ""


@dataclass(frozen=True)
class MarkerCase:
    """Labels as a file would store them, what each marks, and what was done to the list that they come from."""

    number: int
    origin: str
    labels: tuple[str, ...]
    truth: dict[str, str]
    changes: tuple[str, ...] = field(default=())


@cache
def lists(half: str = "") -> tuple[MarkerList, ...]:
    """Return all label lists; with `half` ("first" or "held") the published ones and that half of the laboratories'."""
    found = []
    for raw in _table()["list"]:
        if half and raw["kind"] == "laboratory" and raw["half"] != half:
            continue
        found.append(
            MarkerList(raw["name"], raw["kind"], raw.get("half", ""), raw["source"], _truth(raw), raw.get("prefix", ""))
        )
    return tuple(found)


@cache
def gathered(group: str) -> tuple[MarkerList, ...]:
    """Return the lists that were gathered after the rules stood, one group: "mended" on, "held" back at first, or "later"."""
    rows = tomllib.loads(_GATHERED.read_text(encoding="utf-8"))["list"]
    return tuple(
        MarkerList(raw["name"], "laboratory", group, raw["source"], _truth(raw))
        for raw in rows
        if raw.get("group", "mended") == group
    )


def _truth(raw: Mapping[str, Any]) -> dict[str, str]:
    return {label: meaning for pair in raw["labels"].items() for label, meaning in _both_sides(pair[0], pair[1])}


def outcome(truth: str, landmark: str, body: str | None) -> Outcome:
    """Judge what was made of one label: its landmark ("" for none) and segment; `body` None where it was not understood.

    A wrong landmark or segment is wrong; a label left unknown, or known by its segment alone, is missed.
    """
    allowed = truth.split("|")
    if truth == "-":
        return "right" if body is None else "wrong"
    if landmark:
        return "right" if landmark in allowed else "wrong"
    if body is None:
        return "right" if "?" in allowed else "missed"
    if f"@{body}" in allowed or "?" in allowed:
        return "right"
    return "wrong" if all(entry.startswith("@") for entry in allowed) else "missed"


def cases(count: int, seed: int, half: str = "") -> Iterator[MarkerCase]:
    """Yield seeded cases: three of five from the lists in turn, two put together from words; most of them changed."""
    known = lists(half)
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        origin = known[(number * 3 // 5) % len(known)] if number % 5 < 3 else _from_words(rng)
        yield _changed(origin, number, rng)


# -- a laboratory put together from words ---------------------------------------------------------------------------


def _from_words(rng: random.Random) -> MarkerList:
    table = _table()
    habit = dict(table["habits"])
    language = rng.choice([{"name": "English"}] * 4 + table["language"])
    habit |= {key: value for key, value in language.items() if key != "name"}
    separator = rng.choice(habit["separators"])
    order = rng.choice(habit["orders"]).split()
    right_left, lateral_medial = rng.choice(habit["sides"]), rng.choice(habit["directions"])
    if separator == "" and (len(lateral_medial[1]) == 1 or len(right_left[0]) == 1):
        order = ["side", *(word for word in order if word != "side")]  # letters run together are led by the side
    word = {row: rng.choice(habit[row]) for row in (*_ROWS, *_ROWS_ALONE, "met1", "met5")}
    rows: list[tuple[str, str, str]] = []
    for part in ("knee", "ankle"):
        rows.append((word[part], lateral_medial[0], f"{part}_lateral_{{s}}"))
        rows.append((word[part], lateral_medial[1], f"{part}_medial_{{s}}"))
    feet = rng.choice((("toe",), ("met1", "met5"), ("met1", "toe", "met5")))
    extras = rng.sample(("trochanter", "fibula", "tuberosity", "acromion"), rng.randint(0, 3))
    rows += [(word[part], "", _PLAIN[part]) for part in ("asis", "psis", "heel", *feet, *extras)]
    for part, body in (("thigh", "femur"), ("shank", "tibia")):
        if rng.random() < 0.5:
            stem = word[part] + (separator if rng.random() < 0.5 else "")
            rows += [(f"{stem}{n}", "", f"@{body}_{{s}}") for n in (1, 2, 3)]
    truth = {}
    for side, name in zip("rl", right_left, strict=True):
        for part, direction, meaning in rows:
            pieces = {"side": name, "part": part, "direction": direction}
            label = separator.join(pieces[key] for key in order if pieces[key])
            truth[label] = meaning.replace("{s}", side)
    truth |= {word[row]: row for row in rng.sample(_ROWS_ALONE, rng.randint(0, 3))}
    described = f"{language['name']}, {' '.join(order)}, {separator!r}, {right_left[0]}, {lateral_medial[1]}"
    return MarkerList(f"words ({described})", "words", "", "put together from words", truth)


# -- what happens to labels on the way ----------------------------------------------------------------------------------


def _changed(origin: MarkerList, number: int, rng: random.Random) -> MarkerCase:
    pairs = list(origin.truth.items())
    changes = [change for change in _CHANGES if number >= 100 and rng.random() < 0.35]
    for change in changes:
        pairs = _CHANGES[change](pairs, rng)
    if origin.prefix and "prefixed" not in changes:
        pairs = [(origin.prefix + label, truth) for label, truth in pairs]
    labels = tuple(dict.fromkeys(label for label, _ in pairs))
    return MarkerCase(number, origin.name, labels, dict(pairs), tuple(changes))


_Pairs = list[tuple[str, str]]


def _dropped(pairs: _Pairs, rng: random.Random) -> _Pairs:
    gone = set(rng.sample(range(len(pairs)), rng.randint(1, 4)))
    return [pair for i, pair in enumerate(pairs) if i not in gone]


def _with_outputs(pairs: _Pairs, rng: random.Random) -> _Pairs:
    groups = rng.sample(_OUTPUTS, rng.randint(1, 3))
    names = [label for group in groups for pattern in group for label, _ in _both_sides(pattern, "")]
    taken = {label for label, _ in pairs}
    return pairs + [(name, "-") for name in names if name not in taken]


def _with_foreign(pairs: _Pairs, rng: random.Random) -> _Pairs:
    return pairs + [(name, "?") for name in rng.sample(_FOREIGN, rng.randint(1, 4))]


def _shuffled(pairs: _Pairs, rng: random.Random) -> _Pairs:
    return rng.sample(pairs, len(pairs))


def _other_case(pairs: _Pairs, rng: random.Random) -> _Pairs:
    """All small or all capital: model outputs keep their spelling, programs write them themselves."""
    change = rng.choice((str.upper, str.lower))
    changed = [(label if truth == "-" else change(label), truth) for label, truth in pairs]
    return changed if len({label for label, _ in changed}) == len(changed) else pairs


def _suffixed(pairs: _Pairs, rng: random.Random) -> _Pairs:
    suffix = rng.choice(_SUFFIXES)
    return [(label if truth == "-" else label + suffix, truth) for label, truth in pairs]


def _prefixed(pairs: _Pairs, rng: random.Random) -> _Pairs:
    prefix = rng.choice(_PREFIXES)
    return [(prefix + label, truth) for label, truth in pairs]


_CHANGES = {
    "dropped": _dropped,
    "other case": _other_case,
    "model outputs": _with_outputs,
    "foreign": _with_foreign,
    "suffixed": _suffixed,
    "prefixed": _prefixed,
    "shuffled": _shuffled,
}


# -- the table ------------------------------------------------------------------------------------------------------------


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))


def _both_sides(label: str, meaning: str) -> list[tuple[str, str]]:
    """(label, meaning) for both sides, or once where the label has none."""
    if "{S}" not in label and "{s}" not in label:
        return [(label, meaning)]
    return [
        (label.replace("{S}", side.upper()).replace("{s}", side), meaning.replace("{s}", side)) for side in ("r", "l")
    ]
