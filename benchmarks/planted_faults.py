"""Do faults in real recordings go unnoticed? `python benchmarks/planted_faults.py WALK.c3d=STATIC.c3d ...`.

Each fault is written into a copy of a real walk (plates of type 2) or of its static trial, at several sizes, and the copy is
analysed. A run counts by the change of the leg torques against those of the unchanged files: the largest RMS over hip, knee and
ankle of both legs (sagittal and frontal plane), Nm per kg of the unchanged mass, in frames with torques in both. Printed: runs
changed by 0.10 Nm/kg or more that still pass, runs changed by 0.25 or more that do not fail, and whether the first cause named is
the planted one. A leg without torques, and an analysis that stops with an error, count as left out. Sizes are those of published
faults and of faults seen in laboratories: plates displaced by centimetres, defective channels, markers that slip by 1-4 cm.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ezc3d
import numpy as np
from common import Record, Stopwatch, parser_of, tell

import biodyn
from biodyn.analysis import TrialAnalysis
from biodyn.errors import BiodynError
from biodyn.geometry.rotations import matrices_from_axis_angle

NOTICEABLE, GROSS = 0.10, 0.25  # Nm/kg RMS
_JOINTS = ("hip_flexion", "hip_adduction", "knee_flexion", "ankle_dorsiflexion")
_SETTINGS = {"uncertainty": {"compute": False}}
_LEGS = ("femur", "tibia", "foot", "calcn", "thigh", "shank")  # parts of the body by the beginning of their names


@dataclass
class Files:
    """Contents of a walk and its static trial, and what the analysis of the unchanged files says about them.

    Attributes:
        walk, static: as ezc3d reads them. analysis: of the unchanged copy. rng: for the choice of plate, marker and direction.
        mass_kg: stated by the user; None: from the files.
    """

    walk: Any
    static: Any
    analysis: TrialAnalysis
    rng: np.random.Generator
    mass_kg: float | None = None

    @property
    def points(self) -> np.ndarray:
        """Marker positions of the walk (4, M, T), in the unit of the file."""
        return self.walk["data"]["points"]

    @property
    def per_m(self) -> float:
        """File units of length in a metre."""
        return 1000.0 if self.walk["parameters"]["POINT"]["UNITS"]["value"][0].strip().lower() == "mm" else 1.0

    @property
    def vertical(self) -> int:
        """Axis of the file that points upwards."""
        return int(np.argmax(np.abs(self.analysis.R_WL[1])))

    @property
    def level(self) -> list[int]:
        """Horizontal axes of the file."""
        return [axis for axis in range(3) if axis != self.vertical]

    @property
    def analog_hz(self) -> float:
        """Sampling rate of the plates."""
        return float(self.walk["parameters"]["ANALOG"]["RATE"]["value"][0])

    @property
    def labels(self) -> list[str]:
        """Labels of the markers without the subject's name, in the order of `points`."""
        return [_bare(label) for label in self.walk["parameters"]["POINT"]["LABELS"]["value"]]

    @property
    def bodies(self) -> dict[str, str]:
        """Part of the body of each fitted marker, by label."""
        return {_bare(marker.label): marker.body for marker in self.analysis.model.markers}

    @property
    def used_plates(self) -> list[int]:
        """Indices of the plates with a load that was used."""
        return sorted({contact.plate - 1 for contact in self.analysis.contacts if contact.decision == "assigned"})

    def plate(self) -> int:
        """Return one of the used plates."""
        return int(self.rng.choice(self.used_plates))

    def channels(self, plate: int) -> np.ndarray:
        """Return the rows of the analog data that contain Fx, Fy, Fz, Mx, My, Mz of a plate."""
        return np.asarray(self.walk["parameters"]["FORCE_PLATFORM"]["CHANNEL"]["value"])[:, plate].astype(int) - 1

    def stance(self, plate: int) -> slice:
        """Return the analog samples of a load of a plate."""
        contact = next(c for c in self.analysis.contacts if c.plate == plate + 1 and c.decision == "assigned")
        return slice(round(contact.start_s * self.analog_hz), round(contact.end_s * self.analog_hz))

    def markers_on(self, parts: str | tuple[str, ...]) -> list[int]:
        """Return the rows of the fitted markers on parts of the body with names that begin so."""
        return [row for row, label in enumerate(self.labels) if self.bodies.get(label, "").startswith(parts)]

    def marker(self, parts: tuple[str, ...] = ("pelvis", *_LEGS)) -> int:
        """Return the row of one of these markers."""
        return int(self.rng.choice(self.markers_on(parts)))

    def from_middle(self) -> int:
        """Return a frame in the middle fifth of the walk."""
        return round(self.rng.uniform(0.4, 0.6) * self.points.shape[2])

    def shift(self, centimetres: float) -> np.ndarray:
        """Return a vector (3,) of this length in a random direction, in the unit of the file."""
        vector = self.rng.normal(size=3)
        return 0.01 * centimetres * self.per_m * vector / np.linalg.norm(vector)

    def level_shift(self, centimetres: float) -> np.ndarray:
        """Return a horizontal vector (2,) of this length in a random direction, in the unit of the file."""
        angle = self.rng.uniform(0.0, 2.0 * np.pi)
        return 0.01 * centimetres * self.per_m * np.array([np.cos(angle), np.sin(angle)])


def _bare(label: str) -> str:
    return label.strip().split(":")[-1]


Change = Callable[[Files, float], None]


@dataclass(frozen=True)
class Fault:
    """A fault: the codes of findings that name its cause, its sizes, and how it gets into the files."""

    name: str
    causes: tuple[str, ...]
    sizes: tuple[float, ...]
    unit: str
    change: Change


# -- plates ---------------------------------------------------------------------------------------------------------


def _corners(files: Files) -> np.ndarray:
    return np.array(files.walk["parameters"]["FORCE_PLATFORM"]["CORNERS"]["value"], dtype=float)


def _set_corners(files: Files, corners: np.ndarray) -> None:
    for trial in (files.walk, files.static):
        if np.shape(trial["parameters"].get("FORCE_PLATFORM", {}).get("CORNERS", {}).get("value", ())) == corners.shape:
            trial["parameters"]["FORCE_PLATFORM"]["CORNERS"]["value"] = corners


def _shift(files: Files, centimetres: float) -> None:
    corners, shift = _corners(files), files.level_shift(centimetres)
    corners[files.level, :, files.plate()] += shift[:, None]
    _set_corners(files, corners)


def _shift_all(files: Files, centimetres: float) -> None:
    corners = _corners(files)
    corners[files.level] += files.level_shift(centimetres)[:, None, None]
    _set_corners(files, corners)


def _raise(files: Files, centimetres: float) -> None:
    corners = _corners(files)
    corners[files.vertical, :, files.plate()] += 0.01 * centimetres * files.per_m
    _set_corners(files, corners)


def _turn(files: Files, degrees: float) -> None:
    corners, plate = _corners(files), files.plate()
    axis = np.eye(3)[files.vertical]
    middle = corners[:, :, plate].mean(axis=1, keepdims=True)
    corners[:, :, plate] = middle + matrices_from_axis_angle(axis, np.radians(degrees)) @ (
        corners[:, :, plate] - middle
    )
    _set_corners(files, corners)


def _analog(change: Callable[[np.ndarray, Files, int, float], np.ndarray]) -> Change:
    """Return a change of the six channels (6, samples) of one used plate."""

    def changed(files: Files, size: float) -> None:
        plate = files.plate()
        analogs = files.walk["data"]["analogs"]
        rows = files.channels(plate)
        analogs[0, rows] = change(analogs[0, rows].copy(), files, plate, size)

    return changed


def _gain(first: int, stop: int) -> Change:
    def gained(values: np.ndarray, files: Files, _: int, factor: float) -> np.ndarray:
        values[files.rng.integers(first, stop)] *= factor
        return values

    return _analog(gained)


def _whole_gain(values: np.ndarray, _: Files, __: int, factor: float) -> np.ndarray:
    return values * factor


def _exchange(order: list[int]) -> Change:
    return _analog(lambda values, _, __, ___: values[order])


def _reverse(rows: list[int]) -> Change:
    def reversed_rows(values: np.ndarray, _: Files, __: int, ___: float) -> np.ndarray:
        values[rows] *= -1.0
        return values

    return _analog(reversed_rows)


def _baseline(values: np.ndarray, _: Files, __: int, newton: float) -> np.ndarray:
    values[2] += newton * np.sign(np.sum(values[2]))
    return values


def _dropout(values: np.ndarray, files: Files, plate: int, seconds: float) -> np.ndarray:
    stance = files.stance(plate)
    first = round(stance.start + files.rng.uniform(0.3, 0.7) * (stance.stop - stance.start))
    values[:, first : first + round(seconds * files.analog_hz)] = 0.0
    return values


def _spikes(values: np.ndarray, files: Files, plate: int, count: float) -> np.ndarray:
    stance = files.stance(plate)
    for at in files.rng.integers(stance.start, stance.stop, size=round(count)):
        values[:, at] += 2.0 * np.abs(values).max(axis=1)
    return values


def _saturated(values: np.ndarray, _: Files, __: int, share: float) -> np.ndarray:
    top = share * np.abs(values[2]).max()
    values[2] = np.clip(values[2], -top, top)
    return values


def _wrapped(values: np.ndarray, _: Files, __: int, share: float) -> np.ndarray:
    """Beyond a share of the peak the vertical force continues from the other end of the range."""
    top = share * np.abs(values[2]).max()
    over = np.abs(values[2]) > top
    values[2, over] -= 2.0 * top * np.sign(values[2, over])
    return values


def _delay(files: Files, milliseconds: float) -> None:
    analogs, count = files.walk["data"]["analogs"], round(milliseconds * 1e-3 * files.analog_hz)
    rolled = np.roll(analogs, count, axis=2)
    edge = slice(0, count) if count > 0 else slice(count, None)
    rolled[:, :, edge] = analogs[:, :, :1] if count > 0 else analogs[:, :, -1:]
    analogs[...] = rolled


def _swap_plates(files: Files, _: float) -> None:
    first, second = (files.channels(plate) for plate in files.used_plates[:2])
    _swap(files.walk["data"]["analogs"][0], first, second)


def _swap(values: np.ndarray, first: Any, second: Any) -> None:
    """Exchange two parts of an array in place."""
    values[first], values[second] = values[second].copy(), values[first].copy()


# -- markers --------------------------------------------------------------------------------------------------------


def _offset(files: Files, centimetres: float) -> None:
    """A marker was put on again elsewhere: a constant vector on the axes of the file."""
    files.points[:3, files.marker()] += files.shift(centimetres)[:, None]


def _slip(files: Files, centimetres: float) -> None:
    first, marker = files.from_middle(), files.marker()
    files.points[:3, marker, first:] += files.shift(centimetres)[:, None]


def _cluster_slip(files: Files, centimetres: float) -> None:
    """All markers of one thigh or shank slip at a time."""
    body = files.bodies[files.labels[files.marker(("femur", "tibia", "thigh", "shank"))]]
    first = files.from_middle()
    files.points[:3, files.markers_on(body), first:] += files.shift(centimetres)[:, None, None]


def _swap_sides(files: Files, share: float) -> None:
    """A marker of the right and left leg exchange labels in a share of the walk."""
    labels, frames = files.labels, files.points.shape[2]
    other = {row: labels[row].replace("R", "L", 1) for row in files.markers_on(_LEGS) if "R" in labels[row]}
    pairs = [(row, labels.index(other[row])) for row in sorted(other, key=labels.__getitem__) if other[row] in labels]
    right, left = pairs[int(files.rng.integers(len(pairs)))]
    first = round(files.rng.uniform(0.0, 1.0 - share) * frames)
    rows = slice(first, first + round(share * frames))
    _swap(files.points, (slice(None), right, rows), (slice(None), left, rows))


def _scale(files: Files, factor: float) -> None:
    for trial in (files.walk, files.static):
        trial["data"]["points"][:3] *= factor


def _tilt(files: Files, degrees: float) -> None:
    R = matrices_from_axis_angle(np.eye(3)[files.level[int(files.rng.integers(2))]], np.radians(degrees))
    for trial in (files.walk, files.static):
        points = trial["data"]["points"]
        points[:3] = np.einsum("ij,jmt->imt", R, points[:3])


def _mass(files: Files, percent: float) -> None:
    files.mass_kg = files.analysis.subject.mass_kg * (1.0 + 0.01 * percent)


def _rate(files: Files, factor: float) -> None:
    for name in ("POINT", "ANALOG"):
        files.walk["parameters"][name]["RATE"]["value"] = np.array(
            [float(files.walk["parameters"][name]["RATE"]["value"][0]) * factor]
        )
    files.walk["header"]["points"]["frame_rate"] *= factor
    files.walk["header"]["analogs"]["frame_rate"] *= factor


_PLACE = ("plate-moved", "estimate-plate-place")
_AXES = ("plate-axes-exchanged", "plate-rotated", "plates-swapped", "plate-corners-reversed")
_CHANNEL = ("plate-channel-gain", "plate-channel-constant", "mass-mismatch")
_SIGNS = ("plate-force-sign", "plate-moment-sign")
_MARKER = ("marker-moved", "marker-off-place", "marker-spike")
_LABELS = ("labels-exchanged", "sides-exchanged", "markers-exchanged", *_MARKER)

# Findings that describe a disagreement and name no cause of it.
_NO_CAUSES = ("estimate-segment-mass", "estimate-not-made", "residual-force", "residual-moment", "body-weight")

FAULTS = (
    Fault("plate shifted", _PLACE, (1.0, 2.5, 5.0), "cm", _shift),
    Fault("all plates shifted", _PLACE, (2.4, 5.0), "cm", _shift_all),
    Fault("plate raised", ("plate-height",), (-4.0, 2.5, 5.0), "cm", _raise),
    Fault("plate turned", ("plate-rotated", "plate-moved"), (3.0, 5.0, 10.0, 90.0), "deg", _turn),
    Fault("gain of a force channel", _CHANNEL, (0.0, 0.8, 1.25, 1.5), "times", _gain(0, 3)),
    Fault("gain of a moment channel", _CHANNEL, (0.0, 0.7, 1.25, 1.5), "times", _gain(3, 6)),
    Fault("gain of a plate", ("mass-mismatch", "plate-channel-gain"), (0.8, 1.15, 1.3), "times", _analog(_whole_gain)),
    Fault("Fx and Fy exchanged", _AXES, (1.0,), "", _exchange([1, 0, 2, 3, 4, 5])),
    Fault("Mx and My exchanged", _AXES, (1.0,), "", _exchange([0, 1, 2, 4, 3, 5])),
    Fault("horizontal forces reversed", _SIGNS, (1.0,), "", _reverse([0, 1])),
    Fault("Mx reversed", _SIGNS, (1.0,), "", _reverse([3])),
    Fault("My reversed", _SIGNS, (1.0,), "", _reverse([4])),
    Fault("moments reversed", _SIGNS, (1.0,), "", _reverse([3, 4, 5])),
    Fault("baseline", ("plate-not-zeroed", "plate-baseline"), (15.0, 40.0, 100.0), "N", _analog(_baseline)),
    Fault("dropout in stance", ("forces-incomplete",), (0.02, 0.06, 0.15), "s", _analog(_dropout)),
    Fault("spikes", ("recording-repaired",), (1.0, 4.0), "samples", _analog(_spikes)),
    Fault("wrap-around", ("recording-repaired", "forces-incomplete"), (0.7, 0.9), "of peak", _analog(_wrapped)),
    Fault("saturation", ("forces-incomplete",), (0.7, 0.85), "of peak", _analog(_saturated)),
    Fault("forces late or early", ("time-offset",), (-30.0, -15.0, 15.0, 30.0), "ms", _delay),
    Fault("plates exchanged", _AXES, (1.0,), "", _swap_plates),
    Fault("marker put on elsewhere", _MARKER, (1.5, 2.5, 4.0), "cm", _offset),
    Fault("marker slips", _MARKER, (1.5, 2.5, 4.0), "cm", _slip),
    Fault("markers of a segment slip", _MARKER, (1.5, 3.0), "cm", _cluster_slip),
    Fault("sides exchanged", _LABELS, (0.2, 0.5, 1.0), "of the walk", _swap_sides),
    Fault(
        "markers scaled",
        ("plate-moved", "unit-corrected", "static-doubtful"),
        (0.95, 1.05),
        "times",
        _scale,
    ),
    Fault("markers tilted", ("plate-height",), (-3.0, 3.0, 6.0), "deg", _tilt),
    Fault("mass", ("mass-mismatch",), (-15.0, -7.0, 7.0, 15.0), "%", _mass),
    Fault("frame rate", ("frame-rate-doubtful", "time-offset"), (0.9, 1.1, 2.0), "times", _rate),
)


# -- analysis -------------------------------------------------------------------------------------------------------


def analyse(walk: Any, static: Any, folder: Path, mass_kg: float | None) -> biodyn.TrialResult:
    """Write both files into a folder and analyse the walk."""
    walk.write(str(folder / "walk.c3d"))
    static.write(str(folder / "static.c3d"))
    words = {} if mass_kg is None else {"mass_kg": mass_kg}
    return biodyn.run_trial(folder / "walk.c3d", folder / "static.c3d", settings=_SETTINGS, **words)


def torque_change(before: biodyn.TrialResult, after: biodyn.TrialResult) -> float:
    """Return the largest RMS change of a leg torque, Nm/kg; NaN if no torque can be compared."""
    first, second = before.joint_torques, after.joint_torques
    columns = [c for c in first.columns if str(c).startswith(_JOINTS) and c in second.columns]
    rows = min(len(first), len(second))
    change = second[columns].to_numpy()[:rows] - first[columns].to_numpy()[:rows]
    known = np.isfinite(change).any(axis=0)
    if not known.any():
        return float("nan")
    return float(np.sqrt(np.nanmean(change[:, known] ** 2, axis=0)).max() / before.analysis.subject.mass_kg)


def judge(
    fault: Fault, size: float, pair: tuple[Path, Path], clean: biodyn.TrialResult, seed: int
) -> tuple[Counter[str], str]:
    """Write a fault of one size into the files of a walk; return the outcomes, 1 each, and a line that describes the run.

    Outcomes: run, noticeable, passed, gross, not failed, and of the first cause named: right, unnamed, or wrong and its code.
    """
    rng = np.random.default_rng([seed, *map(ord, fault.name), round(1000 * abs(size))])
    files = Files(ezc3d.c3d(str(pair[0])), ezc3d.c3d(str(pair[1])), clean.analysis, rng)
    fault.change(files, size)
    outcomes = Counter(("run",))
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = analyse(files.walk, files.static, Path(folder), files.mass_kg)
        except BiodynError as error:
            return outcomes, f"stopped: {error}"
    effect, verdict = torque_change(clean, result), result.verdict
    if not np.isfinite(effect):
        return outcomes, "no torques left"
    outcomes += named_cause(fault, result.analysis, clean.analysis, effect)
    return (
        outcomes,
        f"{effect:.2f} Nm/kg, {verdict.status}: {', '.join(_new_causes(result.analysis, clean.analysis)[:4]) or '-'}",
    )


def _new_causes(analysis: TrialAnalysis, clean: TrialAnalysis) -> list[str]:
    """Return the codes of the causes of a verdict that the unchanged walk does not have, in order of inspection."""
    known = {note.code for note in clean.diagnostics if note.severity != "info"}
    assert analysis.verdict is not None
    return [cause.code for cause in analysis.verdict.ordered_causes if cause.code not in known]


def named_cause(fault: Fault, analysis: TrialAnalysis, clean: TrialAnalysis, effect: float) -> Counter[str]:
    """Return the outcomes of a run with a torque changed by `effect`, Nm/kg; at most two causes count as a named cause."""
    outcomes: Counter[str] = Counter()
    if effect < NOTICEABLE or analysis.verdict is None:
        return outcomes
    status = analysis.verdict.status
    outcomes["noticeable"] += 1
    outcomes["passed"] += status == "pass"
    if effect >= GROSS:
        outcomes["gross"] += 1
        outcomes["not failed"] += status != "fail"
    named = next((code for code in _new_causes(analysis, clean) if code not in _NO_CAUSES), "")
    possible = next(
        (note.alternatives for note in analysis.diagnostics if note.code == named and note.alternatives), ()
    )
    is_right = named in fault.causes or (len(possible) <= 2 and not set(possible).isdisjoint(fault.causes))
    outcomes["right" if is_right else f"wrong: {named}" if named else "unnamed"] += 1
    return outcomes


def main() -> None:
    """Print each run and the sums."""
    parser = parser_of(__doc__, only="", seed=1)
    parser.add_argument("walks", nargs="+", metavar="WALK=STATIC", help="a walk and its static trial, C3D files")
    options = parser.parse_args()
    record, watch = Record("planted_faults", vars(options)), Stopwatch()
    total: Counter[str] = Counter()
    for number, words in enumerate(options.walks):
        walk, _, static = words.partition("=")
        pair = Path(walk), Path(static)
        with tempfile.TemporaryDirectory() as folder:
            clean = analyse(ezc3d.c3d(walk), ezc3d.c3d(static), Path(folder), None)
        tell(f"{pair[0].stem}: unchanged, {clean.verdict.status}")
        for fault in (fault for fault in FAULTS if options.only in fault.name):
            for size in fault.sizes:
                outcomes, line = judge(fault, size, pair, clean, options.seed + number)
                total += outcomes
                unnoticed = outcomes["passed"] or outcomes["not failed"]
                mark = "!" if unnoticed else "?" if any(name.startswith("wrong") for name in outcomes) else " "
                tell(f"{mark} {pair[0].stem:18s} {fault.name} {size:g} {fault.unit}: {line}")
    for name in ("run", "noticeable", "passed", "gross", "not failed", "right", "unnamed"):
        record.add(name, total[name], "runs")
    for name in sorted(name for name in total if name.startswith("wrong")):
        record.add(name, total[name], "runs")
    record.close()
    tell(f"{watch.seconds:.0f} s")


if __name__ == "__main__":
    main()
