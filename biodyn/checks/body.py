"""Checks of body mass, residual and numerical consistency."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators.plate_evidence import PlateEvidence
from biodyn.checks.estimators.residual import (
    findings_explaining_residual,
    report_large_residual,
    residual_status,
    unobserved_mass_fraction,
)
from biodyn.checks.registry import CheckResult, check, finding_title
from biodyn.checks.trial_facts import TrialFacts
from biodyn.conventions import STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.diagnostics import Diagnostic, effect_text, severity_of
from biodyn.library.tables import segment_title
from biodyn.processing.calibration.subject_measurements import KG_A_POUND, MASS_MISMATCH_SHARE
from biodyn.processing.dynamics.actuated_motion import actuated_motion
from biodyn.processing.signals.filtering import finite_rms, vector_rms
from biodyn.verification.consistency import check_consistency


@check(
    "mass",
    "Stated mass vs. force plates",
    compares="impulse of the plates in completely measured frames compared with the motion of the centre of mass; "
    "also standing on plates",
    causes="a wrong mass (clothes and shoes included), the gain of the plates, a foot partly off the plates",
    place=140,
    turn=110,
    limit=MASS_MISMATCH_SHARE,
    display_unit=(100.0, "%"),
    findings={"mass-mismatch": "Stated mass vs. force plates"},
    unless=("sides", "other_load", "force_unit", "zero"),
)
def check_stated_mass(trial: TrialFacts, limit: float) -> CheckResult:
    """Compare the stated mass with the forces of the plates in walking and standing."""
    evidence = trial.evidence
    if evidence is None:
        return CheckResult()
    mass = walking_mass_kg(evidence)
    share = np.nan if mass is None else mass / (evidence.weight_n / STANDARD_GRAVITY_M_S2) - 1.0
    # The plate is loaded during the whole static trial, so that its offset cannot be determined.
    standing_kg = None if trial.offset_findings else trial.analysis.static.plates_mass_kg
    return CheckResult(value=share, findings=report_mass_mismatch(evidence, standing_kg, limit, trial.effect_of_gains))


@check(
    "body-weight",
    "Body mass vs. force plates",
    compares="mean vertical residual compared with body weight while both feet were measured",
    causes="a wrong mass, offset or gain of the plates",
    kind="result",
    place=30,
    limit=MASS_MISMATCH_SHARE,
)
def check_body_mass(trial: TrialFacts, limit: float) -> CheckResult:
    """Compare the mean vertical residual with body weight."""
    # Multiple of the limit beyond which the mass is of another recording.
    fail_factor = 5.0
    vertical = trial.analysis.dynamics.residual_force[:, 1]
    if trial.other_loads:
        return CheckResult("not_assessed", "A part of the body was supported by something other than the feet.")
    if not np.isfinite(vertical).any():
        return CheckResult("not_assessed", "The contacts of both feet were never known at the same time.")
    mismatch = float(np.nanmean(vertical)) / trial.weight_n
    text = (
        f"While both feet were measured, the plates carried {abs(100 * mismatch):.1f} % of body weight "
        f"{('less' if mismatch > 0 else 'more')} than expected from the motion with a mass of "
        f"{trial.analysis.subject.mass_kg:.1f} kg (limit {100 * limit:.0f} %)."
    )
    status = residual_status(abs(mismatch), limit, fail_factor * limit)
    hint = "Check body mass (--mass), and offset and gain of the plates."
    return CheckResult(status, text, abs(mismatch), hint=hint)


_SOURCE = "Hicks et al. 2015, doi 10.1115/1.4029304, plus the uncertainty of the model (docs/methods.md, section 10)"
_CAUSES = "any of the causes above; missing trunk and arm markers, a body that differs from the anthropometric table"


# -- residual ---------------------------------------------------------------------------------------------------------


def _add_residual_checks(kind: Literal["force", "moment"], unit: str, place: int) -> None:
    """Register the checks of the residual force or moment: that of the recording, and that of the result."""
    title = f"Pelvis residual {kind}"
    code = f"residual-{kind}"

    @check(
        f"residual_{kind}",
        title,
        compares=f"RMS of the residual {kind} at the pelvis; limit of Hicks et al. 2015 plus the uncertainty of the model",
        causes=_CAUSES,
        place=170 + 10 * place,
        turn=180 + 10 * place,
        display_unit=(1.0, unit),
        findings={code: title},
        unless=("sides", "other_load"),
    )
    def check_recording_residual(trial: TrialFacts, limit: float) -> CheckResult:
        """Report a residual beyond its limit as a finding."""
        vectors, (warn, fail, _) = _residual_vectors(trial, kind), trial.residual_limits.select_kind(kind)
        return CheckResult(
            None, "", vector_rms(vectors), warn, findings=report_large_residual(code, vectors, warn, fail, unit)
        )

    @check(
        code,
        title,
        compares=f"RMS of the difference between {kind}s required by the motion and measured {kind}s, which acts on the "
        "pelvis",
        causes=_CAUSES,
        kind="result",
        place=20 + place,
        unit=unit,
        source=_SOURCE,
        essential=kind == "force",
        covers=(code,),
    )
    def check_residual(trial: TrialFacts, limit: float) -> CheckResult:
        """Compare the RMS of the residual with its limit."""
        return _assess_residual(trial, kind, unit)


_add_residual_checks("force", "N", 0)
_add_residual_checks("moment", "Nm", 1)


def _residual_vectors(trial: TrialFacts, kind: Literal["force", "moment"]) -> FloatArray:
    dynamics = trial.analysis.dynamics
    return dynamics.residual_force if kind == "force" else dynamics.residual_moment


def _assess_residual(trial: TrialFacts, kind: Literal["force", "moment"], unit: str) -> CheckResult:
    limits, model = trial.residual_limits, trial.analysis.model
    warn, fail, unseen = limits.select_kind(kind)
    size = np.linalg.norm(_residual_vectors(trial, kind), axis=1)
    if trial.other_loads:
        return CheckResult(
            "not_assessed",
            "A part of the body was supported by something other than the feet, so that motion and forces cannot be "
            "compared.",
        )
    if not (np.isfinite(size).any() and np.isfinite(warn)):
        return CheckResult(
            "not_assessed",
            "The ground reaction of both feet was never known at the same time, so that motion and forces cannot be "
            "compared.",
        )
    mean, peak = float(finite_rms(size)), float(np.nanmax(size))
    reference, words = limits.peak_force_n, "peak GRF"
    if kind == "moment":
        reference, words = reference * limits.com_height_m, "peak GRF times height of the centre of mass"
    text = (
        f"{mean:.1f} {unit} RMS (limit {warn:.1f} {unit}, fail above {fail:.0f} {unit}), {peak:.1f} {unit} peak "
        f"({100 * peak / reference:.1f} % of {words})."
    )
    if unseen >= 0.5:
        text += (
            f" The limit allows {unseen:.0f} {unit} for the {100 * unobserved_mass_fraction(model):.0f} % of body mass without "
            f"markers ({', '.join(map(segment_title, model.locked_segments))})."
        )
    hint = _residual_hint(trial.analysis.diagnostics)
    return CheckResult(residual_status(mean, warn, fail), text, mean, warn, hint)


def _residual_hint(findings: tuple[Diagnostic, ...]) -> str:
    causes = dict.fromkeys(finding_title(note.code) for note in findings_explaining_residual(findings))
    if causes:
        return f"Check first: {', '.join(causes)}."
    return (
        "Check body mass (--mass), offset and position of the plates, and the foot of each contact. If these are "
        "correct, add trunk and arm markers, or select another anthropometric table (model.anthropometry)."
    )


#: Name of this step in the timings of a trial.
STEP = "consistency"


def with_consistency(analysis: TrialAnalysis) -> TrialAnalysis:
    """Return the analysis with the numerical consistency of its torques and the computing time."""
    if analysis.consistency is not None:
        return analysis
    start = time.perf_counter()
    given_motion = None if analysis.imported is None else analysis.imported.motion
    consistency = check_consistency(actuated_motion(analysis.fit, analysis.dynamics), given_motion)
    return replace(analysis, consistency=consistency, timings={**analysis.timings, STEP: time.perf_counter() - start})


@check(
    "proof",
    "Numerical consistency",
    compares="torques of every frame compared with the results of other algorithms: forward dynamics, mass matrix, "
    "momentum, free bodies, power",
    causes="an error of the program",
    kind="result",
    place=90,
    source="round-off of double precision; see the section Verification",
)
def check_numerical_consistency(trial: TrialFacts, limit: float) -> CheckResult:
    """Compare the torques with the results of other algorithms."""
    consistency = trial.analysis.consistency
    tested = [] if consistency is None else [identity for identity in consistency.checks if identity.frames]
    worst = max(tested, key=lambda identity: identity.largest_error / identity.limit, default=None)
    if worst is None:
        return CheckResult("not_assessed", "No frame has torques that can be verified.")
    broken = [identity.texts["title"] for identity in tested if not identity.holds]
    text = (
        f"Not satisfied: {'; '.join(broken)}."
        if broken
        else f"All {len(tested)} consistency checks are satisfied in each of {max(i.frames for i in tested)} "
        "frames: forward dynamics, mass matrix, momentum, free bodies and power, computed by other algorithms, "
        "agree with the torques."
    )
    return CheckResult(
        "fail" if broken else "pass",
        f"{text} Largest error {worst.largest_error:.0e} of a limit of {worst.limit:.0e} ({worst.texts['title'].lower()}).",
        value=worst.largest_error,
        limit=worst.limit,
        hint="The equations of motion were not solved correctly. Please report this trial as an error of the program.",
    )


def walking_mass_kg(evidence: PlateEvidence) -> float | None:
    """Return the mass (kg) for which the impulse of the plates equals the impulse of the body, over completely measured frames.

    m = integral(F) / integral(g + a): the acceleration of the centre of mass does not depend on the mass. None if too
    little was measured.
    """
    # Shortest duration for which the change of velocity of the centre of mass is sufficiently accurate.
    least_s = 0.35
    # frames with missing plate data are skipped
    rows = evidence.complete & np.isfinite(evidence.measured[:, 4]) & np.isfinite(evidence.required[:, 4])
    if rows.sum() < least_s * evidence.rate_hz:
        return None
    stated = evidence.weight_n / STANDARD_GRAVITY_M_S2
    return float(stated * evidence.measured[rows, 4].sum() / evidence.required[rows, 4].sum())


def report_mass_mismatch(
    evidence: PlateEvidence,
    standing_kg: float | None,
    limit: float,
    effect_of_gains: Callable[[], float] = lambda: np.nan,
) -> tuple[Diagnostic, ...]:
    """Report a difference between plates and the mass used beyond the share `limit`.

    standing_kg: from the static trial. effect_of_gains: returns the RMS change of joint moments, Nm/kg, if the plates are wrong.
    """
    stated = evidence.weight_n / STANDARD_GRAVITY_M_S2
    walking = walking_mass_kg(evidence)
    known = [mass for mass in (walking, standing_kg) if mass is not None]
    shares = [mass / stated - 1.0 for mass in known]
    if not shares or max(np.abs(shares)) <= limit:
        return ()
    parts = []
    if walking is not None:
        parts.append(f"{walking:.1f} kg in this walk")
    if standing_kg is not None:
        parts.append(f"{standing_kg:.1f} kg in the static trial")
    # If walk and static trial agree, the stated mass is wrong; otherwise the recording that differs is wrong.
    if walking is None or standing_kg is None or abs(walking / standing_kg - 1.0) <= limit:
        hint = "Check the stated mass (including clothes and shoes), then the gain of the plates."
        if all(abs(stated * KG_A_POUND / mass - 1.0) <= limit for mass in known):
            hint = (
                f"The stated mass seems to be in pounds: {stated:.1f} lb are {stated * KG_A_POUND:.1f} kg. Specify "
                "it in kg with --mass."
            )
    elif abs(standing_kg / stated - 1.0) <= limit:
        hint = (
            "The static trial agrees with the stated mass. Check the walk for a foot partly off the plates, "
            "a handrail or walking aid, or a force offset of a plate."
        )
    elif abs(walking / stated - 1.0) <= limit:
        hint = "The walk agrees with the stated mass. Check the static trial for a foot partly off the plate."
    else:
        hint = (
            "All three masses differ. Weigh the person, then check the static trial for a foot partly off the plates."
        )
    worst, effect_nm_kg = float(max(shares, key=abs)), effect_of_gains()
    return (
        Diagnostic(
            "mass-mismatch",
            severity_of(effect_nm_kg),
            f"Force plates: {' and '.join(parts)}; mass used: {stated:.1f} kg ({100 * worst:+.1f} %)"
            f"{effect_text(effect_nm_kg)}.",
            value=worst,
            limit=limit,
            hint=hint,
        ),
    )
