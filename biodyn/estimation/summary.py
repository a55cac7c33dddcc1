"""Summary of an estimate: residuals before and after, what was moved, what changed; its plausibility and its findings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import EstimateError
from biodyn.estimation.gauss_newton import Posterior
from biodyn.estimation.parameters import InertiaUnknowns, PlateAccount
from biodyn.estimation.noise_model import FORCE_SD_N
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.kinematics.fit import Fit
from biodyn.processing.signals.filtering import rms, vector_rms
from biodyn.recording import GroundReaction
from biodyn.rigid_body import difference
from biodyn.uncertainty.inputs import TrialInputs
from biodyn.uncertainty.parameter_sensitivities import FoundConstants

#: Farther off than this many standard deviations an unknown is not what people and plates differ in.
FAR_SD = 3.0


@dataclass(frozen=True)
class EstimateSummary:
    """What the estimate did.

    Attributes:
        raw_fit, raw_dynamics, raw_reaction: before it: the motion as fitted, its torques, the ground reaction filtered alike.
        force_cutoff_hz: of the plate forces in the estimate.
        residual_before, residual_after: RMS of the base residual's force N and moment Nm, each over its own frames.
        residual_unclosed: the same before the last step, which brings the motion in balance (`closing`).
        balance_sd: error of the balance of forces N and of moments Nm in a hundredth of a second, as the trial showed it.
        coordinates: names; moved_rms_rad, moved_max_rad: (C,) how far each was moved.
        marker_rms_m, marker_max_m: how far the model's markers were moved.
        centre_shifts_m: (3,) of the mass centres by segment, in its own axes; centre_sd_m: (3,) what was known of it before.
        mass_change_kg: of the whole body; mass_sd_kg: what was known before.
        segment_mass_changes: of each segment, share of its own mass, that of the body's among it; segment_mass_sd: of
            each, known before.
        plates: what was found of the force plates, and taken into account.
        torque_change: (C,) Nm RMS where the torque is known before and after.
        random: one standard deviation (T, C) of angles and torques from what is random in the measurements; None if not asked.
        walks: of the session that told mass centres, mass and plates, this one among them.
        constants: these, as the bands ask for them (`parameter_sensitivities`); None if not asked, or where there are none.
    """

    raw_fit: Fit
    raw_dynamics: Dynamics
    raw_reaction: GroundReaction
    force_cutoff_hz: float
    residual_before: tuple[float, float]
    residual_after: tuple[float, float]
    residual_unclosed: tuple[float, float]
    balance_sd: tuple[float, float]
    coordinates: tuple[str, ...]
    moved_rms_rad: FloatArray
    moved_max_rad: FloatArray
    marker_rms_m: float
    marker_max_m: float
    centre_shifts_m: Mapping[str, FloatArray]
    centre_sd_m: Mapping[str, float]
    mass_change_kg: float
    mass_sd_kg: float
    segment_mass_changes: Mapping[str, float]
    segment_mass_sd: Mapping[str, float]
    torque_change: FloatArray
    plates: PlateAccount
    random: Posterior | None = None
    walks: int = 1
    constants: FoundConstants | None = None


def summarise(
    inputs: TrialInputs,
    fit: Fit,
    dynamics: Dynamics,
    unknowns: InertiaUnknowns | None,
    values: FloatArray,
    force_cutoff_hz: float,
    balance_sd: tuple[float, float],
    unbalanced: FloatArray,
    plates: PlateAccount,
    random: Posterior | None = None,
    walks: int = 1,
    constants: FoundConstants | None = None,
) -> EstimateSummary:
    """Return the account of an estimate of the trial `inputs`; unbalanced: (T, 6) [moment; force] before the last step."""
    before, model = inputs.fit, fit.model
    known = np.isfinite(before.motion.q).all(axis=1) & np.isfinite(fit.motion.q).all(axis=1)
    steps = np.zeros((int(known.sum()), model.multibody.nv))
    if known.any():
        steps = difference(model.multibody, before.motion.q[known], fit.motion.q[known])
    columns = [coordinate.v_index for coordinate in model.coordinates]
    moved = steps[:, columns] if len(steps) else np.zeros((1, len(columns)))
    places = [model.marker_places(f.link_R_W, f.link_p_W) for f in (before, fit)]
    apart = np.linalg.norm(places[1] - places[0], axis=2)[known]
    mass_kg = before.model.mass_kg
    return EstimateSummary(
        raw_fit=before,
        raw_dynamics=inputs.dynamics,
        raw_reaction=inputs.reaction,
        force_cutoff_hz=force_cutoff_hz,
        residual_before=_residual(inputs.dynamics),
        residual_after=_residual(dynamics),
        residual_unclosed=(float(vector_rms(unbalanced[:, 3:])), float(vector_rms(unbalanced[:, :3]))),
        balance_sd=balance_sd,
        coordinates=tuple(coordinate.name for coordinate in model.coordinates),
        moved_rms_rad=np.sqrt(np.mean(moved**2, axis=0)),
        moved_max_rad=np.abs(moved).max(axis=0),
        marker_rms_m=float(np.sqrt(np.mean(apart**2))) if apart.size else float("nan"),
        marker_max_m=float(apart.max()) if apart.size else float("nan"),
        centre_shifts_m={} if unknowns is None else unknowns.centre_shifts_m(values),
        centre_sd_m={} if unknowns is None else dict(zip(unknowns.segments, unknowns.sd_m.tolist(), strict=True)),
        mass_change_kg=0.0 if unknowns is None else mass_kg * unknowns.body_share(values),
        mass_sd_kg=0.0 if unknowns is None else mass_kg * unknowns.mass_share_sd,
        segment_mass_changes={} if unknowns is None else unknowns.mass_changes(values),
        segment_mass_sd={}
        if unknowns is None
        else dict(zip(unknowns.bodies, unknowns.segment_share_sd.tolist(), strict=True)),
        torque_change=np.asarray(rms((dynamics.torques - inputs.dynamics.torques).T)),
        plates=plates,
        random=random,
        walks=walks,
        constants=constants,
    )


def _residual(dynamics: Dynamics) -> tuple[float, float]:
    return float(vector_rms(dynamics.residual_force)), float(vector_rms(dynamics.residual_moment))


# -- What no sound trial asks an estimate for: markers far from where they were seen, a body or plates that cannot be.
#
# The estimate has not converged then, the model is not of these markers, or something acted that no plate measured: a crutch, a
# hand on a rail, a person who helps. It looks like another mass, and like plates that read too much.

# An estimate moves the model's markers by half a millimetre; this is the limit of a sound fit itself.
_FARTHEST_M = 0.02
# What is found of plates and of the body's mass is computed to first order: beyond these the second order is some per cent of a
# force. An aid that carries a tenth of the body all the time looks like another mass: the estimate is as good as the filter
# there, and half as good at the hip where it carries a fifth.
_MOST_GAIN, _MOST_MASS, _MOST_PLACE_M = 0.15, 0.15, 0.15
# Tables of segments differ by 8 %, and a prosthesis weighs half of what it stands for. A boot weighs as much as a foot.
_MOST_MASS_SHARE, _MOST_FOOT_SHARE = 0.6, 1.2
# A gross error is believed where motion and forces agree with it. Beyond so many times the expected error of the balance they do
# not: of real walks it comes to 1 to 2.5 times, beside a moved plate as well; with crutches beside the plates to 3 and more.
_MOST_UNBALANCED = 3.0
_LOOK = "Look for a force that no plate measured (an aid, a hand on a rail), a foot on two plates, a wrong body mass or plate."


def require_plausible(account: EstimateSummary) -> None:
    """Raise EstimateError where the estimate left the markers, or needs a plate or a body that cannot be."""
    if account.marker_rms_m > _FARTHEST_M:
        raise EstimateError(
            f"It has not converged: it moved the markers of the model by {1e3 * account.marker_rms_m:.0f} mm RMS, more than "
            f"{1e3 * _FARTHEST_M:.0f} mm."
        )
    for plate in account.plates.errors:
        shift_m = float(np.abs(plate.shift_m).max())
        if abs(plate.gain) > _MOST_GAIN:
            much = "much" if plate.gain > 0 else "little"
            raise _impossible(f"plate {plate.number} would have to read {100 * abs(plate.gain):.0f} % too {much}")
        if shift_m > _MOST_PLACE_M:
            raise _impossible(f"plate {plate.number} would have to stand {100 * shift_m:.0f} cm beside its place")
    mass_kg, change_kg = account.raw_fit.model.mass_kg, account.mass_change_kg
    if abs(change_kg) > _MOST_MASS * mass_kg:
        # what is expected of a stated mass draws this towards 0: the true change is larger
        amount = f"at least {abs(change_kg):.0f} kg {'less' if change_kg < 0.0 else 'more'}"
        raise _impossible(f"the body would have to weigh {amount} than the {mass_kg:.0f} kg that are used")
    feet = account.raw_fit.model.sole_body.values()
    for segment, share in account.segment_mass_changes.items():
        if abs(share) > (_MOST_FOOT_SHARE if segment in feet and share > 0.0 else _MOST_MASS_SHARE):
            raise _impossible(f"the mass of {segment} would have to be another one by {100 * share:+.0f} %")
    gross = _gross(account)
    if gross and account.balance_sd[0] > _MOST_UNBALANCED * FORCE_SD_N:
        raise EstimateError(
            f"Motion and forces disagree by {account.residual_unclosed[0]:.0f} N even with {gross}.",
            _LOOK,
        )


def _gross(account: EstimateSummary) -> str:
    """The first error that is found to be far beyond the usual, in words; "" for none."""
    expected = account.plates.expected
    for plate in account.plates.errors:
        shift_m = float(np.abs(plate.shift_m).max())
        if shift_m > FAR_SD * expected.place_m:
            return f"plate {plate.number} {100 * shift_m:.0f} cm beside its place"
        if abs(plate.gain) > FAR_SD * expected.gain:
            return f"another gain of plate {plate.number} by {100 * plate.gain:+.0f} %"
    if abs(account.mass_change_kg) > FAR_SD * account.mass_sd_kg:
        return f"another body mass by {account.mass_change_kg:+.1f} kg"
    return ""


def _impossible(what: str) -> EstimateError:
    return EstimateError(f"For motion and forces to agree {what}.", _LOOK)


# A plate whose place was checked stands within one: at two it is worth a look.
_FAR_PLACE_SD = 2.0
_LEAST_TOLD = 1e-3  # share of what was expected that a trial tells; less is nothing


# Shoes weigh 0.2 to 0.5 kg, boots up to one, and an adult's foot one; what is told of bare feet differs by less.
_LIGHTEST_SHOE, _HEAVIEST_SHOE = 0.2, 1.0


def estimate_findings(account: EstimateSummary, late_s: float, assumed: Collection[str] = ()) -> list[Diagnostic]:
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
                    "estimate-segment-mass",
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


def _feet(account: EstimateSummary) -> tuple[str, ...]:
    """The segments that the body stands on."""
    return tuple(account.raw_fit.model.sole_body.values())


def _shoes(account: EstimateSummary) -> list[Diagnostic]:
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


def estimate_failed(error: EstimateError) -> Diagnostic:
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
                    + _drawn(f"{100 * _alone(far, float(error.shift_sd_m[at]), error.shift_prior_sd_m):.0f} cm")
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
                    + _drawn(f"{100 * _alone(abs(error.gain), error.gain_sd, error.gain_prior_sd):.0f} %"),
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
