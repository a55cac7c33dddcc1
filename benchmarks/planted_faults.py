"""Do faults in real recordings go unnoticed? `python benchmarks/planted_faults.py WALK.c3d=STATIC.c3d ...`.

Each fault is written into a copy of a real walk (plates of type 2) or of its static trial, at several sizes, and the copy is
analysed. A run counts by the change of the leg torques against those of the unchanged files: the largest RMS over hip, knee and
ankle of both legs (sagittal and frontal plane), Nm per kg of the unchanged mass, in frames with torques in both. Printed: runs
changed by 0.10 Nm/kg or more that still pass, runs changed by 0.25 or more that do not fail, and whether the first cause named is
the planted one. A leg without torques, and an analysis that stops with an error, count as left out. Sizes are those of published
faults and of faults seen in laboratories: plates off by centimetres, crystals and cables, markers that slip by 1-4 cm.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ezc3d
import numpy as np
from common import Record, Stopwatch, parser_of, tell

import biodyn
from biodyn.analysis import TrialAnalysis
from biodyn.errors import BiodynError
from biodyn.geometry.rotations import axis_angle

NOTICEABLE, GROSS = 0.10, 0.25  # Nm/kg RMS
_JOINTS = ("hip_flexion", "hip_adduction", "knee_flexion", "ankle_dorsiflexion")
_SETTINGS = {"signals": {"method": "auto"}, "uncertainty": {"compute": False}}


@dataclass
class Files:
    """Contents of a walk and its static trial, and what the analysis of the unchanged files says about them.

    Attributes:
        walk, static: as ezc3d reads them. analysis: of the unchanged copy. rng: for the choice of plate, marker and direction.
        mass_kg: stated by the user, None for that of the files.
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

    def plate(self) -> int:
        """Return the index of a plate with a load that was used."""
        used = sorted({c.plate for c in self.analysis.contacts if c.decision == "assigned"})
        return int(self.rng.choice(used)) - 1

    def channels(self, plate: int) -> np.ndarray:
        """Return the rows of the analog data that hold Fx, Fy, Fz, Mx, My, Mz of a plate."""
        return np.asarray(self.walk["parameters"]["FORCE_PLATFORM"]["CHANNEL"]["value"])[:, plate].astype(int) - 1

    def stance(self, plate: int) -> slice:
        """Return the analog samples of a load of a plate."""
        contact = next(c for c in self.analysis.contacts if c.plate == plate + 1 and c.decision == "assigned")
        rate = float(self.walk["parameters"]["ANALOG"]["RATE"]["value"][0])
        return slice(round(contact.start_s * rate), round(contact.end_s * rate))

    def marker(self, parts: tuple[str, ...] = ("pelvis", "femur", "tibia", "foot", "calcn", "thigh", "shank")) -> int:
        """Return the row of a marker on a part of the body."""
        labels = [label.strip() for label in self.walk["parameters"]["POINT"]["LABELS"]["value"]]
        fitted = [m.label for m in self.analysis.model.markers if m.body.startswith(parts)]
        rows = [n for n, label in enumerate(labels) if label.split(":")[-1] in {f.split(":")[-1] for f in fitted}]
        return int(self.rng.choice(rows))

    def direction(self) -> np.ndarray:
        """Return a random horizontal or vertical unit vector (3,) on the axes of the file."""
        vector = self.rng.normal(size=3)
        return vector / np.linalg.norm(vector)


Change = Callable[[Files, float], None]


@dataclass(frozen=True)
class Fault:
    """A fault: the codes of findings that name its cause, its sizes, and how it gets into the files."""

    name: str
    causes: tuple[str, ...]
    sizes: tuple[float, ...]
    unit: str
    change: Change


@dataclass
class Tally:
    """Outcomes of the runs of a fault."""

    runs: int = 0
    noticeable: int = 0
    passed: int = 0
    gross: int = 0
    not_failed: int = 0
    right: int = 0
    unnamed: int = 0
    wrong: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add the outcomes of another fault."""
        for name in ("runs", "noticeable", "passed", "gross", "not_failed", "right", "unnamed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.wrong += other.wrong


# -- plates ---------------------------------------------------------------------------------------------------------


def _corners(files: Files) -> np.ndarray:
    return np.array(files.walk["parameters"]["FORCE_PLATFORM"]["CORNERS"]["value"], dtype=float)


def _set_corners(files: Files, corners: np.ndarray) -> None:
    for trial in (files.walk, files.static):
        if np.shape(trial["parameters"].get("FORCE_PLATFORM", {}).get("CORNERS", {}).get("value", ())) == corners.shape:
            trial["parameters"]["FORCE_PLATFORM"]["CORNERS"]["value"] = corners


def _shift(files: Files, centimetres: float) -> None:
    corners, angle = _corners(files), files.rng.uniform(0.0, 2.0 * np.pi)
    level = [axis for axis in range(3) if axis != files.vertical]
    corners[level, :, files.plate()] += (0.01 * centimetres * files.per_m * np.array([np.cos(angle), np.sin(angle)]))[
        :, None
    ]
    _set_corners(files, corners)


def _shift_all(files: Files, centimetres: float) -> None:
    corners, angle = _corners(files), files.rng.uniform(0.0, 2.0 * np.pi)
    level = [axis for axis in range(3) if axis != files.vertical]
    corners[level] += (0.01 * centimetres * files.per_m * np.array([np.cos(angle), np.sin(angle)]))[:, None, None]
    _set_corners(files, corners)


def _raise(files: Files, centimetres: float) -> None:
    corners = _corners(files)
    corners[files.vertical, :, files.plate()] += 0.01 * centimetres * files.per_m
    _set_corners(files, corners)


def _turn(files: Files, degrees: float) -> None:
    corners, plate = _corners(files), files.plate()
    axis = np.eye(3)[files.vertical]
    middle = corners[:, :, plate].mean(axis=1, keepdims=True)
    corners[:, :, plate] = middle + axis_angle(axis, np.radians(degrees)) @ (corners[:, :, plate] - middle)
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


def _during(seconds_or_count: str) -> Change:
    """Return a dropout (`seconds`), spikes (`samples`) or a wrap-around (`wrap`) in the middle of a load."""

    def changed(values: np.ndarray, files: Files, plate: int, size: float) -> np.ndarray:
        stance = files.stance(plate)
        rate = float(files.walk["parameters"]["ANALOG"]["RATE"]["value"][0])
        middle = round(stance.start + files.rng.uniform(0.3, 0.7) * (stance.stop - stance.start))
        if seconds_or_count == "seconds":
            values[:, middle : middle + round(size * rate)] = 0.0
        elif seconds_or_count == "samples":
            for at in files.rng.integers(stance.start, stance.stop, size=round(size)):
                values[:, at] += np.abs(values).max(axis=1) * 2.0
        else:
            top = size * np.abs(values[2]).max()
            over = np.abs(values[2]) > top
            values[2, over] = np.sign(values[2, over]) * (
                top if seconds_or_count == "top" else np.abs(values[2, over]) - 2.0 * top
            )
        return values

    return _analog(changed)


def _delay(files: Files, milliseconds: float) -> None:
    rate = float(files.walk["parameters"]["ANALOG"]["RATE"]["value"][0])
    analogs, count = files.walk["data"]["analogs"], round(milliseconds * 1e-3 * rate)
    rolled = np.roll(analogs, count, axis=2)
    edge = slice(0, count) if count > 0 else slice(count, None)
    rolled[:, :, edge] = analogs[:, :, :1] if count > 0 else analogs[:, :, -1:]
    analogs[...] = rolled


def _swap_plates(files: Files, _: float) -> None:
    plates = sorted({c.plate - 1 for c in files.analysis.contacts if c.decision == "assigned"})[:2]
    first, second = (files.channels(plate) for plate in plates)
    analogs = files.walk["data"]["analogs"]
    analogs[0, first], analogs[0, second] = analogs[0, second].copy(), analogs[0, first].copy()


# -- markers --------------------------------------------------------------------------------------------------------


def _offset(files: Files, centimetres: float) -> None:
    """A marker was put on again elsewhere: a constant vector on the axes of the file."""
    files.points[:3, files.marker()] += (0.01 * centimetres * files.per_m * files.direction())[:, None]


def _slip(files: Files, centimetres: float) -> None:
    at = round(files.rng.uniform(0.4, 0.6) * files.points.shape[2])
    files.points[:3, files.marker(), at:] += (0.01 * centimetres * files.per_m * files.direction())[:, None]


def _cluster_slip(files: Files, centimetres: float) -> None:
    """All markers of one thigh or shank slip at a time."""
    marker = files.marker(("femur", "tibia", "thigh", "shank"))
    labels = [label.strip() for label in files.walk["parameters"]["POINT"]["LABELS"]["value"]]
    body = next(m.body for m in files.analysis.model.markers if m.label.split(":")[-1] == labels[marker].split(":")[-1])
    members = {m.label.split(":")[-1] for m in files.analysis.model.markers if m.body == body}
    at = round(files.rng.uniform(0.4, 0.6) * files.points.shape[2])
    rows = [n for n, label in enumerate(labels) if label.split(":")[-1] in members]
    files.points[:3, rows, at:] += (0.01 * centimetres * files.per_m * files.direction())[:, None, None]


def _swap_sides(files: Files, share: float) -> None:
    """A marker of the right and left leg exchange labels in a share of the walk."""
    labels = [label.strip().split(":")[-1] for label in files.walk["parameters"]["POINT"]["LABELS"]["value"]]
    fitted = {
        m.label.split(":")[-1]
        for m in files.analysis.model.markers
        if m.body.startswith(("femur", "tibia", "foot", "calcn"))
    }
    pairs = [
        (labels.index(label), labels.index(other))
        for label in sorted(fitted)
        for other in [label.replace("R", "L", 1)]
        if "R" in label and other in labels and other != label
    ]
    right, left = pairs[int(files.rng.integers(len(pairs)))]
    frames = files.points.shape[2]
    first = round(files.rng.uniform(0.0, 1.0 - share) * frames)
    rows = slice(first, first + round(share * frames))
    files.points[:, right, rows], files.points[:, left, rows] = (
        files.points[:, left, rows].copy(),
        files.points[:, right, rows].copy(),
    )


def _scale(files: Files, factor: float) -> None:
    for trial in (files.walk, files.static):
        trial["data"]["points"][:3] *= factor


def _tilt(files: Files, degrees: float) -> None:
    axis = np.eye(3)[[a for a in range(3) if a != files.vertical][int(files.rng.integers(2))]]
    R = axis_angle(axis, np.radians(degrees))
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
    Fault(
        "dropout in stance",
        ("force-dropout", "forces-incomplete", "force-spike"),
        (0.02, 0.06, 0.15),
        "s",
        _during("seconds"),
    ),
    Fault("spikes", ("force-spike",), (1.0, 4.0), "samples", _during("samples")),
    Fault(
        "wrap-around", ("unit-corrected", "force-wrapped", "forces-incomplete"), (0.7, 0.9), "of peak", _during("wrap")
    ),
    Fault("saturation", ("force-saturated", "forces-incomplete"), (0.7, 0.85), "of peak", _during("top")),
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
) -> tuple[Tally, str]:
    """Plant a fault of one size into the files of a walk; return the outcome and a line that describes it."""
    rng = np.random.default_rng([seed, *map(ord, fault.name), round(1000 * abs(size))])
    files = Files(ezc3d.c3d(str(pair[0])), ezc3d.c3d(str(pair[1])), clean.analysis, rng)
    fault.change(files, size)
    tally = Tally(runs=1)
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = analyse(files.walk, files.static, Path(folder), files.mass_kg)
        except BiodynError as error:
            return tally, f"stopped: {error}"
    effect, verdict = torque_change(clean, result), result.verdict
    known = {note.code for note in clean.analysis.diagnostics if note.severity != "info"}
    causes = [c.code for c in verdict.ordered_causes if c.status != "pass" and c.code not in known]
    if not np.isfinite(effect):
        return tally, "no torques left"
    tally.noticeable = int(effect >= NOTICEABLE)
    if tally.noticeable:
        tally.passed = int(verdict.status == "pass")
        tally.gross = int(effect >= GROSS)
        tally.not_failed = int(effect >= GROSS and verdict.status != "fail")
        named = next((code for code in causes if code not in _NO_CAUSES), "")
        tally.right = int(named in fault.causes)
        tally.unnamed = int(not named)
        if named and not tally.right:
            tally.wrong[named] += 1
    return tally, f"{effect:.2f} Nm/kg, {verdict.status}: {', '.join(causes[:4]) or '-'}"


def main() -> None:
    """Print each run and the sums."""
    parser = parser_of(__doc__, only="", seed=1)
    parser.add_argument("walks", nargs="+", metavar="WALK=STATIC", help="a walk and its static trial, C3D files")
    options = parser.parse_args()
    record, watch, total = Record("planted_faults", vars(options)), Stopwatch(), Tally()
    for number, words in enumerate(options.walks):
        walk, _, static = words.partition("=")
        pair = Path(walk), Path(static)
        folder = Path(tempfile.mkdtemp())
        clean = analyse(ezc3d.c3d(walk), ezc3d.c3d(static), folder, None)
        shutil.rmtree(folder)
        tell(f"{pair[0].stem}: unchanged, {clean.verdict.status}")
        for fault in FAULTS:
            if options.only not in fault.name:
                continue
            for size in fault.sizes:
                tally, line = judge(fault, size, pair, clean, options.seed + number)
                total.add(tally)
                mark = "!" if tally.passed or tally.not_failed else "?" if tally.wrong else " "
                tell(f"{mark} {pair[0].stem:18s} {fault.name} {size:g} {fault.unit}: {line}")
    tell(f"{total.runs} runs, {total.noticeable} change a torque by {NOTICEABLE} Nm/kg or more:")
    tell(f"  passed {total.passed}; of {total.gross} changed by {GROSS} or more, {total.not_failed} did not fail")
    wrong = sum(total.wrong.values())
    tell(f"  cause named first: right {total.right}, none {total.unnamed}, wrong {wrong}: {dict(total.wrong)}")
    for name in ("noticeable", "passed", "gross", "not_failed", "right", "unnamed"):
        record.add(name, getattr(total, name), "runs")
    record.close()
    tell(f"{watch.seconds:.0f} s")


if __name__ == "__main__":
    main()
