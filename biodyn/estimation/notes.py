"""What an estimate gives reason to doubt."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from biodyn.diagnostics import Diagnostic
from biodyn.errors import EstimateError
from biodyn.estimation.account import FAR_SD, EstimateAccount
from biodyn.estimation.plates import PlateAccount

# A plate whose place was checked stands within one: at two it is worth a look.
_FAR_PLACE_SD = 2.0
_LEAST_TOLD = 1e-3  # share of what was expected that a trial tells; less is nothing


# Shoes weigh 0.2 to 0.5 kg, boots up to one, and an adult's foot one; what is told of bare feet differs by less.
_LIGHTEST_SHOE, _HEAVIEST_SHOE = 0.2, 1.0


def estimate_notes(account: EstimateAccount, late_s: float, assumed: Collection[str] = ()) -> list[Diagnostic]:
    """Return a warning for every mass centre, plate and for mass and time that went farther than people and plates differ.

    late_s: how late or early forces are in sound recordings, at most. assumed: segments whose motion no marker shows; their mass
    centres stand for a posture that nobody knows, too, and are none.
    """
    notes = [*_plate_notes(account.plates), *_delay_notes(account.plates, late_s)]
    for segment, shift in account.centre_shifts_m.items():
        sd, size = account.centre_sd_m[segment], float(np.abs(shift).max())
        if size > FAR_SD * sd and segment not in assumed:
            notes.append(
                Diagnostic(
                    "estimate-mass-centre",
                    "warning",
                    f"To make motion and forces agree the mass centre of {segment} was moved by {100 * size:.1f} cm, more than "
                    "people differ from the tables.",
                    value=size,
                    limit=FAR_SD * sd,
                    unit="m",
                    hint="Look for a moved plate, a wrong body mass, or a posture that the static trial did not show; the "
                    "residual before the estimate tells how much is at stake.",
                    about=segment,
                )
            )
    notes += _shoes(account)
    for segment, share in account.segment_mass_changes.items():
        limit = FAR_SD * account.segment_mass_sd[segment]
        if limit and abs(share) > limit and not (segment in _feet(account) and 0.0 < share <= _HEAVIEST_SHOE):
            notes.append(
                Diagnostic(
                    "estimate-segment-mass",
                    "warning",
                    f"To make motion and forces agree the mass of {segment} was changed by {100 * share:+.0f} %, "
                    "more than people differ from the tables.",
                    value=100.0 * abs(share),
                    limit=100.0 * limit,
                    unit="%",
                    hint="Look for a prosthesis or a load that is carried, else for markers that lie elsewhere.",
                    about=segment,
                )
            )
    if account.mass_sd_kg and abs(account.mass_change_kg) > FAR_SD * account.mass_sd_kg:
        notes.append(
            Diagnostic(
                "estimate-mass",
                "warning",
                f"To make motion and forces agree the body's mass was changed by {account.mass_change_kg:+.1f} kg.",
                value=abs(account.mass_change_kg),
                limit=FAR_SD * account.mass_sd_kg,
                unit="kg",
                hint="Check the body mass (--mass) and the scale of the plates.",
            )
        )
    return notes


def _feet(account: EstimateAccount) -> tuple[str, ...]:
    """The segments that the body stands on."""
    return tuple(account.raw_fit.model.sole_body.values())


def _shoes(account: EstimateAccount) -> list[Diagnostic]:
    """What feet that are heavier than bare ones are taken for; both are alike by the estimate's account."""
    foot = next((name for name in _feet(account) if name in account.segment_mass_changes), None)
    share = account.segment_mass_changes[foot] if foot else 0.0
    if foot is None or not _LIGHTEST_SHOE < share <= _HEAVIEST_SHOE:
        return []
    bare_kg = next(b.inertia.mass for b in account.raw_fit.model.bodies if b.definition.name == foot)
    return [
        Diagnostic(
            "estimate-shoes",
            "info",
            f"Motion and forces agree with feet that are {100 * share:.0f} % ({share * bare_kg:.2f} kg each) heavier than bare "
            "ones of this body mass, as shoes make them; they are used so.",
            value=share * bare_kg,
            unit="kg",
            about=foot,
        )
    ]


def no_estimate(error: EstimateError) -> Diagnostic:
    """Return the warning that the filtered motion stands, where an estimate was to be made and cannot be."""
    why = f"{error.message[:1].lower()}{error.message[1:]}"
    look = f"{error.look} " if error.look else ""
    return Diagnostic(
        "estimate-not-made",
        "warning",
        f"Motion and forces could not be made one estimate, the filtered motion stands: {why}",
        hint=f"{look}Torques of this trial are computed otherwise than those of others: take means of both with care. "
        'signals.method = "butterworth" for all of them makes them alike.',
    )


def _plate_notes(plates: PlateAccount) -> list[Diagnostic]:
    """Plates farther off than well-kept ones are: a fault of the laboratory, told although its effect was taken out."""
    notes, expected = [], plates.expected
    for error in plates.errors:
        at = int(np.abs(error.shift_m).argmax())
        far = float(abs(error.shift_m[at]))
        if far > _FAR_PLACE_SD * expected.place_m:
            along = " and ".join(
                f"{100 * shift:+.1f} cm along {axis}" for shift, axis in zip(error.shift_m, plates.axes, strict=True)
            )
            notes.append(
                Diagnostic(
                    "estimate-plate-place",
                    "warning",
                    f"Motion and forces agree better where plate {error.number} stands {along} of the laboratory "
                    "beside its place in the file, more than plates that were checked.",
                    value=far,
                    limit=_FAR_PLACE_SD * expected.place_m,
                    unit="m",
                    hint="Check the plate's corners with an instrumented pole. "
                    + _drawn(f"{100 * _alone(far, float(error.shift_sd_m[at]), error.shift_drawn_m):.0f} cm")
                    + " The checks judge the motion before the estimate, with the plate where the file has it.",
                    about=f"plate {error.number}",
                )
            )
        if abs(error.gain) > FAR_SD * expected.gain:
            notes.append(
                Diagnostic(
                    "estimate-plate-gain",
                    "warning",
                    f"Motion and forces agree better where plate {error.number} reads {abs(100 * error.gain):.1f} % too "
                    f"{'much' if error.gain > 0 else 'little'}.",
                    value=100.0 * abs(error.gain),
                    limit=100.0 * FAR_SD * expected.gain,
                    unit="%",
                    hint="Check the plate's sensitivity and the body mass (--mass). "
                    + _drawn(f"{100 * _alone(abs(error.gain), error.gain_sd, error.gain_drawn):.0f} %"),
                    about=f"plate {error.number}",
                )
            )
    return notes


def _delay_notes(plates: PlateAccount, late_s: float) -> list[Diagnostic]:
    """Forces later or earlier than markers, by what the recordings themselves ask for.

    What is found is drawn towards 0 the less, the more walks tell it; what they ask for is not, and is as large in a session as
    in each of its walks. Real walks of six laboratories ask for 2 ms early to 11 ms late: bodies are not of rigid segments.
    """
    if not plates.expected.delay_s:
        return []
    alone_s = _alone(plates.delay_s, plates.delay_sd_s, plates.expected.delay_s)
    told = max(1.0 - (plates.delay_sd_s / plates.expected.delay_s) ** 2, _LEAST_TOLD)
    limit_s = max(late_s, FAR_SD * plates.delay_sd_s / np.sqrt(told))
    if abs(alone_s) <= limit_s:
        return []
    return [
        Diagnostic(
            "estimate-force-delay",
            "warning",
            f"All forces seem {abs(1e3 * alone_s):.1f} ms {'late' if alone_s > 0 else 'early'} against the markers: so shifted, "
            "they agree best with the motion.",
            value=abs(alone_s),
            limit=limit_s,
            unit="s",
            hint="Check how cameras and plates were synchronised. Expecting them to be, the estimate took only "
            f"{abs(1e3 * plates.delay_s):.1f} ms of it out of the torques.",
        )
    ]


def _alone(found: float, sd: float, expected: float) -> float:
    """What the trial asks for by itself: 0 +- `expected` and what it says, two normal densities, together are `found` +- `sd`."""
    return found / max(1.0 - (sd / expected) ** 2, _LEAST_TOLD)


def _drawn(alone: str) -> str:
    return (
        "The estimate took this out of the torques; expecting plates to be right, it finds less than there is: the trial alone "
        f"asks for about {alone}."
    )
