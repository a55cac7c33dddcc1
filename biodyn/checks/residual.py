"""Do motion and measured forces agree? The base residual against what the marker set can know."""

from __future__ import annotations

from typing import Literal

import numpy as np

from biodyn.checks.estimators.residual import causes_of_residual, residual_beyond, residual_status, unseen_share
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check
from biodyn.checks.titles import finding_title
from biodyn.diagnostics import Diagnostic
from biodyn.processing.signals.filtering import rms, vector_rms

_SOURCE = "Hicks et al. 2015, doi 10.1115/1.4029304, widened by what the model cannot know: docs/methods.md, section 9"
_CAUSES = "any of the above; trunk and arm markers, a body that differs from the anthropometric table"


# -- the recording ----------------------------------------------------------------------------------------------------


@check(
    "residual_force",
    "Pelvis residual force",
    compares="RMS of the residual force at the pelvis; limit of Hicks et al. 2015, widened by what the model cannot know",
    causes=_CAUSES,
    place=170,
    turn=180,
    shown=(1.0, "N"),
    findings={"residual-force": "Pelvis residual force"},
    unless=("sides", "other_load"),
)
def residual_force_of_the_recording(trial: TrialFacts, limit: float) -> CheckResult:
    """The residual force as a finding about the recording."""
    vectors, limits = trial.analysis.dynamics.residual_force, trial.residual_limits
    return CheckResult(
        value=vector_rms(vectors),
        limit=limits.force_n,
        findings=residual_beyond("residual-force", vectors, limits.force_n, limits.fail_force_n, "N"),
    )


@check(
    "residual_moment",
    "Pelvis residual moment",
    compares="RMS of the residual moment at the pelvis; limit of Hicks et al. 2015, widened by what the model cannot know",
    causes=_CAUSES,
    place=180,
    turn=190,
    shown=(1.0, "Nm"),
    findings={"residual-moment": "Pelvis residual moment"},
    unless=("sides", "other_load"),
)
def residual_moment_of_the_recording(trial: TrialFacts, limit: float) -> CheckResult:
    """The residual moment as a finding about the recording."""
    vectors, limits = trial.analysis.dynamics.residual_moment, trial.residual_limits
    return CheckResult(
        value=vector_rms(vectors),
        limit=limits.moment_nm,
        findings=residual_beyond("residual-moment", vectors, limits.moment_nm, limits.fail_moment_nm, "Nm"),
    )


# -- the result -------------------------------------------------------------------------------------------------------


@check(
    "residual-force",
    "Pelvis residual force",
    compares="forces that the motion asks for against those measured: the rest that must act on the pelvis, RMS",
    causes=_CAUSES,
    kind="result",
    place=20,
    unit="N",
    source=_SOURCE,
    essential=True,
    covers=("residual-force",),
)
def residual_force(trial: TrialFacts, limit: float) -> CheckResult:
    """RMS of the residual force against its limit; the peak informs."""
    return _residual(trial, "force")


@check(
    "residual-moment",
    "Pelvis residual moment",
    compares="moments that the motion asks for against those measured: the rest that must act on the pelvis, RMS",
    causes=_CAUSES,
    kind="result",
    place=21,
    unit="Nm",
    source=_SOURCE,
    covers=("residual-moment",),
)
def residual_moment(trial: TrialFacts, limit: float) -> CheckResult:
    """RMS of the residual moment against its limit; the peak informs."""
    return _residual(trial, "moment")


def _residual(trial: TrialFacts, kind: Literal["force", "moment"]) -> CheckResult:
    limits, dynamics, model = trial.residual_limits, trial.analysis.dynamics, trial.analysis.model
    force = kind == "force"
    size = np.linalg.norm(dynamics.residual_force if force else dynamics.residual_moment, axis=1)
    limit = limits.force_n if force else limits.moment_nm
    beyond = limits.fail_force_n if force else limits.fail_moment_nm
    unit = "N" if force else "Nm"
    if trial.other_loads:
        return CheckResult(
            "not_assessed",
            "Something else than the feet carried a part of the body: motion and forces cannot be compared.",
        )
    if not (np.isfinite(size).any() and np.isfinite(limit)):
        return CheckResult(
            "not_assessed",
            "The ground reaction of both feet was never known together: motion and forces cannot be compared.",
        )
    mean, peak = float(rms(size)), float(np.nanmax(size))
    share = (
        f"{100 * peak / limits.peak_force_n:.1f} % of peak GRF"
        if force
        else f"{100 * peak / (limits.peak_force_n * limits.com_height_m):.1f} % of peak GRF times height of the centre of mass"
    )
    text = f"{mean:.1f} {unit} RMS (limit {limit:.1f} {unit}, fail above {beyond:.0f} {unit}), {peak:.1f} {unit} peak ({share})."
    unseen = limits.unseen_force_n if force else limits.unseen_moment_nm
    if unseen >= 0.5:
        text += (
            f" The limit allows {unseen:.0f} {unit} for the {100 * unseen_share(model):.0f} % of body mass without "
            f"markers ({', '.join(model.locked_segments)})."
        )
    hint = _hint(trial.analysis.diagnostics)
    return CheckResult(residual_status(mean, limit, beyond), text, mean, limit, hint)


def _hint(findings: tuple[Diagnostic, ...]) -> str:
    causes = dict.fromkeys(finding_title(note.code) for note in causes_of_residual(findings))
    if causes:
        return f"Begin with: {', '.join(causes)}."
    return (
        "Check body mass (--mass), offset and position of the plates, and whose foot each contact is; where those are right: "
        "trunk and arm markers, or a body unlike the anthropometric table's (model.anthropometry)."
    )
