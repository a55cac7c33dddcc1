"""Estimate of height errors of force plates in the file, and of a tilt of the floor.

The markers of a flat foot have the same height above the plate as above the floor in the static trial. This determines
the height of every plate relative to the floor; differences from the file must be equal for all plates. If all plates have the
same error, two criteria remain: a foot that would be inside its plate, and a malleolus at its typical height above the
laboratory's zero but not above the plate. Shoes raise the malleolus; forces do not depend on the height (docs/methods.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from biodyn.checks.estimators.plate_evidence import FLAT, MatchedStep, PlateEvidence
from biodyn.conventions import SIDES, FloatArray, IntArray, Side
from biodyn.diagnostics import Diagnostic, effect_text, severity_of
from biodyn.library.toml_files import load_table
from biodyn.processing.contacts.foot_motion import GaitPoints, foot_outline
from biodyn.processing.contacts.plate_loads import plate_surface
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Markers, PlateWrench
from biodyn.recording.stillness import median_over_frames

# Largest slope of a floor, rad, that is not a ramp or stairs.
_LARGEST_TILT_RAD = 0.1


def floor_tilt(points: GaitPoints, plates: Sequence[PlateWrench], rate_hz: float) -> float:
    """Return the slope (rad, upwards along the walk) of the floor under flat feet relative to the plates; NaN if unknown.

    A straight line is fitted to the heights of the feet as a function of position, with a constant difference between right and
    left. In 24 valid walks of eight laboratories the slope is up to 0.5 degrees, and heights are within 2 mm of the line.
    """
    stance_sd_m, sides_sd_m, least_s, least_span_m, worst_m = 0.003, 0.005, 0.3, 1.0, 0.008
    feet: list[tuple[float, float, float]] = []  # position along the walk, height, side
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        for first, stop in finite_stretches(foot_outline(points.sole[side], rate_hz).bearing):
            begin, end = (first + round(share * (stop - first)) for share in FLAT)
            if stop - first >= least_s * rate_hz:
                middle = 0.5 * median_over_frames(points.heel[side][begin:end] + points.toe[side][begin:end])
                feet.append((float(middle[0]), float(middle[1]), sign))
    x, y, sign_of_side = np.array(feet).T if feet else np.zeros((3, 0))
    if (
        len(x) < 3
        or np.ptp(x) < least_span_m
        or not np.isfinite(x + y).all()
        or not all(plate.outlined for plate in plates)
    ):
        return float("nan")
    A = np.column_stack([x, np.ones(len(x)), sign_of_side]) / stance_sd_m
    A = np.vstack([A, [0.0, 0.0, 1.0 / sides_sd_m]])
    solution, *_ = np.linalg.lstsq(A, np.append(y / stance_sd_m, 0.0), rcond=None)
    residual = y - solution[0] * x - solution[1] - solution[2] * sign_of_side
    normals = [plate_surface(plate.corners)[1] for plate in plates]
    slope = float(np.arctan(solution[0]) - np.median([np.arctan2(-n[0], n[1]) for n in normals])) if normals else np.nan
    return slope if float(np.abs(residual).max()) < worst_m and abs(slope) < _LARGEST_TILT_RAD else float("nan")


def report_tilted_markers(tilt_rad: float, effect_nm_kg: float) -> tuple[Diagnostic, ...]:
    """Report a tilt of the markers relative to the plates; effect: RMS change of joint moments by its correction, Nm/kg."""
    limit_rad = np.deg2rad(1.0)
    if not abs(tilt_rad) >= limit_rad:
        return ()
    return (
        Diagnostic(
            "plate-height",
            severity_of(effect_nm_kg),
            f"The floor under the feet {('rises' if tilt_rad > 0.0 else 'falls')} by {np.rad2deg(abs(tilt_rad)):.1f} "
            "degrees along the walk, but the plates are level. The calibration of the cameras seems to be tilted, "
            f"or the floor is a ramp{effect_text(effect_nm_kg)}. Nothing was changed.",
            value=abs(tilt_rad),
            limit=float(limit_rad),
            unit="rad",
            hint="Level the calibration frame of the cameras and record again.",
        ),
    )


_LEAST_FRAMES_OF_HEIGHT = 5
_ZERO = np.array(
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]
)  # height of the laboratory's zero in World
_HINT = (
    "Measure the heights of the corners (FORCE_PLATFORM:CORNERS) and of the laboratory's zero again, and check for a cover or "
    "floor that was added later."
)


#: Labels of the markers on one foot, and of its lateral malleolus ("" without one).
FootMarkers = tuple[tuple[str, ...], str]


@dataclass(frozen=True)
class FlatFoot:
    """A flat foot on a plate; heights in m.

    Attributes:
        plate: index of the plate.
        lowest_m, lowest: height of the lowest foot marker above the plate in the file, and its label.
        ankle_m, zero_m: height of the lateral malleolus above the plate and above the laboratory's zero, NaN without a marker.
        level_m: height of the plate in the file minus its height from the markers and the static trial, NaN if unknown.
    """

    plate: int
    lowest_m: float
    lowest: str
    ankle_m: float
    zero_m: float
    level_m: float


def measure_flat_feet(
    evidence: PlateEvidence,
    points: GaitPoints,
    markers: Markers,
    feet: Mapping[Side, FootMarkers],
    static: Mapping[str, FloatArray],
) -> tuple[FlatFoot, ...]:
    """Return marker heights of flat feet, for every step on a plate with known corners.

    markers: World, filtered; static: (3,) m World of each label in the static trial, empty without one.
    """
    column = {label: k for k, label in enumerate(markers.labels)}
    heights = []
    for step in evidence.steps:
        foot, ankle_label = ((), "") if step.side is None else feet.get(step.side, ((), ""))
        labels = [label for label in foot if label in column]
        rows, plate = _flat_foot_frames(step, points), evidence.plates[step.plate]
        if not labels or len(rows) < _LEAST_FRAMES_OF_HEIGHT or not plate.outlined:
            continue
        corners = plate.corners
        above = _heights_above_plate(markers.positions[rows][:, [column[label] for label in labels]], corners)
        if not np.isfinite(above).any():
            continue
        k = int(np.nanargmin(above))
        ankle = over_zero = np.nan
        if ankle_label in column:
            seen = markers.positions[rows][:, [column[ankle_label]]]
            ankle = float(_heights_above_plate(seen, corners)[0])
            over_zero = float(_heights_above_plate(seen, _ZERO)[0])
        stood = np.array([static[label][1] if label in static else np.nan for label in labels])
        heights.append(
            FlatFoot(step.plate, float(above[k]), labels[k], ankle, over_zero, _consistent_height(stood - above))
        )
    return tuple(heights)


def relative_heights(heights: Sequence[FlatFoot]) -> dict[int, float]:
    """Return the height error (m) of each plate in the file relative to the other plates, from flat feet.

    The reference is the first of two plates, or the median of more; empty with fewer than two plates.
    """
    plates = sorted({height.plate for height in heights if np.isfinite(height.level_m)})
    if len(plates) < 2:
        return {}
    levels = {n: float(np.nanmean([height.level_m for height in heights if height.plate == n])) for n in plates}
    middle = levels[plates[0]] if len(plates) == 2 else float(np.median(list(levels.values())))
    return {n: level - middle for n, level in levels.items()}


def report_plate_heights(
    evidence: PlateEvidence, heights: Sequence[FlatFoot], height_m: float | None, limit_m: float
) -> tuple[Diagnostic, ...]:
    """Report plates with heights that are impossible for a foot, and plates with contradictory heights.

    height_m: body height, None if unknown. limit_m: limit of the difference between plates.
    """
    judged = [_violated_criterion(n, heights, height_m) for n in sorted({standing.plate for standing in heights})]
    single = [impossible for impossible in judged if impossible is not None]
    notes = [_criterion_note(evidence, [each for each in single if each.kind == kind], height_m) for kind in _TEXTS]
    relative, named = relative_heights(heights), {each.plate for each in single}
    off = {n: higher for n, higher in relative.items() if abs(higher) >= limit_m}
    notes_between: list[Diagnostic] = []
    if len(relative) == 2:
        first, other = relative
        if other in off and not named & {first, other}:
            notes_between = [_plate_pair_finding(evidence, first, other, off[other], limit_m)]
    else:
        notes_between = [
            _single_plate_finding(evidence, n, higher, limit_m) for n, higher in off.items() if n not in named
        ]
    return (*(note for note in notes if note is not None), *notes_between)


def _flat_foot_frames(step: MatchedStep, points: GaitPoints) -> IntArray:
    """Return frames with large force and a sole as horizontal as in standing."""
    if step.side is None:
        return np.zeros(0, dtype=np.intp)
    rise = np.degrees(np.arcsin(np.clip(points.long_axis(step.side, step.high_force)[:, 1], -1.0, 1.0)))
    flat_deg = float(load_table("checks/checks")["plate_height"]["flat_deg"])
    return step.high_force[np.abs(rise) < flat_deg]


def _heights_above_plate(positions: FloatArray, corners: FloatArray) -> FloatArray:
    """Return the median vertical height (M,) m of markers (n, M, 3) above the plane of a plate; NaN for markers that are not
    visible."""
    centre, normal = plate_surface(corners)
    away = (positions - centre) @ (normal / normal[1])
    return median_over_frames(away)


def _consistent_height(differences: FloatArray) -> float:
    """Return the mean over the markers, m; NaN if they disagree (moved marker or bent foot)."""
    known = differences[np.isfinite(differences)]
    if len(known) < 2 or float(known.std()) > float(load_table("checks/checks")["plate_height"]["markers_sd_m"]):
        return float("nan")
    return float(known.mean())


# -- criteria for a single plate ---------------------------------------------------------------------------------------

_Kind = Literal["marker", "ankle", "zero"]


@dataclass(frozen=True)
class _ImpossibleHeight:
    """Plate with an impossible height: criterion, and height (m) of the point above the plate and above the zero height."""

    plate: int
    kind: _Kind
    over_plate_m: float
    over_zero_m: float
    label: str = ""

    @property
    def raised_m(self) -> float:
        """Height (m) of the plate above the zero height in the file."""
        return self.over_zero_m - self.over_plate_m


def _violated_criterion(n: int, heights: Sequence[FlatFoot], height_m: float | None) -> _ImpossibleHeight | None:
    """Return the criterion that the plate violates, independent of other plates."""
    table = load_table("checks/checks")["plate_height"]
    plate_heights = [height for height in heights if height.plate == n]
    lowest = float(np.median([height.lowest_m for height in plate_heights]))
    if lowest < table["lowest_marker_m"]:
        return _ImpossibleHeight(
            n, "marker", lowest, np.nan, min(plate_heights, key=lambda height: height.lowest_m).lowest
        )
    seen = [height for height in plate_heights if np.isfinite(height.ankle_m)]
    if not seen or height_m is None:
        return None
    over_plate, over_zero = (
        float(np.median([getattr(height, name) for height in seen])) for name in ("ankle_m", "zero_m")
    )
    if over_plate < table["ankle_share"] * height_m:
        return _ImpossibleHeight(n, "ankle", over_plate, over_zero)
    low, high = np.array(table["ankle_range"]) * height_m
    margin = table["ankle_margin"] * height_m
    raised = abs(over_zero - over_plate) > table["raised_m"]
    if raised and low <= over_zero <= high and not low - margin <= over_plate <= high + margin:
        return _ImpossibleHeight(n, "zero", over_plate, over_zero)
    return None


# -- messages ----------------------------------------------------------------------------------------------------------

_TEXTS: Final[dict[_Kind, str]] = {
    "marker": "{plates} too high in the file: with a flat foot on plate {worst}, marker {label} would be {over} the "
    "surface, which is less than the radius of a marker.",
    "ankle": "{plates} too high in the file: with a flat foot on plate {worst}, the lateral malleolus would be "
    "{over} the surface (typical barefoot: {usual:.0f} mm).",
    "zero": "{plates} {away} the zero height of the laboratory in the file, but flat feet on it are at the zero height: "
    "the lateral malleolus is {over} the surface and {zero:.0f} mm above the zero height (typical barefoot: "
    "{usual:.0f} mm).",
}


def _criterion_note(
    evidence: PlateEvidence, plates: Sequence[_ImpossibleHeight], height_m: float | None
) -> Diagnostic | None:
    """Return one finding for the plates that violate the same criterion; None if none exist."""
    if not plates:
        return None
    table, height = load_table("checks/checks")["plate_height"], np.nan if height_m is None else height_m
    kind = plates[0].kind
    worst = min(plates, key=lambda item: -abs(item.raised_m) if kind == "zero" else item.over_plate_m)
    text = _TEXTS[kind].format(
        plates=_plates_text(evidence, plates, "is", "are"),
        worst=evidence.plates[worst.plate].number,
        label=worst.label,
        over=_above_text(worst.over_plate_m),
        zero=1e3 * worst.over_zero_m,
        usual=1e3 * table["usual_ankle_share"] * height,
        away=_above_text(worst.raised_m),
    )
    limits = {"marker": table["lowest_marker_m"], "ankle": table["ankle_share"] * height, "zero": table["raised_m"]}
    value = abs(worst.raised_m) if kind == "zero" else worst.over_plate_m
    return _height_note(evidence, [item.plate for item in plates], value, float(limits[kind]), text)


def _above_text(height_m: float) -> str:
    return f"{1e3 * abs(height_m):.0f} mm {'over' if height_m > 0.0 else 'under'}"


def _plates_text(evidence: PlateEvidence, plates: Sequence[_ImpossibleHeight], singular: str, plural: str) -> str:
    *first, last = [str(evidence.plates[item.plate].number) for item in plates]
    return f"Plates {', '.join(first)} and {last} {plural}" if first else f"Plate {last} {singular}"


def _plate_pair_finding(
    evidence: PlateEvidence, first_plate: int, second_plate: int, higher: float, limit_m: float
) -> Diagnostic:
    first, second = evidence.plates[first_plate].number, evidence.plates[second_plate].number
    text = (
        f"Relative to plate {first}, plate {second} is {_height_text(higher)} in the file than according to markers "
        "of flat feet and the static trial. One of the two heights is wrong."
    )
    return _height_note(evidence, [first_plate, second_plate], abs(higher), limit_m, text)


def _single_plate_finding(evidence: PlateEvidence, n: int, higher: float, limit_m: float) -> Diagnostic:
    text = (
        f"Plate {evidence.plates[n].number} is {_height_text(higher)} in the file than according to markers of flat "
        "feet and the static trial, relative to the other plates."
    )
    return _height_note(evidence, [n], abs(higher), limit_m, text)


def _height_text(higher: float) -> str:
    return f"{1e3 * abs(higher):.0f} mm {'higher' if higher > 0.0 else 'lower'}"


def _height_note(evidence: PlateEvidence, plates: Sequence[int], value: float, limit: float, text: str) -> Diagnostic:
    steps = [step for step in evidence.steps if step.plate in plates]
    return Diagnostic(
        "plate-height",
        "warning",
        f"{text} Nothing was changed.",
        value=value,
        limit=limit,
        unit="m",
        frames=(min(step.first for step in steps), max(step.stop for step in steps) - 1),
        hint=_HINT,
    )
