"""Do motion and measured forces agree? The base residual against what the marker set can know, and the body's weight."""

from __future__ import annotations

from typing import Literal

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.data import residual_limits
from biodyn.checks.evidence.residual import residual_status, unseen_share
from biodyn.checks.registry import CheckResult, quality_check
from biodyn.checks.titles import finding_title
from biodyn.conventions import STANDARD_GRAVITY_M_S2
from biodyn.diagnostics import Diagnostic
from biodyn.output.tables.time_series import rms

_SOURCE = "Hicks et al. 2015, doi 10.1115/1.4029304, widened by what the model cannot know: docs/methods.md, section 9"
# A body that is this many times farther off than the limit is not the body of this recording.
_MASS_FAIL_FACTOR = 5.0
# Findings about these are consequences, no causes of a residual.
_CONSEQUENCES = frozenset(("residual-force", "residual-moment", "contact-rejected", "contact-ambiguous"))


@quality_check(
    "residual-force", "Pelvis residual force", place=20, source=_SOURCE, essential=True, covers=("residual-force",)
)
def residual_force(analysis: TrialAnalysis) -> CheckResult:
    """RMS of the residual force against its limit; the peak informs."""
    return _residual(analysis, "force")


@quality_check("residual-moment", "Pelvis residual moment", place=21, source=_SOURCE, covers=("residual-moment",))
def residual_moment(analysis: TrialAnalysis) -> CheckResult:
    """RMS of the residual moment against its limit; the peak informs."""
    return _residual(analysis, "moment")


def _residual(analysis: TrialAnalysis, kind: Literal["force", "moment"]) -> CheckResult:
    limits = residual_limits(analysis)
    force = kind == "force"
    vector = analysis.dynamics.residual_force if force else analysis.dynamics.residual_moment
    size = np.linalg.norm(vector, axis=1)
    limit = limits.force_n if force else limits.moment_nm
    beyond = limits.fail_force_n if force else limits.fail_moment_nm
    unit = "N" if force else "Nm"
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
    if unseen > 0.0:
        text += (
            f" {unseen:.0f} {unit} of the limit stand for the {100 * unseen_share(analysis.model):.0f} % of body mass without "
            f"markers ({', '.join(analysis.model.locked_segments)})."
        )
    return CheckResult(residual_status(mean, limit, beyond), text, mean, limit, unit, _hint(analysis.diagnostics))


def _hint(findings: tuple[Diagnostic, ...]) -> str:
    causes = dict.fromkeys(
        finding_title(note.code) for note in findings if note.severity != "info" and note.code not in _CONSEQUENCES
    )
    if causes:
        return f"Begin with: {', '.join(causes)}."
    return (
        "Check body mass (--mass), offset and position of the plates, and whose foot each contact is; where those are right: "
        "trunk and arm markers, or a body unlike the anthropometric table's (model.anthropometry)."
    )


@quality_check("body-weight", "Body mass vs. force plates", place=30)
def body_mass(analysis: TrialAnalysis) -> CheckResult:
    """Mean vertical residual: a body that is too light or too heavy shows here first."""
    vertical = analysis.dynamics.residual_force[:, 1]
    weight = analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2
    limit = analysis.settings.limits.mass_mismatch_fraction
    if not np.isfinite(vertical).any():
        return CheckResult("not_assessed", "Both feet's contacts were never known together.")
    mismatch = float(np.nanmean(vertical)) / weight
    text = (
        f"While both feet were measured, the plates carried {abs(100 * mismatch):.1f} % of body weight "
        f"{'less' if mismatch > 0 else 'more'} than expected from this motion of {analysis.subject.mass_kg:.1f} kg "
        f"(limit {100 * limit:.0f} %)."
    )
    status = residual_status(abs(mismatch), limit, _MASS_FAIL_FACTOR * limit)
    return CheckResult(
        status, text, abs(mismatch), limit, "", "Check body mass (--mass), and offset and gain of the plates."
    )
