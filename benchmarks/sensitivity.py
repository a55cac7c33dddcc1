"""Do published sensitivities come back? `python benchmarks/sensitivity.py`

Centre of pressure 5 and 10 mm forward: about 7 and 14 % of the peak torques (McCaw & DeVita 1995, J Biomech 28:985-988). Hip
centre 30 mm forward: about -22 % of the hip flexion moment; 30 mm outward: about -15 % of the hip abduction moment (Stagni et
al. 2000, J Biomech 33:1479-1487). Numbers of the abstracts, recalled. Then all factors of `biodyn run --vary`, timed.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from uncertainty import solver_of

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDE_SIGN, FloatArray
from biodyn.model.moved_centre import with_misplaced_centre
from biodyn.model.subject import SubjectModel
from biodyn.processing.dynamics import solve_dynamics
from biodyn.variation import FACTORS, vary_trial
from biodyn.workflow import analyse_trial

_SAMPLES = sorted((Path(__file__).parents[1] / "sample_data").glob("*/walk*.c3d"))


def shifted_pressure(analysis: TrialAnalysis, shift_m: float) -> FloatArray:
    """Torques (T, C) with the ground reaction of both feet moved forward."""
    wrench = {}
    for side, values in analysis.reaction.wrench.items():
        moved = values.copy()
        moved[:, :3] += np.cross((shift_m, 0.0, 0.0), values[:, 3:])
        wrench[side] = moved
    return solve_dynamics(analysis.fit, replace(analysis.reaction, wrench=wrench)).torques


def shifted_hips(analysis: TrialAnalysis, forward_m: float, outward_m: float) -> FloatArray:
    """Torques (T, C) with both hip centres believed elsewhere: model, fit and inverse dynamics anew."""
    assert analysis.propagation is not None
    model: SubjectModel = analysis.model
    for body in analysis.model.moving:
        side = body.definition.side
        if body.definition.parent == model.skeleton.root.name and side:
            shift = np.array([forward_m, 0.0, SIDE_SIGN[side] * outward_m])
            model = with_misplaced_centre(model, body.definition.name, shift)
    fit = solver_of(analysis)(model, analysis.propagation.markers)
    return solve_dynamics(fit, analysis.reaction).torques


def change_of_peak(base: FloatArray, changed: FloatArray) -> float:
    """Change at the base's largest magnitude as per cent of it."""
    known = np.isfinite(base) & np.isfinite(changed)
    at = int(np.argmax(np.where(known, np.abs(base), 0.0)))
    return 100.0 * float(np.sign(base[at]) * (changed[at] - base[at]) / np.abs(base[at]))


def main() -> None:
    """Print all comparisons."""
    legs: dict[float, list[float]] = {0.005: [], 0.01: []}
    hips: dict[str, list[list[tuple[float, float, float]]]] = {"forward": [], "outward": []}
    for path in _SAMPLES:
        analysis = analyse_trial(path)
        base = analysis.dynamics.torques
        columns = {coordinate.name: i for i, coordinate in enumerate(analysis.model.coordinates)}
        for shift, found in legs.items():
            moved = [shifted_pressure(analysis, sign * shift) for sign in (1.0, -1.0)]
            for coordinate in analysis.model.coordinates:
                if not coordinate.side:
                    continue
                column = columns[coordinate.name]
                change = np.nanmax(np.abs(moved[0][:, column] - base[:, column]))
                definition = analysis.model.skeleton.body(coordinate.body)
                if change > 0.1 and definition.rotations[0].coordinate == coordinate.name:
                    found.append(float(np.mean([abs(change_of_peak(base[:, column], m[:, column])) for m in moved])))
        for name, forward, outward in (("forward", 0.03, 0.0), ("outward", 0.0, 0.03)):
            moved_hips = shifted_hips(analysis, forward, outward)
            root = analysis.model.skeleton.root.name
            for body in analysis.model.moving:
                if body.definition.parent == root and body.definition.side:
                    names = [step.coordinate for step in body.definition.rotations[:2]]
                    hips[name].append([_errors(base[:, columns[n]], moved_hips[:, columns[n]]) for n in names])
    for shift, found in legs.items():
        print(
            f"centre of pressure {1000 * shift:.0f} mm: {np.mean(found):.1f} % of the peak, mean of hip, knee, ankle",
            end="",
        )
        print(f" (published about {7 if shift < 0.006 else 14} %)")
    print(
        "hip centre 30 mm off: mean change, per cent of the range and of the peak; largest change, per cent of the peak"
    )
    forward, outward = np.mean(hips["forward"], axis=0), np.mean(hips["outward"], axis=0)
    for name, row, published in (("forward, flexion", forward[0], -22), ("outward, adduction", outward[1], -15)):
        print(f"  {name:20s} {row[0]:+6.1f} {row[1]:+6.1f} {row[2]:+6.1f}   published about {published}")
    start = time.perf_counter()
    result = vary_trial(_SAMPLES[0], tuple(FACTORS))
    seconds = time.perf_counter() - start
    print(f"--vary {','.join(FACTORS)}: {len(result.analysis.variations)} analyses in {seconds:.1f} s")
    summary = result.sensitivity_summary
    for (factor, level), block in summary.groupby(["factor", "level"], sort=False):
        worst = block.loc[block["rms_change"].idxmax()]
        print(f"  {factor:16s} {level:22s} most: {worst['variable']:26s} rms {worst['rms_change']:.3f} Nm/kg")


def _errors(base: FloatArray, changed: FloatArray) -> tuple[float, float, float]:
    """Mean change along the coordinate as per cent of the range and of the peak, and the largest as per cent of the peak."""
    known = np.isfinite(base) & np.isfinite(changed)
    difference, own = changed[known] - base[known], base[known]
    largest = difference[np.argmax(np.abs(difference))]
    size = np.abs(own).max()
    return (
        100.0 * float(difference.mean() / np.ptp(own)),
        100.0 * float(difference.mean() / size),
        100.0 * float(largest / size),
    )


if __name__ == "__main__":
    main()
