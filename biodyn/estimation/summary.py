"""Summary of an estimate: residuals before and after, changes of motion and parameters, plausibility, and findings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.diagnostics import Diagnostic, effect_text, severity_of
from biodyn.errors import EstimateError
from biodyn.estimation.gauss_newton import Posterior
from biodyn.estimation.noise_model import FORCE_SD_N
from biodyn.estimation.unknown_parameters import GAIN_SD, PLACE_SD_M, InertiaUnknowns, PlateSummary
from biodyn.library.tables import segment_title
from biodyn.processing.dynamics.inverse_dynamics import Dynamics
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.filtering import finite_rms, vector_rms
from biodyn.recording import GroundReaction
from biodyn.rigid_body import difference
from biodyn.uncertainty.parameter_sensitivities import ParameterEffects
from biodyn.uncertainty.propagation_inputs import TrialInputs

#: Number of prior SDs beyond which a parameter is outside the variation between people or plates.
FAR_SD = 3.0


@dataclass(frozen=True)
class EstimateSummary:
    """Changes made by an estimate.

    Attributes:
        raw_fit, raw_dynamics, raw_reaction: fitted motion before the estimate, its dynamics, and the ground reaction
            with the same filter.
        force_cutoff_hz: cut-off of the plate forces in the estimate.
        residual_before, residual_after: RMS of the base residual, force (N) and moment (Nm), each over its known frames.
        residual_unclosed: RMS residual of the estimate before its elimination.
        balance_sd: estimated error of the balance of forces (N) and moments (Nm) in a hundredth of a second.
        coordinates: names of the coordinates. moved_rms_rad, moved_max_rad: (C,) change of each coordinate.
        marker_rms_m, marker_max_m: change of the positions of the model's markers.
        centre_shifts_m: shift (3,) of each mass centre in segment axes. centre_sd_m: prior SDs (3,).
        mass_change_kg: change of the body mass. mass_sd_kg: its prior SD.
        segment_mass_changes: relative change of each segment mass, with the body mass. segment_mass_sd: prior SDs.
        plates: errors of the force plates suggested by motion and forces, and the corrected parts.
        torque_change: (C,) RMS change, Nm, in frames with a torque known before and after.
        random: standard deviations (T, C) of angles and torques from random errors; None if not computed.
        walks: number of walks of the session that contribute to mass centres, mass and plates, including this one.
        constants: parameters for the uncertainty of the torques; None if not computed or if none exist.
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
    plates: PlateSummary
    random: Posterior | None = None
    walks: int = 1
    constants: ParameterEffects | None = None


def summarise_estimate(
    inputs: TrialInputs,
    fit: Fit,
    dynamics: Dynamics,
    unknowns: InertiaUnknowns,
    values: FloatArray,
    force_cutoff_hz: float,
    balance_sd: tuple[float, float],
    unbalanced: FloatArray,
    plates: PlateSummary,
    random: Posterior | None = None,
    walks: int = 1,
    constants: ParameterEffects | None = None,
) -> EstimateSummary:
    """Return the summary of an estimate of the trial `inputs`; unbalanced: (T, 6) [moment; force] before its elimination."""
    raw, model = inputs.fit, fit.model
    known = np.isfinite(raw.motion.q).all(axis=1) & np.isfinite(fit.motion.q).all(axis=1)
    columns = [coordinate.v_index for coordinate in model.coordinates]
    steps = np.zeros((1, len(columns)))
    if known.any():
        steps = difference(model.multibody, raw.motion.q[known], fit.motion.q[known])[:, columns]
    distance = np.linalg.norm(fit.marker_positions() - raw.marker_positions(), axis=2)[known]
    mass_kg = raw.model.mass_kg
    return EstimateSummary(
        raw_fit=raw,
        raw_dynamics=inputs.dynamics,
        raw_reaction=inputs.reaction,
        force_cutoff_hz=force_cutoff_hz,
        residual_before=_residual_rms(inputs.dynamics),
        residual_after=_residual_rms(dynamics),
        residual_unclosed=(float(vector_rms(unbalanced[:, 3:])), float(vector_rms(unbalanced[:, :3]))),
        balance_sd=balance_sd,
        coordinates=tuple(coordinate.name for coordinate in model.coordinates),
        moved_rms_rad=np.sqrt(np.mean(steps**2, axis=0)),
        moved_max_rad=np.abs(steps).max(axis=0),
        marker_rms_m=float(np.sqrt(np.mean(distance**2))) if distance.size else float("nan"),
        marker_max_m=float(distance.max()) if distance.size else float("nan"),
        centre_shifts_m=unknowns.centre_shifts_m(values),
        centre_sd_m=dict(zip(unknowns.segments, unknowns.sd_m.tolist(), strict=True)),
        mass_change_kg=mass_kg * unknowns.relative_body_mass_change(values),
        mass_sd_kg=mass_kg * unknowns.mass_share_sd,
        segment_mass_changes=unknowns.mass_changes(values),
        segment_mass_sd=dict(zip(unknowns.bodies, unknowns.segment_share_sd.tolist(), strict=True)),
        torque_change=np.asarray(finite_rms((dynamics.torques - inputs.dynamics.torques).T)),
        plates=plates,
        random=random,
        walks=walks,
        constants=constants,
    )


def _residual_rms(dynamics: Dynamics) -> tuple[float, float]:
    return float(vector_rms(dynamics.residual_force)), float(vector_rms(dynamics.residual_moment))


# -- Plausibility: an estimate is implausible if it has not converged, if the model does not belong to these markers,
# or if a force was not measured (crutch, hand on a rail, helping person), which appears as a different mass and as
# plates with a too large gain.

# Limit (m) of the change of the model's markers, which is also the limit of a valid fit; estimates change them by half
# a millimetre.
_MOST_MARKER_CHANGE_M = 0.02
_LOOK = (
    "Check for an unmeasured force (walking aid, hand on a rail), a foot on two plates, a wrong body mass or a "
    "wrong plate."
)


def require_plausible_estimate(summary: EstimateSummary) -> None:
    """Raise EstimateError if the estimate is far from the markers, or requires an implausible plate or body.

    Errors of plates and of the body mass are linearised; beyond 15 % or 15 cm the second-order terms are some per cent of a
    force. A walking aid that always carries a tenth of body weight appears as a different mass; the estimate is then as
    accurate as the filter (and half as accurate at the hip if the aid carries a fifth). Segment tables differ by 8 %. A
    prosthesis has half the mass of the segment that it replaces, and a boot the mass of a foot.
    """
    most_share, most_shift_m, most_segment_share, most_foot_share = 0.15, 0.15, 0.6, 1.2
    if summary.marker_rms_m > _MOST_MARKER_CHANGE_M:
        raise EstimateError(
            f"The estimate did not converge: it changed the markers of the model by {1e3 * summary.marker_rms_m:.0f} mm RMS, "
            f"more than {1e3 * _MOST_MARKER_CHANGE_M:.0f} mm."
        )
    for plate in summary.plates.errors:
        shift_m = float(np.abs(plate.shift_m).max())
        if abs(plate.gain) > most_share:
            amount = "high" if plate.gain > 0 else "low"
            raise _implausibility_error(
                f"that the gain of plate {plate.number} is {100 * abs(plate.gain):.0f} % too {amount}"
            )
        if shift_m > most_shift_m:
            raise _implausibility_error(f"that plate {plate.number} is offset by {100 * shift_m:.0f} cm")
    mass_kg, change_kg = summary.raw_fit.model.mass_kg, summary.mass_change_kg
    if abs(change_kg) > most_share * mass_kg:
        # the prior of the mass shrinks the change, so that the true change is larger
        amount = f"at least {abs(change_kg):.0f} kg {'less' if change_kg < 0.0 else 'more'}"
        raise _implausibility_error(f"that the body mass is {amount} than the {mass_kg:.0f} kg that are used")
    feet = summary.raw_fit.model.sole_body.values()
    for segment, share in summary.segment_mass_changes.items():
        if abs(share) > (most_foot_share if segment in feet and share > 0.0 else most_segment_share):
            raise _implausibility_error(
                f"that the mass of the {segment_title(segment)} changes by {100 * share:+.0f} %"
            )
    # A different body mass is plausible if motion and forces agree with it. The error of the balance of real walks is
    # 1 to 2.5 times the expected error; with crutches next to the plates it is at least 3 times.
    if abs(change_kg) > FAR_SD * summary.mass_sd_kg and summary.balance_sd[0] > 3.0 * FORCE_SD_N:
        raise EstimateError(
            f"Motion and forces disagree by {summary.residual_unclosed[0]:.0f} N even with the body mass changed by "
            f"{change_kg:+.1f} kg.",
            _LOOK,
        )


def _implausibility_error(what: str) -> EstimateError:
    return EstimateError(f"Motion and forces agree only if it is assumed {what}.", _LOOK)


# -- Findings


def estimate_findings(summary: EstimateSummary, late_s: float, assumed: Collection[str] = ()) -> list[Diagnostic]:
    """Return a warning for every mass centre, mass, plate error and delay outside the variation between people or plates.

    late_s: largest delay of forces in valid recordings. assumed: segments with assumed motion, for which shifts of mass centres
    are not reported, because these also compensate the unknown posture.
    """
    notes = _plate_notes(summary.plates, leaning=_heaviest_segment(summary) in assumed)
    notes += _delay_notes(summary.plates, late_s)
    for segment, shift in summary.centre_shifts_m.items():
        sd, size = summary.centre_sd_m[segment], float(np.abs(shift).max())
        if size > FAR_SD * sd and segment not in assumed:
            notes.append(
                Diagnostic(
                    "estimate-segment-mass",
                    "warning",
                    f"The estimate shifted the mass centre of the {segment_title(segment)} by {100 * size:.1f} cm, which exceeds "
                    "the differences between people and the tables.",
                    value=size,
                    limit=FAR_SD * sd,
                    unit="m",
                    hint="Check for a shifted plate, a wrong body mass, or a posture that differs from the static "
                    "trial. The residual before the estimate indicates the possible effect.",
                    about=segment,
                )
            )
    feet = tuple(summary.raw_fit.model.sole_body.values())
    heaviest_shoe = 1.0  # a boot has the mass of an adult's foot
    notes += _shoe_note(summary, feet, heaviest_shoe)
    # excluded, because the masses of segments without markers compensate other errors
    unseen = {*assumed, *summary.raw_fit.model.locked_segments}
    for segment, share in summary.segment_mass_changes.items():
        if segment in unseen:
            continue
        limit = FAR_SD * summary.segment_mass_sd[segment]
        if limit and abs(share) > limit and not (segment in feet and 0.0 < share <= heaviest_shoe):
            notes.append(
                Diagnostic(
                    "estimate-segment-mass",
                    "warning",
                    f"The estimate changed the mass of the {segment_title(segment)} by {100 * share:+.0f} %, which exceeds the "
                    "differences between people and the tables.",
                    value=100.0 * abs(share),
                    limit=100.0 * limit,
                    unit="%",
                    hint="Check for a prosthesis, a carried load, or misplaced markers.",
                    about=segment,
                )
            )
    if summary.mass_sd_kg and abs(summary.mass_change_kg) > FAR_SD * summary.mass_sd_kg:
        notes.append(
            Diagnostic(
                "estimate-mass",
                "warning",
                f"The estimate changed the body mass by {summary.mass_change_kg:+.1f} kg.",
                value=abs(summary.mass_change_kg),
                limit=FAR_SD * summary.mass_sd_kg,
                unit="kg",
                hint="Check the body mass (--mass) and the scale of the plates.",
            )
        )
    return notes


def _shoe_note(
    summary: EstimateSummary, feet: Collection[str], heaviest: float, lightest: float = 0.2
) -> list[Diagnostic]:
    """Return a finding if both feet are heavier by the mass of shoes (0.2 to 0.5 kg; an adult's foot has 1 kg)."""
    foot = next((name for name in feet if name in summary.segment_mass_changes), None)
    share = summary.segment_mass_changes[foot] if foot else 0.0
    if foot is None or not lightest < share <= heaviest:
        return []
    bare_kg = next(b.inertia.mass for b in summary.raw_fit.model.bodies if b.definition.name == foot)
    return [
        Diagnostic(
            "estimate-shoes",
            "info",
            f"The estimated feet are {100 * share:.0f} % ({share * bare_kg:.2f} kg each) heavier than bare feet at this body "
            "mass, as with shoes; these masses are used.",
            value=share * bare_kg,
            unit="kg",
            about=foot,
        )
    ]


def failed_estimate_finding(error: EstimateError) -> Diagnostic:
    """Return the warning that the filtered result is used because no estimate was possible."""
    look = f"{error.look} " if error.look else ""
    return Diagnostic(
        "estimate-not-made",
        "warning",
        f"No joint estimate of motion and forces was possible; the filtered result is used. {error.message}",
        hint=f"{look}The torques of this trial are filtered, unlike the torques of trials with an estimate. "
        'Set signals.method = "butterworth" for all trials to make them comparable.',
    )


def _heaviest_segment(summary: EstimateSummary) -> str:
    """Return the name of the segment with the largest mass, which is the trunk."""
    return max(summary.raw_fit.model.bodies, key=lambda body: body.inertia.mass).definition.name


def _plate_notes(plates: PlateSummary, leaning: bool) -> list[Diagnostic]:
    """Return findings about plates for which motion and forces suggest a gross error, most of which is not corrected.

    leaning: True if the trunk has no markers. In the balance, a trunk lean of 5 degrees is equivalent to an offset of all
    plates by 15 to 20 mm.
    """
    limit_m = 0.04 if leaning else 3.0 * PLACE_SD_M
    notes = []
    shifts = np.array([error.shift_m for error in plates.errors]).reshape(-1, 2)
    alike = len(shifts) > 1 and np.abs(shifts - shifts.mean(axis=0)).max() < limit_m / 2.0
    if alike and np.abs(shifts.mean(axis=0)).max() > limit_m:
        left = np.mean([error.shift_m - error.corrected_m for error in plates.errors], axis=0)
        notes.append(_position_note(plates.axes, shifts.mean(axis=0), left, limit_m, "all plates", leaning))
    for error in plates.errors:
        about = f"plate {error.number}"
        if not alike and np.abs(error.shift_m).max() > limit_m:
            left = error.shift_m - error.corrected_m
            notes.append(_position_note(plates.axes, error.shift_m, left, limit_m, about, leaning))
        if abs(error.gain) > FAR_SD * GAIN_SD:
            notes.append(
                Diagnostic(
                    "estimate-plate-gain",
                    "warning",
                    f"Motion and forces suggest that the forces of plate {error.number} are "
                    f"{abs(100 * error.gain):.1f} % too {('large' if error.gain > 0 else 'small')}; "
                    f"{100 * abs(error.corrected_gain):.1f} % were corrected.",
                    value=100.0 * abs(error.gain),
                    limit=100.0 * FAR_SD * GAIN_SD,
                    unit="%",
                    hint="Moments of the foot on this plate have about the same relative error. Check the "
                    "sensitivity of the plate and the body mass (--mass).",
                    about=about,
                )
            )
    return notes


def _position_note(
    axes: tuple[str, ...], shift_m: FloatArray, left_m: FloatArray, limit_m: float, about: str, leaning: bool
) -> Diagnostic:
    """Return the finding about a suggested position error of a plate or of all plates.

    left_m: (2,) part of the shift (m) that is not corrected. about: name of the plates. leaning: as in `_plate_notes`.
    """
    offset = " and ".join(f"{100 * shift:+.1f} cm along {axis}" for shift, axis in zip(shift_m, axes, strict=True))
    plural = about == "all plates"
    causes = ["the axes of cameras and plates"] if plural else ["the corners of the plate"]
    causes += ["a lean of the trunk, which has no markers"] if leaning else []
    effect = STANDARD_GRAVITY_M_S2 * float(np.abs(left_m).max())  # at body weight, about the RMS over a stance
    return Diagnostic(
        "estimate-plate-place",
        "warning" if leaning else severity_of(effect),
        f"Motion and forces suggest that {about} {'are' if plural else 'is'} offset by {offset} of the laboratory"
        f"{effect_text(effect)}.",
        value=float(np.abs(shift_m).max()),
        limit=limit_m,
        unit="m",
        hint=f"The plates are used as in the file. Check {' and '.join(causes)}.",
        about=about,
    )


def _delay_notes(plates: PlateSummary, late_s: float) -> list[Diagnostic]:
    """Return a finding about forces that are late or early relative to the markers.

    In real walks of six laboratories, forces are between 2 ms early and 11 ms late, because of delays or of soft tissue that
    lags behind the bones.
    """
    limit_s = max(late_s, FAR_SD * plates.delay_sd_s)
    if abs(plates.delay_s) <= limit_s:
        return []
    return [
        Diagnostic(
            "estimate-force-delay",
            "warning",
            f"Motion and forces suggest that all forces are {abs(1000.0 * plates.delay_s):.1f} ms "
            f"{('late' if plates.delay_s > 0 else 'early')} relative to the markers.",
            value=abs(plates.delay_s),
            limit=limit_s,
            unit="s",
            hint="The forces are used as recorded. Check the synchronisation of cameras and plates. Soft tissue "
            "that lags behind the bones has the same effect.",
        )
    ]
