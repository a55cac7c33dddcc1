"""Recordings that do not flatter an analysis: rough walks of people who are not what the analysis believes, by class and seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.errors import SettingsError
from biodyn.library.tables import expand_sides
from biodyn.library.toml_files import suggest_name
from biodyn.model.body_model import SubjectModel
from biodyn.model.from_library.label_reading.spelling import normalise
from biodyn.model.from_library.marker_set_table import load_marker_set
from biodyn.uncertainty.propagation_inputs import Magnitudes, load_magnitudes
from simulator.files import write_c3d, write_truth
from simulator.kinds import Scene, running
from simulator.knees import with_true_knees
from simulator.motions import PlannedMotion, solve_motion
from simulator.person import Body, Person, dressed, embody
from simulator.plates import Plate
from simulator.rough import drawn_strike, run_with_impacts, with_impacts
from simulator.scenes import record_scene, with_labels
from simulator.styles import normal_style, style_of
from simulator.tables import load_data
from simulator.trial import SimulatedTrial, TrialOptions, simulate_trial, standing
from simulator.uncertain import LEAN_SIGNS, leaning, misplaced, scattered_markers, unlike
from simulator.walking import Walk, solve_walk

#: Seeds that may be looked at while something is chosen, and those that figures are reported of.
DEVELOPMENT_SEEDS, HELD_OUT_SEEDS = range(40), range(200, 240)
_ITERATIONS, _RUN_ITERATIONS = 20, 25
_RUN_HZ, _RUN_LENGTH = 200.0, 1.5  # a runner's heel is stopped less suddenly than a walker's
_CLEAN_HZ, _CLEAN_ANALOG_HZ = 400.0, 2000.0
_LOWER_SET = "plug_in_gait_lower"


@dataclass(frozen=True)
class RoughRecording:
    """One recording and what is behind it.

    Attributes:
        name, seed: class and person. motion: what the person does; scene: its plan where it is no walk.
        truth: the trial as recorded, with the truth; static: the standing trial.
        filed: the plates as the files have them.
    """

    name: str
    seed: int
    motion: Walk | PlannedMotion
    scene: Scene | None
    truth: SimulatedTrial
    static: SimulatedTrial
    filed: tuple[Plate, ...]

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write walk.c3d, static.c3d and walk.truth.npz; return walk and static trial."""
        walk, static = folder / "walk.c3d", folder / "static.c3d"
        write_c3d(walk, replace(self.truth, plates=self.filed), events=False)
        write_c3d(static, replace(self.static, plates=self.filed), events=False)
        write_truth(folder / "walk.truth.npz", self.truth)
        return walk, static

    def without(self, *, skin: bool = False, noise: bool = False, plates: bool = False) -> RoughRecording:
        """Return the same walk without some errors: skin and wobble, noise and smoothing of the markers, errors of the plates."""
        options = self.truth.options
        if skin:
            options = replace(options, soft_tissue=0.0, wobble=0.0)
        if noise:
            options = replace(options, noise_mm=0.0, smoothed_hz=0.0)
        if plates:
            options = replace(options, force_noise_n=0.0, force_offset_n=0.0, force_gain=0.0)
        again = self.recorded_again(options)
        return replace(again, filed=again.truth.plates if plates else self.filed)

    def recorded_again(self, options: TrialOptions) -> RoughRecording:
        """Return the same motion and markers as other options have them recorded."""
        walk, static = (
            with_labels(_recorded(self.motion, self.scene, options, seen.kind), seen.labels)
            for seen in (self.truth, self.static)
        )
        return replace(self, truth=walk, static=static)

    def lower_body(self) -> RoughRecording:
        """Return the recording with the markers of pelvis and legs alone."""
        walk, static = (with_labels(trial, _lower_labels(trial.labels)) for trial in (self.truth, self.static))
        return replace(self, truth=walk, static=static)

    def wearing(self, outfit: str, *, kept: bool = False, later_strides: float = 0.0) -> RoughRecording:
        """Return the recording of the same motion in other markers (`outfits.toml`); ModelError for an unknown outfit.

        Parameters: `kept`: markers of the static trial alone stay on in the walk; `later_strides`: the recording begins that many
        cycles later: another walk of the session.
        """
        landmark_m = 1e-3 * _entry(self.name)["landmark_mm"]
        body = scattered_markers(dressed(self.motion.body, outfit), landmark_m, self.seed)
        if kept and body.outfit is not None:
            body = replace(body, outfit=replace(body.outfit, static_only=frozenset()))
        motion = replace(self.motion, body=body)
        options = replace(self.truth.options, lead_in=self.truth.options.lead_in - later_strides)
        walk, static = (_recorded(motion, self.scene, options, kind) for kind in ("walk", "static"))
        return replace(self, motion=motion, truth=walk, static=static)

    def clean(self) -> SimulatedTrial:
        """Return the same walk without errors of markers and plates, at 400 Hz: markers on the bones."""
        options = self.truth.options
        exact = replace(
            options,
            rate_hz=_CLEAN_HZ,
            analog_rate_hz=_CLEAN_ANALOG_HZ,
            noise_mm=0.0,
            soft_tissue=0.0,
            wobble=0.0,
            smoothed_hz=0.0,
            force_noise_n=0.0,
            force_offset_n=0.0,
            force_gain=0.0,
        )
        return with_labels(_recorded(self.motion, self.scene, exact, "walk"), self.truth.labels)


def class_names() -> tuple[str, ...]:
    """Return the names of the classes."""
    return tuple(load_data("rough_walks")["class"])


def dealt_names() -> tuple[str, ...]:
    """Return the names of the classes that seeds are dealt out to."""
    return tuple(name for name, entry in load_data("rough_walks")["class"].items() if not entry.get("runs", False))


def class_of(seed: int) -> str:
    """Return the class that a seed belongs to where the seeds are dealt out to the classes."""
    names = dealt_names()
    return names[seed % len(names)]


def rough_recording(name: str, seed: int) -> RoughRecording:
    """Return the recording of a class and a seed; some seconds. SettingsError for an unknown class."""
    entry, rng = _entry(name), np.random.default_rng([seed, 29])
    person, speed_m_s, stride_s = _someone(rng, entry)
    body = unlike(embody(person), _of_bones(), rng)
    if entry["style"]:
        body = with_true_knees(body, rng)
    lean_deg, more_deg = _lean(seed)
    body = scattered_markers(leaning(body, np.deg2rad(lean_deg)), 1e-3 * entry["landmark_mm"], seed)
    scene = running(body, speed_m_s) if entry.get("runs", False) else None
    motion = (
        _walk(body, entry["style"], speed_m_s, stride_s, more_deg, seed)
        if scene is None
        else _run(body, scene, speed_m_s, seed)
    )
    smoothed = float(rng.uniform(*entry["smoothed_hz"])) if "smoothed_hz" in entry else 0.0
    of_plates = np.random.default_rng([seed, 43])
    gross = np.where(
        of_plates.random(len(TrialOptions().plate_types)) < entry["gross_share"], entry["gross_factor"], 1.0
    )
    options = TrialOptions(
        rate_hz=100.0 if scene is None else _RUN_HZ,
        speed_m_s=speed_m_s,
        stride_s=stride_s,
        forward=str(rng.choice(["+x", "-x", "+y", "-y"])),
        noise_mm=entry["noise_mm"],
        soft_tissue=1.0,
        wobble=1.0 if entry["style"] else 0.0,
        smoothed_hz=smoothed,
        force_noise_n=entry["force_noise_n"],
        force_offset_n=entry["force_offset_n"],
        force_gain=entry["plate_gain"],
        gain_factors=tuple(gross.tolist()),
        seed=seed,
    )
    trials = [_recorded(motion, scene, options, kind) for kind in ("walk", "static")]
    if entry.get("lower", False):
        trials = [with_labels(trial, _lower_labels(trial.labels)) for trial in trials]
    count = len(trials[0].plates)
    off = rng.normal(size=(count, 3)) * gross[:count, None]
    off = off * (1e-3 * entry["plate_mm"], 1e-3 * entry["plate_mm"], np.deg2rad(entry["plate_turn_deg"]))
    filed = tuple(misplaced(plate, *map(float, row)) for plate, row in zip(trials[0].plates, off, strict=True))
    return RoughRecording(name, seed, motion, scene, trials[0], trials[1], filed)


def hinged_model(name: str, seed: int) -> SubjectModel:
    """Return the true body of a person (joints, masses, markers), with knees that are hinges; SettingsError as above."""
    rng = np.random.default_rng([seed, 29])
    person, _, _ = _someone(rng, _entry(name))
    body = unlike(embody(person), _of_bones(), rng)
    return scattered_markers(body, 1e-3 * _entry(name)["landmark_mm"], seed).model


def _of_bones() -> Magnitudes:
    """Return the magnitudes of bones and masses; centres of knees and ankles are off by their markers (`scattered_markers`)."""
    magnitudes = load_magnitudes()
    by_markers = [name for pattern in ("tibia_{s}", "calcn_{s}") for _, name in expand_sides(pattern)]
    centres = {name: sd for name, sd in magnitudes.joint_centre_m.items() if name not in by_markers}
    return replace(magnitudes, joint_centre_m=centres)


def _lean(seed: int) -> tuple[float, float]:
    """Return how far a person's trunk leans forward while standing, and how much more in walking, degrees."""
    table, rng = load_data("rough_walks")["lean"], np.random.default_rng([seed, 37])
    walking, less = (float(rng.uniform(*table[key])) for key in ("walking_deg", "standing_less_deg"))
    return walking - less, less


def _entry(name: str) -> dict[str, Any]:
    table = load_data("rough_walks")
    if name not in table["class"]:
        raise SettingsError(f"There is no class of simulated walks '{name}'.", suggest_name(name, class_names()))
    return {**table["errors"], **table["class"][name]}


def _someone(rng: np.random.Generator, entry: dict[str, Any]) -> tuple[Person, float, float]:
    """A person, the speed (m/s) and the stride time (s)."""
    male = bool(rng.random() < 0.5)
    height_m = float(np.clip(rng.normal(1.78 if male else 1.66, 0.07), 1.45, 2.0))
    mass_kg = float(23.5 * height_m**2 * np.exp(0.12 * rng.normal()))
    speed_m_s = float(rng.uniform(*entry["speed_m_s"]))
    # faster walkers take quicker strides, longer legs slower ones
    stride_s = float(np.clip(1.1 * np.sqrt(1.3 / speed_m_s * height_m / 1.75), 0.8, 1.7))
    person = Person(
        "Rough",
        height_m=height_m,
        mass_kg=mass_kg,
        sex="male" if male else "female",
        leg_length=float(np.clip(rng.normal(1.0, 0.02), 0.95, 1.05)),
        breadth=float(np.clip(rng.normal(1.0, 0.04), 0.9, 1.1)),
    )
    return person, speed_m_s, stride_s


def _walk(body: Body, style: str, speed_m_s: float, stride_s: float, lean_deg: float, seed: int) -> Walk:
    curves = style_of(style, speed_m_s) if style else normal_style()
    shifted = {name: lean_deg * sign for name, sign in LEAN_SIGNS.items()}
    smooth = solve_walk(body, speed_m_s, stride_s, _ITERATIONS, style=curves.shifted(shifted))
    return with_impacts(smooth, drawn_strike(seed)) if style else smooth


def _run(body: Body, scene: Scene, speed_m_s: float, seed: int) -> PlannedMotion:
    strike = drawn_strike(seed)
    longer = replace(strike, length=_RUN_LENGTH * strike.length)
    return run_with_impacts(solve_motion(body, scene.plan, _RUN_ITERATIONS), longer, speed_m_s)


def _recorded(motion: Walk | PlannedMotion, scene: Scene | None, options: TrialOptions, kind: str) -> SimulatedTrial:
    if isinstance(motion, Walk):
        return simulate_trial(motion.body.person, options, kind, motion)
    assert scene is not None
    return standing(motion.body, options, scene.plates) if kind == "static" else record_scene(scene, motion, options)


@cache
def _lower_labels(labels: tuple[str, ...]) -> frozenset[str]:
    worn = load_marker_set(_LOWER_SET)
    return frozenset(label for label in labels if worn.find(normalise(label)) is not None)
