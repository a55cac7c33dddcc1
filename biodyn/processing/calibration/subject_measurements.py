"""Mass, height, age and leg length of the subject, as given, stored or measured, with the source of each value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import TypeAlias

import numpy as np

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.errors import PlateError, SubjectError
from biodyn.geometry.points import signed_distance
from biodyn.library.tables import expand_sides
from biodyn.library.toml_files import load_table
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.calibration.standing_posture import StandingPosture
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.recording import GaitEvent, GroundReaction, PlateWrench, Recording

PLAUSIBLE_HEIGHT_M = (0.5, 2.6)


def require_plausible_body(mass_kg: float | None, height_m: float | None) -> None:
    """Raise SubjectError if a given mass or height is implausible, e.g. in grams or centimetres."""
    for what, value, limits, unit, option in (
        ("Body mass", mass_kg, PLAUSIBLE_MASS_KG, "kg", "--mass"),
        ("Body height", height_m, PLAUSIBLE_HEIGHT_M, "m", "--height"),
    ):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, Real):
            raise SubjectError(f"{what}: expected a number ({unit}), found {value!r}.", f"Specify {option} in {unit}.")
        if not limits[0] <= value <= limits[1]:
            raise SubjectError(
                f"{what} of {value:g} {unit} is not plausible: expected {limits[0]:g} to {limits[1]:g} {unit}.",
                f"Specify {option} in {unit}.",
            )


def find_mass(given_kg: float | None, files: Sequence[Recording]) -> MassEstimate | None:
    """Return the mass given by the user, else the first plausible one stored in the files."""
    if given_kg is not None:
        return MassEstimate(given_kg, "given by the user")
    stored_kg, words = _stored_number("mass_kg", files, PLAUSIBLE_MASS_KG)
    return None if stored_kg is None else MassEstimate(stored_kg, words, stored=True)


def _stored_number(name: str, files: Sequence[Recording], limits: tuple[float, float]) -> tuple[float | None, str]:
    """Return the first number of the subject within limits that is stored in the files, and a description of its source."""
    for source in files:
        stored = getattr(source.subject, name)
        if stored is not None and limits[0] <= stored <= limits[1]:
            return stored, f"stored in {source.subject.file or source.path.name}"
    return None, ""


#: Body mass and force plates agree within this fraction; clothes and shoes weigh 1-3 %.
MASS_MISMATCH_SHARE = 0.03


def mass_in_kilograms(mass: MassEstimate, standing: MassEstimate | None) -> tuple[MassEstimate, tuple[Diagnostic, ...]]:
    """Convert a stored mass to kg if the file states it in pounds, and return it with a warning.

    The mass is taken as pounds if it then agrees with the plates of the static trial within the fraction `MASS_MISMATCH_SHARE`.
    A mass given by the user is unchanged.
    """
    pounds_kg = KG_A_POUND * mass.mass_kg
    if standing is None or not mass.stored or abs(pounds_kg / standing.mass_kg - 1.0) > MASS_MISMATCH_SHARE:
        return mass, ()
    note = Diagnostic(
        "unit-corrected",
        "warning",
        f"The body mass stored in the file is {mass.mass_kg:.1f}, but the plates of the static trial measure "
        f"{standing.mass_kg:.1f} kg. The stored value is interpreted as pounds: {pounds_kg:.1f} kg is used.",
        value=mass.mass_kg,
        limit=MASS_MISMATCH_SHARE,
        hint="Store the body mass in kg, or specify it with --mass.",
    )
    return replace(mass, mass_kg=pounds_kg, source=f"{mass.source}, in pounds"), (note,)


def find_stored_height(files: Sequence[Recording]) -> tuple[float | None, str]:
    """Return the first plausible height (m) stored in the files, and a description of its source."""
    height_m, words = _stored_number("height_m", files, PLAUSIBLE_HEIGHT_M)
    return height_m, words or "estimated from the legs"


def find_age(given_years: float | None, files: Sequence[Recording]) -> tuple[float | None, str]:
    """Return the age (years) and its source: as given by the user, else the first age stored in the files; None if unknown."""
    if given_years is not None:
        return given_years, "given by the user"
    age_years, words = _stored_number("age_years", files, (-math.inf, math.inf))
    return age_years, words or "not known"


def leg_length(
    given: Mapping[str, float], files: Sequence[Recording], standing: Mapping[str, FloatArray]
) -> tuple[float | None, str]:
    """Return the mean leg length of both sides (m, None if unknown), and a description of its source."""
    rule = load_table("body/measures")["leg_length"]
    sides = [row for _, row in expand_sides(rule)]
    sources = [(given, "given by the user")]
    sources += [(source.subject.measures, f"stored in {source.subject.file or source.path.name}") for source in files]
    for measures, words in sources:
        lengths = [measures[row["measure"]] for row in sides if row["measure"] in measures]
        if lengths:
            return float(np.mean(lengths)), words
    measured = [
        float(np.linalg.norm(standing[row["from"]] - standing[row["to"]]))
        for row in sides
        if row["from"] in standing and row["to"] in standing
    ]
    low, high = rule["range_m"]
    measured = [length for length in measured if low <= length <= high]
    if measured:
        return float(np.mean(measured)), "measured between the markers of the iliac spines and ankles"
    return None, "not lengths"


def standing_mass(
    static: Recording, standing: StandingPosture, mapping: MarkerMapping, foot_bodies: Sequence[str]
) -> tuple[MassEstimate | None, list[Diagnostic]]:
    """Return the mass from the plates of the static trial and findings; the mass is None if the feet are not on the plates."""
    feet = []
    for body in foot_bodies:
        points = [standing.points[r.label] for r in mapping.roles if r.body == body and r.label in standing.points]
        if points:
            feet.append(np.mean(points, axis=0))
    markers = static.markers
    try:
        plates = [plate_wrench(plate, markers.frame_count, markers.rate_hz) for plate in static.plates]
    except PlateError as error:  # the walk does not depend on these plates
        note = Diagnostic(
            "plate-not-used", "info", f"The force plates of the static trial are not used. {error.message}"
        )
        return None, [note]
    first_s, last_s = standing.first / markers.rate_hz, (standing.last + 1) / markers.rate_hz
    return mass_from_standing(plates, first_s, last_s, feet), []


#: J / (g T_stride) of each whole stance, kg, by side: see `stance_masses`.
StanceMasses: TypeAlias = Mapping[Side, Sequence[float]]


def stride_mass(own: StanceMasses, others: Sequence[StanceMasses] = ()) -> tuple[MassEstimate, Diagnostic]:
    """Return the mass from whole strides on the plates of a walk and of the `others` of its session, with a warning."""
    estimate = mass_from_strides((own, *others))
    if estimate is None:
        raise SubjectError(
            "The body mass is unknown: it is neither given nor stored in the files, and no plate measured quiet "
            "standing or a whole stride.",
            "Specify it with --mass.",
        )
    alone = [one.mass_kg for stances in (own, *others) if (one := mass_from_strides([stances])) is not None]
    spread = ""
    if len(alone) > 1:
        spread = (
            f" One mass is used for all {len(alone)} walks of the session; the estimates of single walks are "
            f"{min(alone):.1f} to {max(alone):.1f} kg."
        )
    return estimate, Diagnostic(
        "mass-from-strides",
        "warning",
        f"Body mass was estimated from the {estimate.source}: {estimate.mass_kg:.1f} kg.{spread}",
        value=estimate.mass_kg,
        unit="kg",
        hint="The estimate assumes steady walking. Specify the true mass with --mass.",
    )


# Plausible body masses.
PLAUSIBLE_MASS_KG = (8.0, 300.0)
KG_A_POUND = 0.45359237
# Vertical force above which a plate is loaded.
_LOADED_N = 20.0


@dataclass(frozen=True)
class MassEstimate:
    """A mass in kg and a description of its source; `stored` is True for a value entered in a file."""

    mass_kg: float
    source: str
    stored: bool = False


def mass_from_standing(
    plates: Sequence[PlateWrench], first_s: float, last_s: float, feet_W: Sequence[FloatArray]
) -> MassEstimate | None:
    """Return the mass from the mean vertical force of the plates in quiet standing.

    Parameters:
        plates: wrenches in World, at any rate. first_s, last_s: start and end of the quiet window. feet_W: position (3,) m of
            the middle of each foot. Returns None unless every foot is on a loaded plate and the force is steady.
    """
    # Largest variation of the vertical force in quiet standing (sway: about 1 % of weight).
    quiet_force_fraction = 0.03
    # Largest distance of the markers of a foot outside the plate that carries it.
    foot_on_plate_m = 0.05
    loaded = []
    total: FloatArray | None = None
    for plate in plates:
        samples = slice(
            int(first_s * plate.rate_hz), max(int(last_s * plate.rate_hz), int(first_s * plate.rate_hz) + 1)
        )
        vertical = plate.wrench[samples, 4]
        if not len(vertical) or not np.isfinite(vertical).all():
            return None
        if vertical.mean() > _LOADED_N:
            loaded.append(plate)
            total = vertical if total is None else total + vertical
    if total is None or not feet_W:
        return None
    for foot in feet_W:
        if min(float(signed_distance(foot[None], plate.corners)[0]) for plate in loaded) > foot_on_plate_m:
            return None
    mean = float(total.mean())
    mass = mean / STANDARD_GRAVITY_M_S2
    if float(total.std()) > quiet_force_fraction * mean or not PLAUSIBLE_MASS_KG[0] <= mass <= PLAUSIBLE_MASS_KG[1]:
        return None
    return MassEstimate(mass, "quiet standing on the plates")


def stance_masses(reaction: GroundReaction, events: Sequence[GaitEvent], rate_hz: float) -> StanceMasses:
    """Return J / (g T_stride) in kg of each whole stance by side, with the vertical impulse J.

    The impulse-momentum theorem over a stride of periodic gait is m = (J_right + J_left) / (g T_stride). Stances without a
    known stride time are omitted.
    """
    filter_tail_s = 0.08
    impulses: dict[Side, list[float]] = {side: [] for side in SIDES}
    strides: list[float] = []
    for side in SIDES:
        side_events = sorted((event for event in events if event.side == side), key=lambda event: event.time_s)
        strikes = [event.time_s for event in side_events if event.kind == "foot_strike"]
        strides += [later - earlier for earlier, later in pairwise(strikes)]
        for strike, off in pairwise(side_events):
            if (strike.kind, off.kind) == ("foot_strike", "foot_off"):
                # The filter spreads the edges of stance without changing the impulse.
                first = round((strike.time_s - filter_tail_s) * rate_hz)
                last = round((off.time_s + filter_tail_s) * rate_hz)
                if (
                    first >= 0
                    and last < len(reaction.measured[side])
                    and reaction.measured[side][first : last + 1].all()
                ):
                    impulses[side].append(float(reaction.wrench[side][first : last + 1, 4].sum()) / rate_hz)
    if not strides:
        return {}
    stride_s = float(np.median(strides))
    return {side: [J / (STANDARD_GRAVITY_M_S2 * stride_s) for J in values] for side, values in impulses.items()}


def mass_from_strides(walks: Sequence[StanceMasses]) -> MassEstimate | None:
    """Return the mass from the stances of one or several walks of a person, using one stance of each foot per stride.

    If only one side was measured, the other is assumed equal. Returns None without stances or if the mass is implausible.
    """
    pooled = [sorted(mass for walk in walks for mass in walk.get(side, ())) for side in SIDES]
    measured = [float(np.mean(values)) for values in pooled if values and np.mean(values) > 0.0]
    if not measured:
        return None
    mass = sum(measured) if len(measured) == 2 else 2.0 * measured[0]
    if not PLAUSIBLE_MASS_KG[0] <= mass <= PLAUSIBLE_MASS_KG[1]:
        return None
    what = (
        "one stance of each foot"
        if len(measured) == 2
        else "the stances of one foot, assuming equal values for the other"
    )
    return MassEstimate(mass, f"vertical impulse of whole strides on the plates ({what})")
