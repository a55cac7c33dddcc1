"""Pole trials over force plates with known errors: a pointed pole with markers is pushed onto each plate and tilted.

The pole is pushed at its upper end by a hand that also transmits some moment; it has weight and inertia, bends under its weight,
the hand's moment and the load (`softness`), and is turned about its axis from place to place. Afterwards a known mass may rest on
each plate. Truth: where the plates are, how they are turned, and what their channels make of a reaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from biodyn.conventions import GRAVITY_W, STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.recording.plate_calibration import rotation_matrix
from simulator.c3d_writer import C3dContent, write_c3d
from simulator.files import channels_of, platforms
from simulator.plates import Plate

# World (X forward, Y up, Z right) to a laboratory with Z up.
R_LW = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
# Distances of the markers from the tip along the pole, and from its axis, m.
_LAYOUTS = {
    "both ends": ((0.10, 0.01, 0.0), (0.25, -0.03, 0.02), (1.05, 0.04, 0.03), (1.20, -0.05, 0.02), (1.35, 0.02, -0.06)),
    "above": ((0.70, 0.03, 0.0), (0.85, -0.03, 0.03), (1.05, 0.04, 0.03), (1.20, -0.05, 0.02), (1.35, 0.02, -0.06)),
    "line": ((0.15, 0.0, 0.0), (0.8, 0.0, 0.0), (1.3, 0.0, 0.0)),
}


@dataclass(frozen=True, eq=False)
class PlateError:
    """True errors of a plate against its file: shift (3,) m and turn (3,) rad in laboratory axes, sensitivity (6, 6).

    sensitivity: takes what the channels show to the true reaction, as `PlateCorrection`.
    """

    shift: FloatArray = field(default_factory=lambda: np.zeros(3))
    turn: FloatArray = field(default_factory=lambda: np.zeros(3))
    sensitivity: FloatArray = field(default_factory=lambda: np.eye(6))

    def shown(self, plate: Plate, wrench_W: FloatArray) -> FloatArray:
        """Return the wrenches (T, 6) that the file's plate shows of true ones, both about the world origin, [moment; force]."""
        R_file, centre = plate.R_WP, plate.centre_W
        R_true = R_LW.T @ rotation_matrix(self.turn) @ R_LW @ R_file
        true_centre = centre + R_LW.T @ self.shift
        force = wrench_W[:, 3:]
        moment = wrench_W[:, :3] - np.cross(true_centre, force)
        measured = np.hstack([force @ R_true, moment @ R_true]) @ np.linalg.inv(self.sensitivity).T
        force_W, moment_W = measured[:, :3] @ R_file.T, measured[:, 3:] @ R_file.T
        return np.hstack([moment_W + np.cross(centre, force_W), force_W])


@dataclass(frozen=True)
class PoleOptions:
    """How the pole is made and used.

    Attributes:
        layout: of the markers, see `_LAYOUTS`. mass_kg, length_m: of the pole.
        push_n: along the pole. tilt_deg: largest. places: per side of the grid on each plate; stay_s: at each.
        softness: 0 rigid, 1 a wooden broomstick: bent by 1 mm where it lies free, 0.3 mm per Nm of the hand.
        hand_nm, marker_noise_m, force_noise_n: SD of the hand's moment and of noise. known_mass_kg: rests on each plate, 0: none.
    """

    layout: str = "both ends"
    mass_kg: float = 1.2
    length_m: float = 1.4
    push_n: float = 300.0
    tilt_deg: float = 30.0
    places: int = 3
    stay_s: float = 8.0
    softness: float = 1.0
    hand_nm: float = 0.5
    marker_noise_m: float = 3e-4
    force_noise_n: float = 1.0
    known_mass_kg: float = 0.0
    rate_hz: float = 100.0
    analog_ratio: int = 10
    seed: int = 1


def write_pole_trial(
    path: Path, plates: Sequence[Plate], errors: Sequence[PlateError], options: PoleOptions | None = None
) -> Path:
    """Write the C3D of a pole trial over plates and return its path."""
    options = options or PoleOptions()
    markers, wrenches = _simulated(plates, errors, options)
    rng = np.random.default_rng(options.seed + 1000)
    components = []
    for plate, error, wrench in zip(plates, errors, wrenches, strict=True):
        shown = plate.components(error.shown(plate, wrench))
        noise = rng.normal(size=shown.shape) * options.force_noise_n * np.array([1.0, 1.0, 1.5, 0.2, 0.2, 0.1])
        components.append(
            shown + noise + np.array([0.4, -0.7, 3.0, 0.2, -0.1, 0.05])
        )  # an amplifier that is not zeroed
    channels, labels, units = channels_of(plates, components)
    content = C3dContent(
        labels=[f"POLE{n + 1}" for n in range(markers.shape[1])],
        positions=1e3 * markers @ R_LW.T,
        rate_hz=options.rate_hz,
        analog=channels,
        analog_labels=labels,
        analog_units=units,
        parameters={
            "POINT": {"X_SCREEN": "+X", "Y_SCREEN": "+Z"},
            "FORCE_PLATFORM": platforms(plates, R_LW),
            "MANUFACTURER": {"COMPANY": "biodyn", "SOFTWARE": "biodyn.simulation"},
        },
    )
    write_c3d(path, content)
    return path


def _simulated(
    plates: Sequence[Plate], errors: Sequence[PlateError], options: PoleOptions
) -> tuple[FloatArray, list[FloatArray]]:
    """Markers (T, M, 3) at the marker frames, and the true wrench (Ta, 6) on each plate's load; World."""
    rng = np.random.default_rng(options.seed)
    rate = options.rate_hz * options.analog_ratio
    parts: list[tuple[FloatArray, FloatArray, FloatArray, int]] = []  # tip, direction, load along the pole, plate
    spins: list[FloatArray] = []
    for number, (plate, error) in enumerate(zip(plates, errors, strict=True)):
        for count, (x, z) in enumerate(_grid(options.places)):
            # the true surface: the tip rests on the plate, not on its corners in the file
            local = np.array([0.5 * plate.length_m * x, 0.0, 0.5 * plate.width_m * z])
            turn = R_LW.T @ rotation_matrix(error.turn) @ R_LW
            tip = plate.centre_W + R_LW.T @ error.shift + turn @ local
            parts.append((*_placement(tip, options, rng), number))
            spins.append(np.full(len(parts[-1][0]), 0.5 * np.pi * count + rng.normal() * 0.3))
    tip, u, push = (np.concatenate([part[n] for part in parts]) for n in range(3))
    lengths = [len(part[0]) for part in parts]
    tip, spin = _carried(tip, lengths, rate), _carried(np.concatenate(spins)[:, None], lengths, rate)
    on = np.repeat([part[3] for part in parts], [len(part[0]) for part in parts])
    up = np.array([0.0, 1.0, 0.0])
    gravity = np.array(GRAVITY_W)
    acceleration = np.gradient(np.gradient(u, axis=0), axis=0) * rate**2
    hand = options.hand_nm * _slow(rng, u.shape, rate)
    hand -= u * (hand * u).sum(axis=1, keepdims=True)

    def across(vector: FloatArray) -> FloatArray:
        return np.asarray(vector - u * (u * vector).sum(axis=1, keepdims=True))

    loaded = (push > 0.0)[:, None]
    force = push[:, None] * u - 0.5 * options.mass_kg * across(np.broadcast_to(gravity, u.shape))
    force += options.mass_kg * options.length_m / 6.0 * across(acceleration) + np.cross(u, hand) / options.length_m
    force = np.where(loaded, force, 0.0)
    wrench = np.hstack([np.cross(tip, force), force])
    e1 = np.cross(u, [0.0, 0.0, 1.0])
    e1 /= np.linalg.norm(e1, axis=1)[:, None]
    e2 = np.cross(u, e1)
    a, b = np.cos(spin) * e1 + np.sin(spin) * e2, np.cos(spin) * e2 - np.sin(spin) * e1
    critical_n = 2500.0  # Euler load of the stick
    bend = 1e-3 * across(-np.broadcast_to(up, u.shape)) + 3e-4 * np.cross(hand, u)
    bow = 1e-3 * a  # of a stick that is not straight
    swell = 1.0 / (1.0 - np.minimum(push, 0.5 * critical_n) / critical_n)[:, None]
    sag = options.softness * (bend * swell + bow * (swell - 1.0))
    markers = np.stack(
        [
            tip + s * u + x * a + y * b + sag * np.sin(np.pi * s / options.length_m)
            for s, x, y in _LAYOUTS[options.layout]
        ],
        axis=1,
    )[:: options.analog_ratio]
    wrenches = [np.where((on == number)[:, None], wrench, 0.0) for number in range(len(plates))]
    if options.known_mass_kg:
        rest = round(4.0 * options.rate_hz)
        markers = np.concatenate([markers, np.repeat(markers[-1:], rest * len(plates), axis=0)])
        weight = np.array([0.0, options.known_mass_kg * STANDARD_GRAVITY_M_S2, 0.0])
        for number, plate in enumerate(plates):
            still = np.zeros((rest * options.analog_ratio * len(plates), 6))
            own = slice(
                round((number + 0.15) * rest) * options.analog_ratio,
                round((number + 0.85) * rest) * options.analog_ratio,
            )
            at = plate.centre_W + np.array([0.03, 0.0, -0.02])
            still[own] = np.hstack([np.cross(at, weight), weight])
            wrenches[number] = np.concatenate([wrenches[number], still])
    return markers + options.marker_noise_m * rng.normal(size=markers.shape), wrenches


def _grid(places: int) -> list[tuple[float, float]]:
    """Places on a plate as shares of its half sides."""
    steps = np.linspace(-0.75, 0.75, places) if places > 1 else np.zeros(1)
    return [(float(x), float(z)) for x in steps for z in steps]


def _placement(
    tip: FloatArray, options: PoleOptions, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Tip (n, 3), direction (n, 3) and push (n,) N of one placement, 1 s in the air before and after."""
    rate = options.rate_hz * options.analog_ratio
    t = np.arange(round((options.stay_s + 2.0) * rate)) / rate
    inside = np.clip((t - 1.0) / options.stay_s, 0.0, 1.0)
    swing = np.sin(np.pi * inside) ** 0.5
    phase = 2.0 * np.pi * (rng.uniform(0.25, 0.35) * t + rng.uniform())
    tilt = np.radians(options.tilt_deg) * swing * (0.55 + 0.45 * np.sin(1.7 * phase + rng.uniform(0.0, 6.0)))
    u = np.column_stack([np.sin(tilt) * np.cos(phase), np.cos(tilt), np.sin(tilt) * np.sin(phase)])
    ramp = np.clip(np.minimum(t - 1.0, options.stay_s + 1.0 - t) / 0.3, 0.0, 1.0)
    push = (
        options.push_n
        * np.sin(0.5 * np.pi * ramp) ** 2
        * (1.0 + 0.3 * np.sin(2.0 * np.pi * 0.4 * t + rng.uniform(0.0, 6.0)))
    )
    lifted = 0.08 * (1.0 - np.clip(np.minimum(t, options.stay_s + 2.0 - t) / 0.8, 0.0, 1.0))
    return tip + lifted[:, None] * np.array([0.0, 1.0, 0.0]), u, push


def _carried(values: FloatArray, lengths: Sequence[int], rate_hz: float) -> FloatArray:
    """Values (n, k) without jumps between placements: the pole is carried through the air within 1.4 s."""
    values = values.copy()
    half = round(0.7 * rate_hz)
    step = 0.5 - 0.5 * np.cos(np.pi * np.linspace(0.0, 1.0, 2 * half))[:, None]
    for at in np.cumsum(lengths)[:-1]:
        jump = values[at] - values[at - 1]
        values[at - half : at] += step[:half] * jump
        values[at : at + half] += (step[half:] - 1.0) * jump
    return values


def _slow(rng: np.random.Generator, shape: tuple[int, ...], rate_hz: float) -> FloatArray:
    """Noise of standard deviation 1 that changes within half a second."""
    knots = rng.normal(size=(int(shape[0] / rate_hz * 2.0) + 3, shape[1]))
    at = np.arange(shape[0]) / rate_hz * 2.0
    return np.column_stack([np.interp(at, np.arange(len(knots)), column) for column in knots.T]) / np.sqrt(2.0 / 3.0)
