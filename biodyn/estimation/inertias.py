"""What a trial may change of the body's inertias: mass centres of heavy segments, and the mass of the body as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.estimation.parameters import EstimationSettings
from biodyn.model.body_model import SubjectModel
from biodyn.model.changes import with_inertias
from biodyn.model.inertia import Inertia
from biodyn.rigid_body.second_order import inertial_parameters

# Lighter segments tell too little of themselves.
_HEAVY_SHARE = 0.02


@dataclass(frozen=True)
class InertiaUnknowns:
    """Unknowns of standard deviation 1.

    Attributes:
        segments: (S,) whose mass centre may move along the three axes of the segment; sd_m: (S,) by how much.
        mass_share_sd: of the body's mass; 0 = it stays.
    """

    segments: tuple[str, ...]
    sd_m: FloatArray
    mass_share_sd: float

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return 3 * len(self.segments) + (1 if self.mass_share_sd else 0)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        centres = tuple(f"mass centre of {segment}, axis {axis}" for segment in self.segments for axis in "xyz")
        return (*centres, "body mass") if self.mass_share_sd else centres

    def centre_shifts_m(self, values: FloatArray) -> dict[str, FloatArray]:
        """Return the shift (3,) m of each segment's mass centre in its own axes."""
        return {
            name: values[3 * i : 3 * i + 3] * sd
            for i, (name, sd) in enumerate(zip(self.segments, self.sd_m, strict=True))
        }

    def mass_share(self, values: FloatArray) -> float:
        """Return the change of the body's mass, share."""
        return float(values[-1] * self.mass_share_sd) if self.mass_share_sd else 0.0

    def parameter_changes(self, model: SubjectModel) -> FloatArray:
        """Return what one standard deviation of each unknown adds to the `inertial_parameters`, (10 B, P)."""
        mb = model.multibody
        columns = np.zeros((len(mb.bodies), 10, self.count))
        bodies = {body.definition.name: body.inertia for body in model.bodies}
        for i, (name, sd) in enumerate(zip(self.segments, self.sd_m, strict=True)):
            frame, mass = model.frames[name], bodies[name].mass
            before = frame.R_LB @ bodies[name].com + frame.p_LB
            for axis in range(3):
                moved = before + sd * frame.R_LB[:, axis]
                column = columns[frame.link, :, 3 * i + axis]
                column[1:4] = mass * (moved - before)
                column[4:] = mass * (_square(moved) - _square(before))
        if self.mass_share_sd:
            columns[:, :, -1] = self.mass_share_sd * inertial_parameters(mb).reshape(-1, 10)
        return columns.reshape(10 * len(mb.bodies), self.count)


def _square(p: FloatArray) -> FloatArray:
    """Moments of inertia of a unit mass at p (3,) about the origin: xx, xy, xz, yy, yz, zz."""
    x, y, z = p
    return np.array([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y])


def inertia_unknowns(model: SubjectModel, settings: EstimationSettings) -> InertiaUnknowns:
    """Return what may change of a model by the settings."""
    heavy = [body for body in model.bodies if body.inertia.mass > _HEAVY_SHARE * model.mass_kg]
    heaviest = max(heavy, key=lambda body: body.inertia.mass).definition.name
    names = tuple(body.definition.name for body in heavy)
    sd = np.array([settings.heaviest_centre_sd_m if name == heaviest else settings.centre_sd_m for name in names])
    some = sd > 0.0
    return InertiaUnknowns(
        tuple(name for name, free in zip(names, some, strict=True) if free), sd[some], settings.mass_sd_share
    )


def with_changed_inertias(model: SubjectModel, unknowns: InertiaUnknowns, values: FloatArray) -> SubjectModel:
    """Return the model with its mass centres and its mass changed."""
    if not unknowns.count:
        return model
    factor = 1.0 + unknowns.mass_share(values)
    shifts: Mapping[str, FloatArray] = unknowns.centre_shifts_m(values)
    changed = {}
    for body in model.bodies:
        name, inertia = body.definition.name, body.inertia
        com = inertia.com + shifts.get(name, 0.0)
        changed[name] = Inertia(inertia.mass * factor, com, inertia.tensor * factor)
    return with_inertias(model, changed)
