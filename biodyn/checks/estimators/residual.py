"""The base residual against the published limits, widened by what model and markers cannot know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic, Status
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.signals.filtering import vector_rms
from biodyn.recording import GroundReaction, PlateWrench

# Beyond this multiple of the part of the limit that is measured, no error of measurement and no usual body explains the
# residual: 15 % of the peak ground force, while sound recordings reach 6 %.
FAIL_FACTOR = 3.0
_RESIDUALS = ("residual-force", "residual-moment")
# Findings about these follow from other ones, and are no causes of a residual.
_CONSEQUENCES = frozenset((*_RESIDUALS, "contact-rejected", "contact-ambiguous", "estimate-not-made"))


def causes_of_residual(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the findings that a residual may follow from."""
    return tuple(note for note in findings if note.severity != "info" and note.code not in _CONSEQUENCES)


def begin_with(decisive: Iterable[str], findings: Iterable[Diagnostic]) -> frozenset[str]:
    """Return the codes of what to look at before the residual, where that is among the codes of what decides."""
    residual_decides = not set(_RESIDUALS).isdisjoint(decisive)
    return frozenset(note.code for note in causes_of_residual(findings)) if residual_decides else frozenset()


@dataclass(frozen=True)
class ResidualLimits:
    """Largest acceptable RMS of the residual; NaN where nothing was measured.

    Attributes:
        force_n, moment_nm: beyond these, review; fail_force_n, fail_moment_nm: beyond these no motion explains it.
        unseen_force_n, unseen_moment_nm: the part of each that segments without markers leave open (`unseen.py`).
        peak_force_n: peak magnitude of the net measured ground force, N.
        com_height_m: mean height of the centre of mass over the plates.
    """

    force_n: float
    moment_nm: float
    fail_force_n: float
    fail_moment_nm: float
    unseen_force_n: float
    unseen_moment_nm: float
    peak_force_n: float
    com_height_m: float


@dataclass(frozen=True)
class ResidualRules:
    """Numbers of the limits: shares after Hicks et al. 2015 (force of the peak net ground force, moment of that force times
    the height of the centre of mass), and how far the body's centre of mass may lie from where the tables put it, m."""

    force_fraction: float
    moment_fraction: float
    centre_of_mass_m: float


def residual_limits(
    dynamics: Dynamics,
    reaction: GroundReaction,
    centre_of_mass_W: FloatArray,
    plates: Sequence[PlateWrench],
    unseen: tuple[FloatArray, FloatArray],
    weight_n: float,
    rules: ResidualRules,
) -> ResidualLimits:
    """Limits of the residual of a trial, from the frames in which both feet's ground reaction is known.

    What is measured, what tables of segments leave open and what markers leave open (`unseen`: force and moment of
    `unseen_wrench`) may all point the same way, so their RMS values add.
    """
    valid = dynamics.residual_valid
    total = np.sum([wrench[:, 3:] for wrench in reaction.wrench.values()] or [np.zeros((len(valid), 3))], axis=0)
    force = np.linalg.norm(total[valid], axis=1)
    peak = float(force.max()) if len(force) and force.max() > 0.0 else np.nan
    ground = float(np.mean([plate.corners[:, 1].mean() for plate in plates])) if plates else 0.0
    height = float(np.mean(centre_of_mass_W[valid, 1] - ground)) if valid.any() else np.nan
    # where no frame is known, nothing is added
    unseen_n, unseen_nm = (float(np.nan_to_num(vector_rms(vector[valid]))) for vector in unseen)
    force_n = rules.force_fraction * peak
    moment_nm = rules.moment_fraction * height * peak + rules.centre_of_mass_m * weight_n
    return ResidualLimits(
        force_n=force_n + unseen_n,
        moment_nm=moment_nm + unseen_nm,
        fail_force_n=FAIL_FACTOR * force_n + unseen_n,
        fail_moment_nm=FAIL_FACTOR * moment_nm + unseen_nm,
        unseen_force_n=unseen_n,
        unseen_moment_nm=unseen_nm,
        peak_force_n=peak,
        com_height_m=height,
    )


def residual_status(rms: float, limit: float, beyond: float) -> Status:
    """Judge an RMS by the limit it should keep and by the one beyond which nothing explains it."""
    return "pass" if rms <= limit else ("warn" if rms <= beyond else "fail")


def unseen_share(model: SubjectModel) -> float:
    """Share of the body's mass in segments that no marker shows: they are fixed to their parents."""
    carried = sum(body.inertia.mass for body in model.bodies if body.definition.name in model.locked_segments)
    return float(carried / model.mass_kg)


def residual_beyond(code: str, vectors: FloatArray, limit: float, beyond: float, unit: str) -> tuple[Diagnostic, ...]:
    """Say where the RMS of residual force or moment (T, 3) is beyond its limit; an error `beyond` what anything explains."""
    size = np.linalg.norm(vectors, axis=1)
    if not (np.isfinite(size).any() and np.isfinite(limit)):
        return ()
    rms, worst = float(np.sqrt(np.nanmean(size**2))), int(np.nanargmax(size))
    status = residual_status(rms, limit, beyond)
    if status == "pass":
        return ()
    return (
        Diagnostic(
            code,
            "error" if status == "fail" else "warning",
            f"Motion and measured forces disagree by {rms:.0f} {unit} RMS, {size[worst]:.0f} {unit} peak "
            f"(limit {limit:.0f} {unit} RMS, fail above {beyond:.0f} {unit}).",
            value=rms,
            limit=limit,
            unit=unit,
            frames=(worst, worst),
            hint="See the findings about mass, synchronisation, plates and markers; where there are none: trunk and arm "
            "markers, or a body that differs from the anthropometric table.",
        ),
    )
