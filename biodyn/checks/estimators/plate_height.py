"""A plate that lies higher or lower than the file says, by the feet that stand on it.

While a foot stands flat, its markers lie as far above the plate as they lay above the floor in the static trial: that gives the
height of every plate against that floor, and what the file's heights say beside it must be the same for all plates. A plate that
is wrong alone shows so. Where all are wrong alike two things are left: a foot that would stand inside its plate, for no marker
lies under the surface and the outer malleolus is some way above it; and a foot that stands at the laboratory's zero height, by
its malleolus, where the file has the plates elsewhere. Shoes lift the malleolus; forces tell no height (docs/methods.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from biodyn.checks.estimators.evidence import Evidence, Step
from biodyn.conventions import FloatArray, IntArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.library.load import load_table
from biodyn.processing.contacts.feet import GaitPoints
from biodyn.processing.contacts.loading import plate_surface
from biodyn.recording import Markers

_LEAST_FRAMES = 5
_ZERO = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])  # the laboratory's, World
_HINT = (
    "Measure the heights of the plate's corners (FORCE_PLATFORM:CORNERS) and of the laboratory's zero again; look for a cover "
    "or a floor that was laid later."
)


@dataclass(frozen=True)
class FootMarkers:
    """Labels of the markers on one foot, and of its outer malleolus, "" where none is there."""

    foot: tuple[str, ...]
    ankle: str = ""


@dataclass(frozen=True)
class Standing:
    """A foot that stands flat on a plate; heights in m.

    Attributes:
        plate: index into the plates. lowest_m, lowest: of the lowest marker of the foot over the plate as the file has it, and
            its label. ankle_m, zero_m: of the outer malleolus over the plate and over the laboratory's zero height, NaN where
            it has no marker.
        level_m: of the plate in the file over what the foot stands on, which counts from the floor of the static trial; NaN
            where that does not tell it.
    """

    plate: int
    lowest_m: float
    lowest: str
    ankle_m: float
    zero_m: float
    level_m: float


def standings(
    evidence: Evidence,
    points: GaitPoints,
    markers: Markers,
    feet: Mapping[Side, FootMarkers],
    static: Mapping[str, FloatArray],
) -> tuple[Standing, ...]:
    """Return what every step tells whose foot stands flat for a while on a plate of which the file tells the corners.

    markers: World, filtered; static: (3,) m World of each label in the static trial, empty where there is none.
    """
    column = {label: k for k, label in enumerate(markers.labels)}
    found = []
    for step in evidence.steps:
        own = None if step.side is None else feet.get(step.side)
        labels = [] if own is None else [label for label in own.foot if label in column]
        rows, plate = _flat(step, points), evidence.plates[step.plate]
        if own is None or not labels or len(rows) < _LEAST_FRAMES or not plate.outlined:
            continue
        corners = plate.corners
        above = _above(markers.positions[rows][:, [column[label] for label in labels]], corners)
        if not np.isfinite(above).any():
            continue
        k = int(np.nanargmin(above))
        ankle = over_zero = np.nan
        if own.ankle in column:
            seen = markers.positions[rows][:, [column[own.ankle]]]
            ankle, over_zero = float(_above(seen, corners)[0]), float(_above(seen, _ZERO)[0])
        stood = np.array([static[label][1] if label in static else np.nan for label in labels])
        found.append(Standing(step.plate, float(above[k]), labels[k], ankle, over_zero, _level(stood - above)))
    return tuple(found)


def relative_heights(found: Sequence[Standing]) -> dict[int, float]:
    """Return by plate how much higher (m) it lies in the file, against the other plates, than the feet stand on it.

    Of two plates the first one is the measure of the other, of more the middle one; empty where fewer than two are told.
    """
    told = sorted({one.plate for one in found if np.isfinite(one.level_m)})
    if len(told) < 2:
        return {}
    levels = {n: float(np.nanmean([one.level_m for one in found if one.plate == n])) for n in told}
    middle = levels[told[0]] if len(told) == 2 else float(np.median(list(levels.values())))
    return {n: level - middle for n, level in levels.items()}


def plate_height(
    evidence: Evidence, found: Sequence[Standing], height_m: float | None, limit_m: float
) -> tuple[Diagnostic, ...]:
    """Name plates on which no foot could stand as the file has them, and plates whose heights do not fit each other.

    height_m: of the body, None where it is not known; limit_m: of the difference between plates.
    """
    judged = [_by_itself(n, found, height_m) for n in sorted({standing.plate for standing in found})]
    single = [impossible for impossible in judged if impossible is not None]
    notes = [_single_note(evidence, [each for each in single if each.kind == kind], height_m) for kind in _SAYS]
    relative, named = relative_heights(found), {each.plate for each in single}
    off = {n: higher for n, higher in relative.items() if abs(higher) >= limit_m}
    told: list[Diagnostic] = []
    if len(relative) == 2:
        one, other = relative
        if other in off and not named & {one, other}:
            told = [_pair(evidence, one, other, off[other], limit_m)]
    else:
        told = [_alone(evidence, n, higher, limit_m) for n, higher in off.items() if n not in named]
    return (*(note for note in notes if note is not None), *told)


def _flat(step: Step, points: GaitPoints) -> IntArray:
    """Frames of a firm force in which the sole is as level as in standing."""
    if step.side is None:
        return np.zeros(0, dtype=np.intp)
    rise = np.degrees(np.arcsin(np.clip(points.long_axis(step.side)[:, 1], -1.0, 1.0)))
    return np.flatnonzero(step.firm & (np.abs(rise) < float(load_table("checks/checks")["plate_height"]["flat_deg"])))


def _above(positions: FloatArray, corners: FloatArray) -> FloatArray:
    """Height (M,) m of markers (n, M, 3) over the plane of a plate, straight up, median of the frames; NaN where never seen."""
    centre, normal = plate_surface(corners)
    away = (positions - centre) @ (normal / normal[1])
    seen = np.isfinite(away).any(axis=0)
    above = np.full(away.shape[1], np.nan)
    above[seen] = np.nanmedian(away[:, seen], axis=0)
    return above


def _level(differences: FloatArray) -> float:
    """Mean of what the markers say, m; NaN where they say different things: one was moved, or the foot bends."""
    own = differences[np.isfinite(differences)]
    if len(own) < 2 or float(own.std()) > float(load_table("checks/checks")["plate_height"]["markers_sd_m"]):
        return float("nan")
    return float(own.mean())


# -- what one plate says by itself -------------------------------------------------------------------------------------

_Kind = Literal["marker", "ankle", "zero"]


@dataclass(frozen=True)
class _Impossible:
    """A plate on which no foot could stand as the file has it: by what, how far over it that is, m, and over the zero height."""

    plate: int
    kind: _Kind
    over_plate_m: float
    over_zero_m: float
    label: str = ""

    @property
    def raised_m(self) -> float:
        """How far the plate lies over the zero height in the file."""
        return self.over_zero_m - self.over_plate_m


def _by_itself(n: int, found: Sequence[Standing], height_m: float | None) -> _Impossible | None:
    """What is impossible of a plate as the file has it, whatever the others say."""
    table = load_table("checks/checks")["plate_height"]
    own = [one for one in found if one.plate == n]
    lowest = float(np.median([one.lowest_m for one in own]))
    if lowest < table["lowest_marker_m"]:
        return _Impossible(n, "marker", lowest, np.nan, min(own, key=lambda one: one.lowest_m).lowest)
    seen = [one for one in own if np.isfinite(one.ankle_m)]
    if not seen or height_m is None:
        return None
    over_plate, over_zero = (float(np.median([getattr(one, name) for one in seen])) for name in ("ankle_m", "zero_m"))
    if over_plate < table["ankle_share"] * height_m:
        return _Impossible(n, "ankle", over_plate, over_zero)
    low, high = np.array(table["ankle_range"]) * height_m
    margin = table["ankle_margin"] * height_m
    raised = abs(over_zero - over_plate) > table["raised_m"]
    if raised and low <= over_zero <= high and not low - margin <= over_plate <= high + margin:
        return _Impossible(n, "zero", over_plate, over_zero)
    return None


# -- what people are told ----------------------------------------------------------------------------------------------

_SAYS: Final[dict[_Kind, str]] = {
    "marker": "{plates} too high in the file: while a foot stands flat on plate {worst}, its marker {label} would be {over} "
    "the surface; its own radius is more.",
    "ankle": "{plates} too high in the file: while a foot stands flat on plate {worst}, the outer malleolus would be {over} the "
    "surface; barefoot {usual:.0f} mm are usual.",
    "zero": "{plates} {away} the laboratory's zero height in the file, but feet that stand flat there stand at the zero height: "
    "the outer malleolus is {over} the surface, {zero:.0f} mm over the zero height, and barefoot {usual:.0f} mm are usual.",
}


def _single_note(evidence: Evidence, plates: Sequence[_Impossible], height_m: float | None) -> Diagnostic | None:
    """One finding for the plates of one kind; None where there are none."""
    if not plates:
        return None
    table, height = load_table("checks/checks")["plate_height"], np.nan if height_m is None else height_m
    kind = plates[0].kind
    worst = min(plates, key=lambda one: -abs(one.raised_m) if kind == "zero" else one.over_plate_m)
    text = _SAYS[kind].format(
        plates=_plates(evidence, plates, *(("lies", "lie") if kind == "zero" else ("is", "are"))),
        worst=evidence.plates[worst.plate].number,
        label=worst.label,
        over=_over(worst.over_plate_m),
        zero=1e3 * worst.over_zero_m,
        usual=1e3 * table["usual_ankle_share"] * height,
        away=_over(worst.raised_m),
    )
    limits = {"marker": table["lowest_marker_m"], "ankle": table["ankle_share"] * height, "zero": table["raised_m"]}
    value = abs(worst.raised_m) if kind == "zero" else worst.over_plate_m
    return _note(evidence, [one.plate for one in plates], value, float(limits[kind]), text)


def _over(height_m: float) -> str:
    return f"{1e3 * abs(height_m):.0f} mm {'over' if height_m > 0.0 else 'under'}"


def _plates(evidence: Evidence, plates: Sequence[_Impossible], one: str, several: str) -> str:
    *first, last = [str(evidence.plates[found.plate].number) for found in plates]
    return f"Plates {', '.join(first)} and {last} {several}" if first else f"Plate {last} {one}"


def _pair(evidence: Evidence, one: int, other: int, higher: float, limit_m: float) -> Diagnostic:
    first, second = evidence.plates[one].number, evidence.plates[other].number
    text = (
        f"The file puts plate {second} {_by(higher)} against plate {first} than the feet stand on them, measured by their "
        "markers against the static trial: one of the two heights is wrong."
    )
    return _note(evidence, [one, other], abs(higher), limit_m, text)


def _alone(evidence: Evidence, n: int, higher: float, limit_m: float) -> Diagnostic:
    text = (
        f"Plate {evidence.plates[n].number} lies {_by(higher)} in the file than the feet stand on it, measured against the other "
        "plates by the feet's markers in the static trial."
    )
    return _note(evidence, [n], abs(higher), limit_m, text)


def _by(higher: float) -> str:
    return f"{1e3 * abs(higher):.0f} mm {'higher' if higher > 0.0 else 'lower'}"


def _note(evidence: Evidence, plates: Sequence[int], value: float, limit: float, text: str) -> Diagnostic:
    own = [step for step in evidence.steps if step.plate in plates]
    return Diagnostic(
        "plate-height",
        "warning",
        f"{text} Nothing was changed.",
        value=value,
        limit=limit,
        unit="m",
        frames=(min(step.first for step in own), max(step.stop for step in own) - 1),
        hint=_HINT,
    )
