"""What else simulated people can wear: other laboratories' marker sets on the same body, as `outfits.toml` says.

`load_outfit` reads labels and places, `standing_places` puts them on the standing person. The bones know nothing of it:
`jointed_person.dressed` attaches the markers to the segments on which they sit while standing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_SIGN, SIDES, FloatArray
from biodyn.errors import ModelError
from biodyn.library.tables import expand_sides, fill_side
from biodyn.library.toml_files import suggest_name
from simulator.tables import load_data


@dataclass(frozen=True)
class Patch:
    """Where a marker sits.

    Attributes:
        body: the segment. landmark: what it marks, as the table of soft tissue names it.
        skin: the patch of skin it moves with; the same place has the same skin in every outfit.
        plate: the rigid plate it is fixed to, "" where it sits on the skin itself.
    """

    body: str
    landmark: str
    skin: str
    plate: str = ""


@dataclass(frozen=True)
class Outfit:
    """Markers of a laboratory.

    Attributes:
        name: of the table. recognised_as: the marker set of the library that it is.
        places: label -> name of the place, both sides written out.
        static_only, walk_only: labels that one kind of trial has. plates: label -> its rigid plate.
    """

    name: str
    recognised_as: str
    places: Mapping[str, str]
    static_only: frozenset[str] = frozenset()
    walk_only: frozenset[str] = frozenset()
    plates: Mapping[str, str] = field(default_factory=dict)

    def seen_in(self, label: str, kind: str) -> bool:
        """True where a "static" trial or a "walk" has the marker."""
        return label not in (self.walk_only if kind == "static" else self.static_only)


def outfit_names() -> tuple[str, ...]:
    """Return the names of all outfits."""
    return tuple(load_data("outfits")["outfit"])


@cache
def load_outfit(name: str) -> Outfit:
    """Return an outfit of the table; ModelError where there is none of that name."""
    table = load_data("outfits")["outfit"]
    if name not in table:
        raise ModelError(f"Nobody can wear '{name}'.", suggest_name(name, outfit_names()))
    raw = table[name]
    words = dict(zip(SIDES, raw.get("sides", ("R", "L")), strict=True))

    def labels(pattern: str) -> list[tuple[str, str]]:
        """(label, side) of both sides, or once."""
        filled = {pattern.replace("{S}", words[side]).replace("{s}", side): side for side in SIDES}
        return [(label, side if len(filled) > 1 else "") for label, side in filled.items()]

    places: dict[str, str] = {}
    parts = {"static_only": frozenset[str](), "walk_only": frozenset[str]()}
    plates: dict[str, str] = {}
    for other in (load_outfit(also) for also in raw.get("also", ())):
        places |= other.places
        parts["static_only"] |= other.static_only
        parts["walk_only"] |= other.walk_only
        plates |= other.plates
    for pattern, place in raw["wears"].items():
        places |= {label: fill_side(place, side) for label, side in labels(pattern)}
    for part in parts:
        parts[part] |= {label for pattern in raw.get(part, ()) for label, _ in labels(pattern)}
    for number, group in enumerate(raw.get("plates", ())):
        plates |= {label: f"plate {number} {side}" for pattern in group for label, side in labels(pattern)}
    return Outfit(name, raw.get("set", name), places, parts["static_only"], parts["walk_only"], plates)


def patches(outfit: Outfit) -> dict[str, Patch]:
    """Return where each marker of the outfit sits, by label."""
    table = _places()
    found = {}
    for label, name in outfit.places.items():
        entry, plate = table[name], outfit.plates.get(label, "")
        # a marker of the template keeps its own skin
        found[label] = Patch(entry["body"], entry.get("marks", name), plate or entry.get("marker", name), plate)
    return found


def standing_places(
    outfit: Outfit,
    template: Mapping[str, FloatArray],
    centres_W: Mapping[str, FloatArray],
    placed: Callable[[FloatArray], FloatArray],
) -> dict[str, FloatArray]:
    """Return (3,) m in World of the outfit's markers on a standing person, by label.

    Parameters: `template`: the person's template markers by label; `centres_W`: the person's joint centres to the parent by
    segment; `placed`: a place (3,) m of the right side of the template person -> on the right side of this one.
    """
    table = _places()
    found: dict[str, FloatArray] = {}
    for label, name in outfit.places.items():
        entry = table[name]
        if entry["body"] not in centres_W:
            continue
        sign = SIDE_SIGN[entry["side"]] if entry["side"] else 1.0
        if "at" in entry:
            found[label] = placed(np.array(entry["at"])) * (1.0, 1.0, sign)
        elif "marker" in entry:
            found[label] = template[entry["marker"]]
        else:
            found[label] = _about_joint(entry, template[entry["from"]], centres_W[entry["through"]], sign)
    return found


def _about_joint(entry: Mapping[str, Any], marker: FloatArray, centre: FloatArray, sign: float) -> FloatArray:
    """The other end of a joint's axis, or the end of a device's rod: along the axis outwards, forward, upward."""
    if "rods" not in entry:
        return 2.0 * centre - marker
    outward = (marker - centre) / np.linalg.norm(marker - centre)
    # the device's rods form a right angle with the axis; on the left they are the mirror image of those on the right
    forward = np.cross([0.0, 1.0, 0.0], outward) * sign
    forward /= np.linalg.norm(forward)
    upward = np.cross(outward, forward) * sign
    axial, ahead, above = entry["rods"]
    return np.asarray(marker + axial * outward + ahead * forward + above * upward)


@cache
def _places() -> Mapping[str, Mapping[str, Any]]:
    """Every place with its side, both sides written out."""
    table: dict[str, Mapping[str, Any]] = {}
    for name, entry in load_data("outfits")["place"].items():
        for side, (filled, own) in expand_sides([name, entry]):
            table[filled] = {**own, "side": side}
    return table
