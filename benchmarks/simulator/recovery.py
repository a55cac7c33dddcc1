"""How near an analysis comes to the truth of a simulated trial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import without_side
from simulator.trial import SimulatedTrial


@dataclass(frozen=True)
class CoordinateError:
    """Error of one coordinate over the frames the analysis calls valid.

    Attributes:
        name, joint, side: of the coordinate; sagittal: it is its joint's flexion.
        frames: valid frames. peak_nm: largest true torque in them; worst_nm, rms_nm: of the torque's error.
        angle_rms_deg: of the coordinate's error.
    """

    name: str
    joint: str
    side: str
    sagittal: bool
    frames: int
    peak_nm: float
    worst_nm: float
    rms_nm: float
    angle_rms_deg: float

    @property
    def worst_share(self) -> float:
        """Largest error as a share of the true peak."""
        return self.worst_nm / self.peak_nm


@dataclass(frozen=True)
class Recovery:
    """Errors of one analysed trial.

    Attributes:
        coordinates: a row each, of those both have.
        residual_n, residual_nm: largest base residual in frames where every contact is known, NaN without such frames.
        mass_kg: of the subject. marker_rms_mm: distance of the markers from the fitted skeleton.
    """

    coordinates: tuple[CoordinateError, ...]
    residual_n: float
    residual_nm: float
    mass_kg: float
    marker_rms_mm: float

    @property
    def worst(self) -> CoordinateError:
        """The coordinate with the largest error, as a share of its peak."""
        return max(self.coordinates, key=lambda row: row.worst_share)

    def sagittal_rms_nm_kg(self, joint: str) -> float:
        """Error of a joint's flexion torque, rms over both sides, Nm/kg."""
        squares = [row.rms_nm**2 for row in self.coordinates if row.joint == joint and row.sagittal]
        return float(np.sqrt(np.mean(squares)) / self.mass_kg)


def compare(found: TrialAnalysis, truth: SimulatedTrial) -> Recovery:
    """Compare an analysis with the truth, coordinate by coordinate."""
    true_of = {coordinate.name: coordinate for coordinate in truth.body.model.coordinates}
    skeleton = truth.body.model.skeleton
    rows = []
    for column, coordinate in enumerate(found.model.coordinates):
        true = true_of.get(coordinate.name)
        torques = found.dynamics.torques[:, column]
        valid = found.dynamics.torque_valid[:, column] & np.isfinite(torques)
        if true is None or not valid.any():
            continue
        tau = truth.tau[valid, true.v_index]
        error = torques[valid] - tau
        turned = np.degrees(found.fit.motion.q[valid, coordinate.q_index] - truth.q[valid, true.q_index])
        rows.append(
            CoordinateError(
                name=coordinate.name,
                joint=without_side(coordinate.joint, coordinate.side),
                side=coordinate.side,
                sagittal=coordinate.name == skeleton.body(coordinate.body).rotations[0].coordinate,
                frames=int(valid.sum()),
                peak_nm=float(np.abs(tau).max()),
                worst_nm=float(np.abs(error).max()),
                rms_nm=float(np.sqrt(np.mean(error**2))),
                angle_rms_deg=float(np.sqrt(np.mean(turned**2))),
            )
        )
    good = found.dynamics.residual_valid & np.isfinite(found.dynamics.residual_force[:, 0])
    force, moment = found.dynamics.residual_force[good], found.dynamics.residual_moment[good]
    return Recovery(
        coordinates=tuple(rows),
        residual_n=float(np.linalg.norm(force, axis=1).max()) if good.any() else float("nan"),
        residual_nm=float(np.linalg.norm(moment, axis=1).max()) if good.any() else float("nan"),
        mass_kg=truth.body.person.mass_kg,
        marker_rms_mm=float(1e3 * np.sqrt(np.nanmean(found.fit.marker_error**2))),
    )
