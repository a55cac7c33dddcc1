"""Estimate of shift and height errors of force plates in the file.

Shift: each complete step has two independent predictions of the point of application, from the footprint and from the moment
about the centre of mass. Both include a constant of the person (roll-over of the foot, mass distribution of the trunk) with a
known SD, which is common to all steps. Candidate causes are a shift of one plate or of all plates, a scale or rotation of the
markers relative to the plates, and a moved foot marker (which displaces the footprints of this foot on every plate, but does
not change the moment). They are fitted by least squares and compared by the squared deviations that they explain minus their
complexity.

Height: the markers of a flat foot have the same height above the plate as above the floor in the static trial. This determines
the height of every plate relative to the floor; differences from the file must be equal for all plates. If all plates have the
same error, two criteria remain: a foot that would be inside its plate, and a malleolus at its typical height above the
laboratory's zero but not above the plate. Shoes raise the malleolus; forces do not depend on the height (docs/methods.md).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from biodyn.checks.estimators.plate_evidence import FLAT, MatchedStep, PlateEvidence, pressure_centre
from biodyn.checks.estimators.plate_faults import lever_errors
from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray, IntArray, Side
from biodyn.diagnostics import Diagnostic, effect_text, severity_of
from biodyn.geometry.points import signed_distance
from biodyn.library.toml_files import load_table
from biodyn.processing.contacts.foot_motion import GaitPoints, foot_outline
from biodyn.processing.contacts.plate_loads import plate_surface
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Markers, PlateWrench

# : Kind of displacement: one plate, all plates together, scale of the markers, rotation of the markers about the
# vertical, foot markers.
Kind = Literal["plate", "plates", "scale", "turn", "foot"]
# Complexity of each candidate, in units of squared deviations: twice its number of parameters (Akaike 1974), plus a
# penalty for rare causes.
_COMPLEXITY: Final[dict[Kind, float]] = {"plate": 4.0, "plates": 5.0, "scale": 8.0, "turn": 8.0, "foot": 6.0}


@dataclass(frozen=True)
class Displacement:
    """One candidate cause of the disagreement between feet, body and plates, fitted by least squares.

    Attributes:
        kind: see `Kind`. plate: index of the plate, for kind "plate" only. side: side of the foot, for kind "foot" only.
        error: (2,) error of the point of application, m forward and to the right in World (forward and outward for a foot);
            (relative error, 0) for "scale", (angle in rad, 0) for "turn".
        sd: standard deviation of the error. gain: reduction of `before`, the sum of squared deviations without a cause.
    """

    kind: Kind
    plate: int | None
    side: Side | None
    error: FloatArray
    sd: float
    gain: float
    before: float

    @property
    def size(self) -> float:
        """Magnitude of the error."""
        return float(np.linalg.norm(self.error))

    @property
    def shift_m(self) -> FloatArray:
        """Shift (3,) m in World of the plates that removes the error, for the kinds "plate" and "plates"."""
        return -np.array([self.error[0], 0.0, self.error[1]])

    def shift_at(self, p_WP: FloatArray) -> FloatArray:
        """Return the shift (3,) m in World of a plate at p_WP that removes the error."""
        if self.kind == "scale":
            return -self.error[0] * p_WP * (1.0, 0.0, 1.0)
        if self.kind == "turn":
            return -self.error[0] * np.array([p_WP[2], 0.0, -p_WP[0]])
        return self.shift_m

    @property
    def score(self) -> float:
        """Explained squared deviations minus the complexity."""
        return self.gain - _COMPLEXITY[self.kind]


@dataclass(frozen=True)
class _Observation:
    """Observation: plate, foot, position and direction in World, index of the person's constant, value and SD, m."""

    plate: int
    side: Side
    p_WF: FloatArray
    direction: FloatArray
    constant: int
    value: float
    sd: float


def find_plate_displacement(
    evidence: PlateEvidence,
    limit_m: float,
    effect_of: Callable[[Displacement], float] = lambda cause: np.nan,
    alike: bool = True,
) -> tuple[Diagnostic, ...]:
    """Report the displacement that best explains the disagreement of feet, body and plates, if it is large.

    limit_m: limit of the shift of a single plate. effect_of: change of joint moments by a cause, Nm/kg RMS. alike: True to
    report a common shift of all plates.
    """
    # Least reduction of the squared deviations, least ratio of the error to its standard deviation, and least error. A
    # common shift of all plates is not distinguished from the person's constants; valid walks have up to 17 mm. For
    # scale and rotation, 24 valid walks have up to 2 % and, if other candidates explain as much, 2 degrees.
    least: Mapping[Kind, tuple[float, float, float]] = {
        "plate": (12.0, 3.0, limit_m),
        "plates": (5.0, 2.2, 0.02),
        "scale": (12.0, 4.0, 0.03),
        "turn": (12.0, 4.0, 0.03),
        "foot": (12.0, 0.0, limit_m),
    }
    as_likely = 6.0  # difference of scores up to which another cause is also reported (likelihood ratio of 20)
    candidates = find_displacements(evidence)
    if not candidates or (candidates[0].kind == "plates" and not alike):
        return ()
    cause = candidates[0]
    least_gain, multiples, least_size = least[cause.kind]
    if cause.gain < least_gain or cause.size < max(least_size, multiples * cause.sd):
        return ()
    if cause.side is not None:
        return (
            (_foot_displacement_note(cause, cause.side, limit_m),) if _was_foot_on_plate(evidence, cause.side) else ()
        )
    rivals = [
        _describe_cause(evidence, other)[0]
        for other in candidates[1:]
        if other.score > cause.score - as_likely
        and other.size >= least[other.kind][2]
        and other.gain >= least[other.kind][0]
    ]
    steps = [step for step in evidence.steps if cause.plate in (None, step.plate)]
    what, hint = _describe_cause(evidence, cause)
    effect = effect_of(cause)
    return (
        Diagnostic(
            "plate-moved",
            severity_of(effect),
            f"{what}: correcting this removes {100 * cause.gain / cause.before:.0f} % of the squared disagreement "
            f"between feet, body and plates{effect_text(effect)}. {_rival_causes_text(rivals)}Nothing was changed.",
            value=cause.size,
            limit=least_size,
            unit="m" if cause.kind in ("plate", "plates") else "",
            frames=(min(s.first for s in steps), max(s.stop for s in steps) - 1),
            hint=hint,
        ),
    )


def _rival_causes_text(rivals: Sequence[str]) -> str:
    """Return a sentence about other causes that explain nearly as much."""
    return f"Nearly as probable: {'; or '.join(text[:1].lower() + text[1:] for text in rivals[:2])}. " if rivals else ""


def _describe_cause(evidence: PlateEvidence, cause: Displacement) -> tuple[str, str]:
    """Return a description of a cause, and a hint."""
    if cause.kind == "scale":
        return (
            f"All lengths between the markers seem to be {1.0 - cause.error[0]:.3f} times those of the plates",
            "Check the calibration of the cameras (length of the wand) and the unit of the plates' corners.",
        )
    if cause.kind == "turn":
        return (
            f"The markers seem to be rotated by {np.rad2deg(abs(cause.error[0])):.1f} degrees about the vertical",
            "Check the axes of the camera calibration and the corners of the plates.",
        )
    if cause.side is not None:
        return f"A marker of the {SIDE_NAMES[cause.side]} foot moved", ""
    shift, size = cause.shift_m, 100 * cause.size
    where = f"({100 * shift[0]:+.1f} cm forward, {100 * shift[2]:+.1f} cm to the right)"
    steps = [step for step in evidence.steps if cause.plate in (None, step.plate)]
    plates = [evidence.plates[n] for n in sorted({step.plate for step in steps})]
    if len(plates) > 1 and all(plate.outlined for plate in plates):
        numbers = ", ".join(str(plate.number) for plate in plates)
        return (
            f"All loaded plates ({numbers}), or the origin of the cameras, seem to be {size:.1f} cm from their "
            f"positions in the file {where}",
            "Measure the corners of the plates again, and check whether plates or camera calibration were changed.",
        )
    subject, reference, hint = (
        _plate_texts(plates[0]) if plates[0].outlined else _table_texts(plates[0], {step.side for step in steps})
    )
    return f"{subject} {size:.1f} cm from {reference} {where}", hint


def _plate_texts(plate: PlateWrench) -> tuple[str, str, str]:
    """Return parts of the message for a plate: subject, reference, advice."""
    return (
        f"Plate {plate.number} seems to be",
        "its position in the file",
        "Measure the corners of the plate again, and check whether plate or camera calibration were changed.",
    )


def _table_texts(plate: PlateWrench, sides: Collection[Side | None]) -> tuple[str, str, str]:
    """Return parts of the message for forces in a table, which may combine several plates under one foot."""
    feet = [SIDE_NAMES[side] for side in SIDES if side in sides]
    return (
        f"The force of the table on the {' and '.join(feet)} foot (plate {plate.number}) seems to act",
        "its point of application in the table",
        "Check that points of application in the table and markers have the same origin and time.",
    )


def _was_foot_on_plate(evidence: PlateEvidence, side: Side) -> bool:
    """Return whether the whole foot was on a plate in any step."""
    # Tolerance of heel and toe positions.
    print_m = 0.02
    return any(
        evidence.plates[step.plate].outlined
        and bool(
            (signed_distance(np.stack([step.heel, step.toe]), evidence.plates[step.plate].corners) < print_m).all()
        )
        for step in evidence.steps
        if step.side == side and step.fully_measured and np.isfinite(step.heel).all()
    )


def _foot_displacement_note(foot: Displacement, side: Side, limit_m: float) -> Diagnostic:
    return Diagnostic(
        "marker-moved",
        "warning",
        f"The centre of pressure of the {SIDE_NAMES[side]} foot is {100 * foot.size:.1f} cm from its typical "
        f"position in the foot ({100 * foot.error[0]:+.1f} cm forward, {100 * foot.error[1]:+.1f} cm outward) on "
        "every plate, while the body agrees with the plates. Nothing was changed.",
        value=foot.size,
        limit=limit_m,
        unit="m",
        hint="A marker of this foot had another position in the calibration, or the foot outline does not agree with "
        "the shoe.",
    )


def find_displacements(evidence: PlateEvidence) -> list[Displacement]:
    """Return all candidate causes in order of `Displacement.score`; none without usable steps."""
    rows = _observations(evidence)
    if not rows:
        return []
    before = _solve_displacement(rows, [np.zeros(2)] * len(rows))[0]
    plates = sorted({row.plate for row in rows})
    # The centre of pressure shifts with the plate; the missing lever arm changes in the opposite direction.
    senses = [1.0 if row.constant < 2 else -1.0 for row in rows]
    moved = [sense * row.direction[::2] for sense, row in zip(senses, rows, strict=True)]
    columns: list[tuple[Kind, int | None, Side | None, list[FloatArray]]] = [
        ("plate", n, None, [column * (row.plate == n) for column, row in zip(moved, rows, strict=True)]) for n in plates
    ]
    columns += [
        ("foot", None, side, [np.eye(2)[row.constant % 2] * (row.side == side and row.constant < 2) for row in rows])
        for side in SIDES
        if any(row.side == side for row in rows)
    ]
    if len(plates) > 1:
        columns.append(("plates", None, None, moved))
        along = [float(column @ row.p_WF[::2]) for column, row in zip(moved, rows, strict=True)]
        across = [float(column @ (row.p_WF[2], -row.p_WF[0])) for column, row in zip(moved, rows, strict=True)]
        columns.append(("scale", None, None, [np.array([value, 0.0]) for value in along]))
        columns.append(("turn", None, None, [np.array([value, 0.0]) for value in across]))
    candidates = []
    for kind, plate, side, unknown in columns:
        cost, error, sd = _solve_displacement(rows, unknown)
        candidates.append(Displacement(kind, plate, side, error, sd, before - cost, before))
    return sorted(candidates, key=lambda cause: -cause.score)


def _observations(evidence: PlateEvidence) -> list[_Observation]:
    """Return the forward and lateral errors of footprint (constants 0, 1) and lever arm (2, 3) for every complete step."""
    least_frames = 5
    table = load_table("checks/checks")
    path, body = table["pressure_path"], table["body"]
    noise = (path["step_sd_m"], path["step_sd_m"], body["lever_step_forward_sd_m"], body["lever_step_outward_sd_m"])
    rows: list[_Observation] = []
    for step in evidence.steps:
        if step.side is None or not (step.fully_measured and step.heel_to_toe) or not np.isfinite(step.heel).all():
            continue
        plate = evidence.plates[step.plate]
        high_force, single_support = np.flatnonzero(step.high_force), np.flatnonzero(step.single_support)
        if len(high_force) < least_frames:
            continue
        local = (
            pressure_centre(plate, high_force) - evidence.belt_displacement(step, high_force) - step.heel
        ) @ step.axes.T
        ends = np.array([local[:2, 0].mean(), local[-2:, 0].mean()]) / step.length_m
        ahead = float(np.mean(ends - (path["share"][0], path["share"][2]))) * step.length_m
        values = [ahead, float(np.median(local[:, 1]))]
        if len(single_support) >= least_frames:
            values += [
                float(value) for value in np.median(lever_errors(evidence, plate, single_support) @ step.axes.T, axis=0)
            ]
        for constant, value in enumerate(values):
            direction = step.axes[constant % 2]
            place = 0.5 * (step.heel + step.toe)
            rows.append(_Observation(step.plate, step.side, place, direction, constant, value, noise[constant]))
    return rows


def _solve_displacement(rows: list[_Observation], unknown: list[FloatArray]) -> tuple[float, FloatArray, float]:
    """Solve weighted least squares for the person's constants and two unknowns; return cost, unknowns (2,) m and larger sd.

    `unknown`: coefficients of each row for the two unknowns; zero without unknowns.
    """
    table = load_table("checks/checks")
    path, body = table["pressure_path"], table["body"]
    # Typical values and SDs of the person's constants.
    usual = np.array([0.0, 0.0, body["lever_forward_m"], 0.0])
    spread = np.array(
        [
            path["person_forward_sd_m"],
            path["person_outward_sd_m"],
            body["lever_person_forward_sd_m"],
            body["lever_person_outward_sd_m"],
        ]
    )
    count = len(usual)
    A = np.zeros((len(rows) + count, count + 2))
    b = np.zeros(len(A))
    for k, (row, depends) in enumerate(zip(rows, unknown, strict=True)):
        A[k, row.constant] = 1.0 / row.sd
        A[k, count:] = depends / row.sd
        b[k] = row.value / row.sd
    A[len(rows) :, :count] = np.diag(1.0 / spread)
    b[len(rows) :] = usual / spread
    solution, *_ = np.linalg.lstsq(A, b, rcond=None)
    covariance = np.linalg.pinv(A.T @ A)[count:, count:]
    sd = float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))
    return float(np.sum((A @ solution - b) ** 2)), np.asarray(solution[count:], dtype=np.float64), sd


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
                middle = 0.5 * np.nanmedian(points.heel[side][begin:end] + points.toe[side][begin:end], axis=0)
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


@dataclass(frozen=True)
class FootMarkers:
    """Labels of the markers on one foot, and of its lateral malleolus ("" without one)."""

    foot: tuple[str, ...]
    ankle: str = ""


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
        foot_labels = None if step.side is None else feet.get(step.side)
        labels = [] if foot_labels is None else [label for label in foot_labels.foot if label in column]
        rows, plate = _flat_frames(step, points), evidence.plates[step.plate]
        if foot_labels is None or not labels or len(rows) < _LEAST_FRAMES_OF_HEIGHT or not plate.outlined:
            continue
        corners = plate.corners
        above = _heights_above_plate(markers.positions[rows][:, [column[label] for label in labels]], corners)
        if not np.isfinite(above).any():
            continue
        k = int(np.nanargmin(above))
        ankle = over_zero = np.nan
        if foot_labels.ankle in column:
            seen = markers.positions[rows][:, [column[foot_labels.ankle]]]
            ankle, over_zero = (
                float(_heights_above_plate(seen, corners)[0]),
                float(_heights_above_plate(seen, _ZERO)[0]),
            )
        stood = np.array([static[label][1] if label in static else np.nan for label in labels])
        heights.append(
            FlatFoot(step.plate, float(above[k]), labels[k], ankle, over_zero, _agreed_height(stood - above))
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


def _flat_frames(step: MatchedStep, points: GaitPoints) -> IntArray:
    """Return frames with large force and a sole as horizontal as in standing."""
    if step.side is None:
        return np.zeros(0, dtype=np.intp)
    rise = np.degrees(np.arcsin(np.clip(points.long_axis(step.side)[:, 1], -1.0, 1.0)))
    return np.flatnonzero(
        step.high_force & (np.abs(rise) < float(load_table("checks/checks")["plate_height"]["flat_deg"]))
    )


def _heights_above_plate(positions: FloatArray, corners: FloatArray) -> FloatArray:
    """Return the median vertical height (M,) m of markers (n, M, 3) above the plane of a plate; NaN for markers that are not
    visible."""
    centre, normal = plate_surface(corners)
    away = (positions - centre) @ (normal / normal[1])
    seen = np.isfinite(away).any(axis=0)
    above = np.full(away.shape[1], np.nan)
    above[seen] = np.nanmedian(away[:, seen], axis=0)
    return above


def _agreed_height(differences: FloatArray) -> float:
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
    "zero": "{plates} {away} the laboratory's zero height in the file, but flat feet on it are at the zero height: "
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
    return _position_note(evidence, [item.plate for item in plates], value, float(limits[kind]), text)


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
    return _position_note(evidence, [first_plate, second_plate], abs(higher), limit_m, text)


def _single_plate_finding(evidence: PlateEvidence, n: int, higher: float, limit_m: float) -> Diagnostic:
    text = (
        f"Plate {evidence.plates[n].number} is {_height_text(higher)} in the file than according to markers of flat "
        "feet and the static trial, relative to the other plates."
    )
    return _position_note(evidence, [n], abs(higher), limit_m, text)


def _height_text(higher: float) -> str:
    return f"{1e3 * abs(higher):.0f} mm {'higher' if higher > 0.0 else 'lower'}"


def _position_note(evidence: PlateEvidence, plates: Sequence[int], value: float, limit: float, text: str) -> Diagnostic:
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
