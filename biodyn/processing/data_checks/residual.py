"""The base residual against the published limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.subject import SubjectModel
from biodyn.processing.dynamics import Dynamics
from biodyn.trial import GroundReaction, PlateWrench

# The limits of Hicks et al. were written for motions adjusted until the residual shrinks (residual reduction), which
# this program does not do: up to this multiple of the limit a residual is worth a look, beyond it a failed check.
LOOK_FACTOR = 2.0
# With more than this share of the mass unseen (arms are 10 %), the residual says nothing about the part that is seen.
MUCH_UNSEEN = 0.1


@dataclass(frozen=True)
class ResidualLimits:
    """Largest acceptable residual after Hicks et al. 2015, doi 10.1115/1.4029304.

    Attributes:
        force_n: share of the peak net ground force; moment_nm: share of that force times the mean height of the
            body's centre of mass over the plates; NaN where nothing was measured.
        peak_force_n: peak magnitude of the net measured ground force, N.
        com_height_m: mean height of the centre of mass.
    """

    force_n: float
    moment_nm: float
    peak_force_n: float
    com_height_m: float


def residual_limits(
    dynamics: Dynamics,
    reaction: GroundReaction,
    centre_of_mass_W: FloatArray,
    plates: Sequence[PlateWrench],
    force_fraction: float,
    moment_fraction: float,
) -> ResidualLimits:
    """Limits of the residual of a trial, from the frames in which both feet's ground reaction is known."""
    valid = dynamics.residual_valid
    total = np.sum([wrench[:, 3:] for wrench in reaction.wrench.values()], axis=0)
    force = np.linalg.norm(total[valid], axis=1)
    peak = float(force.max()) if len(force) and force.max() > 0.0 else np.nan
    ground = float(np.mean([plate.corners[:, 1].mean() for plate in plates])) if plates else 0.0
    height = float(np.mean(centre_of_mass_W[valid, 1] - ground)) if valid.any() else np.nan
    return ResidualLimits(
        force_n=force_fraction * peak,
        moment_nm=moment_fraction * height * peak,
        peak_force_n=peak,
        com_height_m=height,
    )


def unseen_share(model: SubjectModel) -> float:
    """Share of the body's mass in segments that no marker shows: they ride on their parents."""
    carried = sum(body.inertia.mass for body in model.bodies if body.definition.name in model.carried)
    return float(carried / model.mass_kg)


def residual_beyond(
    dynamics: Dynamics, limits: ResidualLimits, checklist_n: float, checklist_nm: float, unseen_share: float
) -> tuple[Diagnostic, ...]:
    """Residual force or moment that is beyond both the limits of Hicks (RMS, doubled) and OpenSim's checklist (peak).

    `unseen_share` of the body's mass rides on other segments because no marker shows it: above `MUCH_UNSEEN` the residual
    says little about the part that is seen, and is no more than an information.
    """
    notes = []
    for code, vector, limit, checklist, unit in (
        ("residual-force", dynamics.residual_force, limits.force_n, checklist_n, "N"),
        ("residual-moment", dynamics.residual_moment, limits.moment_nm, checklist_nm, "Nm"),
    ):
        size = np.linalg.norm(vector, axis=1)
        if not (np.isfinite(size).any() and np.isfinite(limit)):
            continue
        rms, worst = float(np.sqrt(np.nanmean(size**2))), int(np.nanargmax(size))
        peak = float(size[worst])
        if rms <= LOOK_FACTOR * limit or peak <= checklist:
            continue
        notes.append(
            Diagnostic(
                code,
                "info" if unseen_share > MUCH_UNSEEN else "warning",
                f"Motion and measured forces disagree by {rms:.0f} {unit} RMS and {peak:.0f} {unit} at most "
                f"(limit of Hicks et al. 2015 {limit:.0f} {unit}, OpenSim's checklist {checklist:.0f} {unit}).",
                value=rms,
                limit=limit,
                unit=unit,
                frames=(worst, worst),
                hint="See the findings about mass, time offset, plates and markers; where there are none: trunk and arm markers, "
                "or a body unlike the table's.",
            )
        )
    return tuple(notes)
