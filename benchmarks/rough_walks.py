"""How near a way of smoothing comes to the truth of rough walks: `python benchmarks/rough_walks.py --method spline`.

Simulated people (`simulator/rough_walks.py`: feet that strike, tissue that wobbles, knees that are no hinges, other mass,
joints and plates than the analysis believes) are analysed by the program's own pipeline, once with each method. A row each and
class: RMS error of the torques in N m/kg, its ratio to the best equal Butterworth filter that hindsight finds for the class and
torque, and to the filter with 6 Hz; what of the error the same model does not make of the motion without noise, skin and errors
of the plates (`beside the model`); error of the early peaks; share of the frames whose truth the 95 % band holds (of all classes
together for every coordinate, the trunk's too, and for every joint power); base residual.

Methods: `butterworth:6`, `butterworth:8/50` (markers/forces), `butterworth:auto`, `spline`, `estimate`, or settings of [signals]
as `cutoff_hz=8,filter_order=2`. What the program takes as a limit may be chosen on the seeds 0 to 39 only; what is reported comes
from 200 to 239.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from common import Record, Stopwatch, Table, parser_of, tell
from common.coverage import Rows, add_covered, add_powers, print_covered
from simulator.files import write_c3d
from simulator.rough_walks import (
    DEVELOPMENT_SEEDS,
    HELD_OUT_SEEDS,
    RoughRecording,
    class_names,
    class_of,
    rough_recording,
)
from simulator.uncertain import covered

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDES, FloatArray
from biodyn.errors import BiodynError
from biodyn.model.body_model import SubjectModel
from biodyn.processing.signals.settings import SignalSettings
from biodyn.settings import settings_from
from biodyn.trial.run import analyse_trial
from biodyn.trial.stages import ScaledTrial
from biodyn.trial.steps import STEPS, Step, with_step
from biodyn.trial.trial_files import read_files

BASE = "butterworth:6"
SWEEP_HZ = (4, 5, 6, 8, 10, 12, 15, 20, 25)
TORQUES = ("hip_flexion", "hip_adduction", "knee_angle", "ankle_angle")
#: Early peaks: sign of the torque that is looked for.
PEAKS = {"hip_flexion": -1.0, "knee_angle": 1.0}
EARLY_S = 0.1  # after a strike
_METHOD_KEY = "method" if "method" in SignalSettings.model_fields else "smoothing"
_OVERALL = "overall"
#: Short names of methods, used where the program knows the long one.
_LONG = {"spline": "smoothing_spline"}


def settings_of(method: str) -> dict[str, Any]:
    """Return the [signals] that a method's name stands for."""
    name, _, rest = method.partition(":")
    if "=" in method:
        return {key: _value(text) for key, text in (pair.split("=", 1) for pair in method.split(","))}
    signals: dict[str, Any] = {_METHOD_KEY: name}
    if name in _LONG and _refused({"signals": signals}):
        signals[_METHOD_KEY] = _LONG[name]
    if rest:
        markers, _, forces = rest.partition("/")
        signals["cutoff_hz"] = _value(markers)
        if forces:
            signals["force_cutoff_hz"] = _value(forces)
    return signals


def _refused(settings: dict[str, Any]) -> bool:
    try:
        settings_from(settings)
    except BiodynError:
        return True
    return False


def _value(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and "." not in text else number


@dataclass
class Series:
    """What one analysis says of one recording: by torque and side (T,) Nm/kg, NaN where it says nothing; 1 SD of its band."""

    torque: dict[str, FloatArray] = field(default_factory=dict)
    sd: dict[str, FloatArray] = field(default_factory=dict)
    residual_n: float = float("nan")
    residual_nm: float = float("nan")


def series_of(analysis: TrialAnalysis, mass_kg: float) -> Series:
    """Take the torques out of an analysis."""
    dynamics = analysis.dynamics
    found = Series()
    for column, coordinate in enumerate(analysis.model.coordinates):
        if coordinate.name.rpartition("_")[0] not in TORQUES:
            continue
        valid = dynamics.torque_valid[:, column]
        found.torque[coordinate.name] = np.where(valid, dynamics.torques[:, column], np.nan) / mass_kg
        if analysis.uncertainty is not None:
            found.sd[coordinate.name] = analysis.uncertainty.total[:, column] / mass_kg
    good = dynamics.residual_valid & np.isfinite(dynamics.residual_force[:, 0])
    if good.any():
        found.residual_n, found.residual_nm = (
            float(np.sqrt(np.mean(np.sum(part[good] ** 2, axis=1))))
            for part in (dynamics.residual_force, dynamics.residual_moment)
        )
    return found


def true_series(recording: RoughRecording) -> Series:
    """The true torques, Nm/kg."""
    truth = recording.truth
    coordinates = truth.body.model.coordinates
    mass_kg = truth.body.person.mass_kg
    return Series(
        {c.name: truth.tau[:, c.v_index] / mass_kg for c in coordinates if c.name.rpartition("_")[0] in TORQUES}
    )


def without_errors(recording: RoughRecording, model: SubjectModel, static: Path, folder: Path) -> Series:
    """What the same model says of the motion without noise, skin and errors of the plates, at the recording's frames."""
    clean = recording.clean()
    write_c3d(folder / "clean.c3d", clean, events=False)
    exact = analyse_trial(
        folder / "clean.c3d",
        static,
        settings={"signals": {"cutoff_hz": 0}},
        steps=steps_with(model),
        torques_only=True,
    )
    every = round(clean.options.rate_hz / recording.truth.options.rate_hz)
    found = series_of(exact, recording.truth.body.person.mass_kg)
    frames = len(recording.truth.time_s)
    return Series({name: values[::every][:frames] for name, values in found.torque.items()})


def steps_with(model: SubjectModel) -> tuple[Step, ...]:
    """The program's steps with a model that is given."""

    def given(trial: ScaledTrial) -> ScaledTrial:
        return replace(trial, model=replace(model, mass_kg=trial.model.mass_kg))

    return with_step(STEPS, "calibration", given)


def errors(found: Series, other: Series, known: Mapping[str, FloatArray]) -> dict[str, tuple[float, int]]:
    """Sum of squared differences and frames, by torque, over the frames `known` of each."""
    sums: dict[str, tuple[float, int]] = {}
    for torque in TORQUES:
        parts = [
            (found.torque[name] - other.torque[name])[known[name]]
            for side in SIDES
            if (name := f"{torque}_{side}") in known and name in found.torque and name in other.torque
        ]
        values = np.concatenate(parts) if parts else np.zeros(0)
        values = values[np.isfinite(values)]
        sums[torque] = (float(np.sum(values**2)), len(values))
    return sums


def peak_errors(recording: RoughRecording, found: Series, true: Series) -> dict[str, list[float]]:
    """Error of the early peaks of every measured stance as a share of the true one, where there is a true one."""
    rate = recording.truth.options.rate_hz
    rows: dict[str, list[float]] = {torque: [] for torque in PEAKS}
    for event in recording.truth.events:
        if event.kind != "foot_strike":
            continue
        first = int(np.ceil(event.time_s * rate))
        here = slice(first, first + round(EARLY_S * rate))
        if here.stop > len(recording.truth.time_s):
            continue
        for torque, sign in PEAKS.items():
            name = f"{torque}_{event.side}"
            if name not in found.torque or not np.isfinite(found.torque[name][here]).all():
                continue
            peak = float((sign * true.torque[name][here]).max())
            if peak > 0.1:
                rows[torque].append(float((sign * found.torque[name][here]).max()) / peak - 1.0)
    return rows


@dataclass
class Tally:
    """Sums over the recordings of a class, by method."""

    total: dict[str, dict[str, list[tuple[float, int]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    smoothing: dict[str, dict[str, list[tuple[float, int]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    peaks: dict[str, dict[str, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    inside: dict[str, dict[str, list[tuple[float, int]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    covered: dict[str, Rows] = field(default_factory=lambda: defaultdict(dict))
    powers: dict[str, Rows] = field(default_factory=lambda: defaultdict(dict))
    residual: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failed: list[str] = field(default_factory=list)
    people: int = 0


def measure(name: str, seed: int, methods: Sequence[str], sweep: Sequence[str], bands: bool, tally: Tally) -> None:
    """Make one recording, analyse it with every method, and add the errors to the tally."""
    recording = rough_recording(name, seed)
    true = true_series(recording)
    mass_kg = recording.truth.body.person.mass_kg
    found: dict[str, Series] = {}
    exact: Series | None = None
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        walk, static = recording.write(folder)
        files = read_files(walk, static)
        steps = STEPS
        for method in dict.fromkeys((*methods, *sweep)):
            own = method in methods
            settings: dict[str, Any] = {"signals": settings_of(method)}
            if bands and own:
                settings["uncertainty"] = {"compute": True}
            watch = Stopwatch()
            try:
                # hindsight changes the filter alone: the model is the one of 6 Hz
                analysis = analyse_trial(
                    walk,
                    static,
                    settings=settings,
                    files=files,
                    steps=STEPS if own else steps,
                    torques_only=not (bands and own),
                )
            except BiodynError as error:
                tally.failed.append(f"{name} {seed} {method}: {error.message}")
                continue
            tally.seconds[method].append(watch.seconds)
            found[method] = series_of(analysis, mass_kg)
            if bands and own:
                add_covered(tally.covered[method], analysis, recording.truth)
                add_powers(tally.powers[method], analysis, recording.truth)
            if exact is None:
                steps = steps_with(analysis.model)
                exact = without_errors(recording, analysis.model, static, folder)
    if exact is None:
        return
    known = common_frames(list(found.values()), true)
    for method, series in found.items():
        for torque, value in errors(series, true, known).items():
            tally.total[method][torque].append(value)
        for torque, value in errors(series, exact, known).items():
            tally.smoothing[method][torque].append(value)
        for torque, shares in peak_errors(recording, series, true).items():
            tally.peaks[method][torque] += shares
        tally.residual[method].append((series.residual_n, series.residual_nm))
        for key, sd in series.sd.items():
            frames = known[key] & np.isfinite(sd) if key in known else np.zeros(0, dtype=bool)
            if frames.any():
                inside = covered((series.torque[key] - true.torque[key])[frames], sd[frames])
                tally.inside[method][key.rpartition("_")[0]].append((float(inside.sum()), int(frames.sum())))
    for torque, value in errors(exact, true, known).items():
        tally.total["(model alone)"][torque].append(value)
    tally.people += 1


def common_frames(found: Sequence[Series], true: Series) -> dict[str, FloatArray]:
    """Frames (T,) in which every method has a torque, by torque and side."""
    names = set(true.torque).intersection(*(series.torque for series in found))
    return {name: np.all([np.isfinite(series.torque[name]) for series in found], axis=0) for name in sorted(names)}


def rms(sums: Sequence[tuple[float, int]]) -> float:
    """Root of a mean square from sums."""
    squares, frames = (sum(part) for part in zip(*sums, strict=True)) if sums else (0.0, 0)
    return float(np.sqrt(squares / frames)) if frames else float("nan")


def best_of(tally: Tally, sweep: Sequence[str], torque: str) -> tuple[float, str]:
    """The lowest error of a torque in the sweep, and with which cut-off."""
    return min((rms(tally.total[method][torque]), method) for method in sweep if method in tally.total)


def show(name: str, tally: Tally, methods: Sequence[str], sweep: Sequence[str], record: Record) -> dict[str, Any]:
    """Print the rows of a class; return them."""
    tell(f"\n{name}: {tally.people} people")
    heads = ["method", *TORQUES]
    if sweep:
        heads += ["best equal cut-off, Hz", "ratio to it"]
    heads += ["ratio to 6 Hz", "beside the model", "early hip / knee, % off", "in band, %", "residual N / Nm", "s"]
    table = Table(heads)
    rows: dict[str, Any] = {}
    best = {torque: best_of(tally, sweep, torque) for torque in TORQUES} if sweep else {}
    for method in (*methods, "(model alone)"):
        if method not in tally.total:
            continue
        error = {torque: rms(tally.total[method][torque]) for torque in TORQUES}
        base = {torque: rms(tally.total[BASE][torque]) if BASE in tally.total else float("nan") for torque in TORQUES}
        smoothing = {torque: rms(tally.smoothing[method][torque]) for torque in TORQUES}
        row: dict[str, Any] = {"error": error, "smoothing": smoothing, "people": tally.people}
        cells: list[str] = [method, *(f"{value:.3f}" for value in error.values())]
        if best:
            cells.append(" ".join(key.partition(":")[2] for _, key in best.values()))
            row["to_best"] = {torque: error[torque] / best[torque][0] for torque in TORQUES}
            cells.append(_ratios(row["to_best"]))
        row["to_base"] = {torque: error[torque] / base[torque] for torque in TORQUES}
        cells += [_ratios(row["to_base"]), " ".join(f"{value:.3f}" for value in smoothing.values())]
        off = {t: 100 * float(np.median(np.abs(v))) if v else float("nan") for t, v in tally.peaks[method].items()}
        row["early_percent"] = off
        cells.append(" / ".join(f"{off.get(torque, float('nan')):.0f}" for torque in PEAKS))
        inside = {t: 100 * sum(a for a, _ in v) / sum(b for _, b in v) for t, v in tally.inside[method].items() if v}
        row["inside_percent"] = inside
        cells.append(" ".join(f"{inside[torque]:.0f}" for torque in TORQUES if torque in inside))
        left = np.nanmean(tally.residual[method], axis=0) if tally.residual[method] else (np.nan, np.nan)
        row["residual"] = [float(left[0]), float(left[1])]
        cells.append(f"{left[0]:.1f} / {left[1]:.1f}")
        cells.append(f"{np.median(tally.seconds[method]):.1f}" if tally.seconds[method] else "")
        table.row(*cells)
        rows[method] = row
        for torque in TORQUES:
            record.add(f"{name}, {method}: {torque}", error[torque], "Nm/kg")
    if sweep:
        tell("sweep, RMS error Nm/kg (beside the model):")
        for torque in TORQUES:
            cells = [
                f"{m.partition(':')[2]}: {rms(tally.total[m][torque]):.3f} ({rms(tally.smoothing[m][torque]):.3f})"
                for m in sweep
                if m in tally.total
            ]
            tell(f"  {torque:14s} {', '.join(cells)}")
        rows["sweep"] = {
            m: {
                t: {
                    "error": rms(tally.total[m][t]),
                    "smoothing": rms(tally.smoothing[m][t]),
                    "early_percent": 100 * float(np.median(np.abs(tally.peaks[m][t]))) if tally.peaks[m][t] else None,
                }
                for t in TORQUES
            }
            for m in sweep
            if m in tally.total
        }
    for method, covered_rows in tally.covered.items() if name == _OVERALL else ():
        tell(f"\n{method}: true torque inside the 95 % band, every coordinate in all frames of its own")
        print_covered(covered_rows)
        print_covered(tally.powers[method], "joint power", "W")
    for line in tally.failed:
        tell(f"  failed: {line}")
    return rows


def _ratios(values: Mapping[str, float]) -> str:
    return " ".join(f"{value:.2f}" for value in values.values())


def overall(tallies: Mapping[str, Tally]) -> Tally:
    """All classes together: every class counts by its frames."""
    total = Tally()
    for tally in tallies.values():
        for mine, theirs in (
            (total.total, tally.total),
            (total.smoothing, tally.smoothing),
            (total.inside, tally.inside),
        ):
            for method, rows in theirs.items():
                for torque, sums in rows.items():
                    mine[method][torque] += sums
        for method, peaks in tally.peaks.items():
            for torque, shares in peaks.items():
                total.peaks[method][torque] += shares
        for method, left in tally.residual.items():
            total.residual[method] += left
            total.seconds[method] += tally.seconds[method]
        for mine, theirs in ((total.covered, tally.covered), (total.powers, tally.powers)):
            for method, covered_rows in theirs.items():
                for coordinate, found in covered_rows.items():
                    mine[method].setdefault(coordinate, []).extend(found)
        total.people += tally.people
    return total


def cases(names: Sequence[str], seeds: Sequence[int], every: bool) -> Iterator[tuple[str, int]]:
    """Yield class and seed: every seed in its own class, or in all of them; the classes take turns."""
    for seed in seeds:
        for name in names:
            if every or class_of(seed) == name:
                yield name, seed


def seeds_of(text: str) -> Sequence[int]:
    """Seeds of a group's name, or "a-b"."""
    groups = {"development": DEVELOPMENT_SEEDS, "held-out": HELD_OUT_SEEDS}
    if text in groups:
        return groups[text]
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__, only="")
    parser.add_argument("--method", nargs="+", default=[BASE], metavar="METHOD", help="what to hold against the truth")
    parser.add_argument("--seeds", default="held-out", help="development (0-39), held-out (200-239), or FIRST-LAST")
    parser.add_argument(
        "--every", action="store_true", help="every class with every seed, not each seed in its own class"
    )
    parser.add_argument("--no-sweep", action="store_true", help="leave out the cut-offs that hindsight chooses from")
    parser.add_argument("--bands", action="store_true", help="compute the bands too and tell what they hold")
    parser.add_argument("--out", type=Path, help="JSON file for all numbers")
    arguments = parser.parse_args()
    methods = list(dict.fromkeys([BASE, *arguments.method]))
    try:
        for method in methods:
            settings_from({"signals": settings_of(method)})
    except BiodynError as error:
        print(f"{method}: {error.message} {error.hint}", file=sys.stderr)
        sys.exit(2)
    sweep = [] if arguments.no_sweep else [f"butterworth:{hz}" for hz in SWEEP_HZ]
    names = [name for name in class_names() if arguments.only in name]
    record, watch = Record("rough_walks", vars(arguments)), Stopwatch()
    tallies = {name: Tally() for name in names}
    try:
        for name, seed in cases(names, seeds_of(arguments.seeds), arguments.every):
            measure(name, seed, methods, sweep, arguments.bands, tallies[name])
            print(f"{name} {seed}: {watch.seconds:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        tell("\nstopped: the tables hold the people that were done")
    numbers = {n: show(n, t, methods, sweep, record) for n, t in tallies.items() if t.people}
    numbers[_OVERALL] = show(_OVERALL, overall(tallies), methods, sweep, record)
    if arguments.out:
        arguments.out.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
