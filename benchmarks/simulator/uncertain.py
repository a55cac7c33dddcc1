"""People whose bodies, skins and plates differ from what the analysis believes, by errors of known size."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from biodyn.conventions import SIDE_SIGN, BoolArray, FloatArray, without_side
from biodyn.model.body_model import with_misplaced_centre
from biodyn.uncertainty.propagation_inputs import Magnitudes
from simulator.files import write_c3d
from simulator.person import Body, Person, embody
from simulator.plates import Plate
from simulator.repeated_errors import drawn_inertias
from simulator.trial import SimulatedTrial, TrialOptions, simulate_trial
from simulator.walking import solve_walk
from simulator.wearing import along_skin

#: Change of coordinates in radians for a trunk that leans forward by one; arms hang down and the head is upright.
LEAN_SIGNS = {"lumbar_extension": -1.0, "neck_extension": 1.0, "arm_flex": 1.0}


def unlike(body: Body, magnitudes: Magnitudes, rng: np.random.Generator) -> Body:
    """Return a person who wears the same markers at the same places while standing, but has other joints and masses.

    Both sides are off alike, as mirror images: the simulated walk is symmetric, and with one leg unlike the other it would have
    to slide on the floor under full load, which no analysis takes for standing.
    """
    model = drawn_inertias(body.model, magnitudes, rng)
    shifts: dict[str, FloatArray] = {}
    for part in body.model.moving_segments:
        name, side = part.definition.name, part.definition.side
        sd = magnitudes.joint_centre_m.get(name, np.zeros(3))
        if not sd.any():
            continue
        kind = without_side(name, side)
        if kind not in shifts:
            shifts[kind] = sd * rng.normal(size=3)
        outward = SIDE_SIGN[side] if side else 1.0
        model = with_misplaced_centre(model, name, shifts[kind] * (1.0, 1.0, outward))
    root = model.bodies[0]
    return replace(body, model=model, static_q=model.static_configuration(root.R_PB, root.p_PB))


def misplaced(plate: Plate, shift_x_m: float, shift_z_m: float, turn_rad: float = 0.0) -> MovedPlate:
    """Return the plate as a file would have it whose corners were measured wrongly; what it recorded stays."""
    values = {name: getattr(plate, name) for name in Plate.__dataclass_fields__}
    return MovedPlate(**values, shift_x_m=shift_x_m, shift_z_m=shift_z_m, turn_rad=turn_rad)


@dataclass(frozen=True)
class MovedPlate(Plate):
    """A plate whose corners the file has elsewhere: m along World X and Z, turned about the vertical through its centre."""

    shift_x_m: float = 0.0
    shift_z_m: float = 0.0
    turn_rad: float = 0.0

    @property
    def corners_W(self) -> FloatArray:
        """Corners (4, 3) m as the file has them."""
        c, s = np.cos(self.turn_rad), np.sin(self.turn_rad)
        turned = (super().corners_W - self.centre_W) @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]).T
        return self.centre_W + turned + np.array([self.shift_x_m, 0.0, self.shift_z_m])


def scattered_markers(body: Body, landmark_m: float, seed: int) -> Body:
    """Return the body with markers away from their landmarks along the skin, `landmark_m` RMS; the bones stay.

    Markers of a plate are off alike; at one landmark the same step is drawn in every outfit.
    """
    moved = []
    for marker in body.model.markers:
        rng = np.random.default_rng([seed, 41, zlib.crc32(body.patches[marker.label].skin.encode())])
        moved.append(replace(marker, p_BM=marker.p_BM + landmark_m * along_skin(body.model, marker, rng)))
    return replace(body, model=replace(body.model, markers=tuple(moved)))


def leaning(body: Body, lean_rad: float) -> Body:
    """Return the body that stands with its trunk leaning forward; arms hang down and the head is upright."""
    q = body.static_q.copy()
    for coordinate in body.model.coordinates:
        q[coordinate.q_index] += LEAN_SIGNS.get(coordinate.gait_variable, 0.0) * lean_rad
    return replace(body, static_q=q)


def record_unlike(
    person: Person, options: TrialOptions, magnitudes: Magnitudes, folder: Path
) -> tuple[SimulatedTrial, Path, Path]:
    """Simulate one such person, write walk and static trial, and return the truth and both files; `options.seed` fixes all."""
    rng = np.random.default_rng([options.seed, 2])
    walk = solve_walk(unlike(embody(person), magnitudes, rng), options.speed_m_s, options.stride_s)
    paths = folder / "walk.c3d", folder / "static.c3d"
    truth = simulate_trial(person, options, "walk", walk)
    shifts = magnitudes.centre_of_pressure_m * rng.normal(size=(len(truth.plates), 2))
    for path, kind in zip(paths, ("walk", "static"), strict=True):
        trial = truth if kind == "walk" else simulate_trial(person, options, kind, walk)
        plates = tuple(misplaced(p, float(x), float(z)) for p, (x, z) in zip(trial.plates, shifts, strict=True))
        write_c3d(path, replace(trial, plates=plates))
    return truth, *paths


def covered(error: FloatArray, sd: FloatArray, factor: float = 1.959964) -> BoolArray:
    """Frames (T,) whose error lies within the band; the default factor holds 95 % of a normal error."""
    return np.asarray(np.abs(error) <= factor * sd)
