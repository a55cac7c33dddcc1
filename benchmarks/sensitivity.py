"""Do published sensitivities come back? `python benchmarks/sensitivity.py [FOLDER_WITH_C3D ...]`

Sample data, and every walk below the folders. McCaw & DeVita 1995 (J Biomech 28:985-988): centre of pressure 5 and 10 mm forward
and backward, eight people walking and running, sagittal plane: on average 7 and 14 % of the largest torques and of the angular
impulses of hip, knee and ankle, flexor and extensor. Stagni et al. 2000 (J Biomech 33:1479-1487): hip centre off by 30 mm, five
people walking: about -22 % of the flexion moment (anterior), -15 % of the abduction moment (lateral). What the per cents are of,
the abstract does not say. Torques are those of the filtered motion. Then all factors of `biodyn run --vary`, timed.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, ask, sample_walks, walks_below
from simulator.repeated_errors import (
    LobeChange,
    lobe_changes,
    mean_changes,
    moved_moment,
    stride_mean,
    with_shifted_hips,
    with_shifted_pressure,
)

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDE_SIGN, BoolArray, FloatArray
from biodyn.errors import BiodynError
from biodyn.processing.dynamics.inverse_dynamics import JointLoad, solve_dynamics
from biodyn.trial.run import analyse_trial
from biodyn.trial.sensitivity import FACTORS, vary_trial

_LEAST_NM_KG = 0.1  # smaller lobes are not called a peak
_LEAST_STANCE = 40  # frames of measured stance, else a side is left out
_STANCE_SHARE = 0.62  # of a stride
_HIP_SHIFT_M = 0.03
# A skeleton that is fitted anew follows the filtered markers, and is held against what followed the same ones.
_FILTERED = {"signals": {"method": "butterworth"}}


def stance_of(analysis: TrialAnalysis, side: str) -> BoolArray:
    """Frames in which a plate carries the foot."""
    vertical = np.nan_to_num(analysis.reaction.wrench[side][:, 4])
    return np.asarray(vertical > analysis.settings.contacts.threshold_n)


def legs(analysis: TrialAnalysis) -> list[tuple[str, str, str, BoolArray]]:
    """Flexion of every leg joint with enough measured stance: joint, side, coordinate, stance."""
    found = []
    skeleton = analysis.model.skeleton
    carried = {}
    for side, name in analysis.model.sole_body.items():
        while name != skeleton.root.name:
            carried[name] = side
            name = skeleton.body(name).parent
    for body in analysis.model.moving_segments:
        side = carried.get(body.definition.name)
        # the joints of the chain that bend in the sagittal plane turn first about the transverse axis
        if side is None or abs(body.definition.rotations[0].axis[2]) < 0.9:
            continue
        stance = stance_of(analysis, side)
        if stance.sum() >= _LEAST_STANCE:
            coordinate = str(body.definition.rotations[0].coordinate)
            found.append((body.definition.joint.removesuffix(f"_{side}"), side, coordinate, stance))
    return found


def centre_of_pressure(analyses: list[TrialAnalysis], title: str, record: Record) -> None:
    """McCaw & DeVita's table: one row per shift, and whether the smaller direction of a curve counts too."""
    print(
        "\nCentre of pressure: change of the largest torque / of the angular impulse in stance, per cent (published 7 and 14)"
    )
    for shift_mm in (5.0, -5.0, 10.0, -10.0):
        both: dict[str, list[LobeChange]] = defaultdict(list)
        larger: dict[str, list[LobeChange]] = defaultdict(list)
        for analysis in analyses:
            moved = solve_dynamics(
                analysis.fit, with_shifted_pressure(analysis.reaction, np.array([1e-3 * shift_mm, 0.0, 0.0]))
            )
            names = [coordinate.name for coordinate in analysis.model.coordinates]
            least = _LEAST_NM_KG * analysis.subject.mass_kg
            for joint, _, coordinate, stance in legs(analysis):
                column = names.index(coordinate)
                found = lobe_changes(analysis.dynamics.torques[:, column], moved.torques[:, column], stance, least)
                both[joint] += found
                if found:  # else the curve has no peak
                    larger[joint].append(max(found, key=lambda change: abs(change.peak_nm)))
        for kind, parts in (("larger direction", larger), ("both directions", both)):
            parts["all"] = [change for found in parts.values() for change in found]
            changes = mean_changes(parts)
            cells = "   ".join(f"{name} {p:4.1f} / {i:4.1f}" for name, (p, i) in changes.items())
            if kind == "larger direction" and "all" in changes:
                record.add(f"{title}, centre of pressure {shift_mm:+.0f} mm: torques", changes["all"][0], "%")
            print(f"  {shift_mm:+4.0f} mm forward, {kind:16s} {cells}")


def hips(analysis: TrialAnalysis) -> list[tuple[str, JointLoad]]:
    """Loads of the joints between the root and the legs with enough measured stance, with their side."""
    names = {
        body.definition.joint
        for body in analysis.model.moving_segments
        if body.definition.side and body.definition.parent == analysis.model.skeleton.root.name
    }
    return [
        (load.side, load)
        for load in analysis.dynamics.joints
        if load.side and f"{load.joint}_{load.side}" in names and stance_of(analysis, load.side).sum() >= _LEAST_STANCE
    ]


def hip_centre(analyses: list[TrialAnalysis], title: str, record: Record) -> None:
    """Stagni et al.'s table: by moving the point about which the moment is taken, and by fitting the skeleton anew."""
    rows: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    for analysis in analyses:
        for name, forward, outward, axis in (
            ("anterior -> flexion", _HIP_SHIFT_M, 0.0, 2),
            ("posterior -> flexion", -_HIP_SHIFT_M, 0.0, 2),
            ("lateral -> adduction", 0.0, _HIP_SHIFT_M, 0),
            ("medial -> adduction", 0.0, -_HIP_SHIFT_M, 0),
        ):
            model = with_shifted_hips(analysis.model, forward, outward)
            assert analysis.propagation is not None
            refitted = solve_dynamics(
                analysis.propagation.refit(model, analysis.propagation.markers), analysis.reaction
            )
            again = {(load.joint, load.side): load for load in refitted.joints}
            for side, load in hips(analysis):
                stance = stance_of(analysis, side)
                sign = SIDE_SIGN[side] if axis == 0 else 1.0  # adduction of the left leg turns the other way
                shift = np.array([forward, 0.0, SIDE_SIGN[side] * outward])
                own = sign * load.moment["proximal"][:, axis]
                moved = sign * moved_moment(load.moment["proximal"], load.force["proximal"], shift)[:, axis]
                fitted = sign * again[load.joint, side].moment["proximal"][:, axis]
                for kind, other in (("the moment's point moved", moved), ("skeleton fitted anew", fitted)):
                    rows[kind, name].append(_changes(own, other, stance))
    print(f"\nHip centre {1000 * _HIP_SHIFT_M:.0f} mm off (published: anterior about -22 %, lateral about -15 %)")
    print("  change as per cent, mean over people: of the largest moment, stride mean | range, stride mean |")
    print(
        "  largest moment, stance mean | range, stance mean | at the largest moment, of itself; change in stance, Nm/kg x mass"
    )
    for (kind, name), found in rows.items():
        mean = np.nanmean(found, axis=0)
        cells = " | ".join(f"{value:+6.1f}" for value in mean[:5])
        print(f"  {kind:25s} {name:22s} {cells}   {mean[5]:+6.1f} Nm of {mean[6]:5.1f} Nm, n = {len(found)}")
        record.add(f"{title}, hip centre {name}, {kind}", mean[0], "% of the largest moment")


def _changes(base: FloatArray, changed: FloatArray, stance: BoolArray) -> tuple[float, ...]:
    known = np.isfinite(base) & np.isfinite(changed)
    difference = np.where(known, changed - base, np.nan)
    size, reach = float(np.nanmax(np.abs(base[known]))), float(np.ptp(base[known]))
    stride = stride_mean(difference, stance, _STANCE_SHARE)
    standing = float(np.nanmean(difference[stance]))
    at = int(np.nanargmax(np.where(known, np.abs(base), np.nan)))
    own = float(np.sign(base[at]) * difference[at])
    return (
        100 * stride / size,
        100 * stride / reach,
        100 * standing / size,
        100 * standing / reach,
        100 * own / size,
        standing,
        size,
    )


def variations(record: Record) -> None:
    """All factors of `biodyn run --vary`."""
    watch = Stopwatch()
    result = vary_trial(sample_walks()[0], tuple(FACTORS))
    seconds = watch.seconds
    record.add("all factors of --vary", seconds)
    print(f"\n--vary {','.join(FACTORS)}: {len(result.analysis.variations)} analyses in {seconds:.1f} s")
    for (factor, level), block in result.sensitivity_summary.groupby(["factor", "level"], sort=False):
        worst = block.loc[block["rms_change"].idxmax()]
        print(f"  {factor:16s} {level:22s} most: {worst['variable']:26s} rms {worst['rms_change']:.3f} Nm/kg")


def main() -> None:
    """Print all comparisons."""
    arguments = ask(__doc__, folders=True)
    record = Record("sensitivity", vars(arguments))
    for title, walks in (("Sample data", sample_walks()), ("Recordings", walks_below(*arguments.folders))):
        analyses = [found for found in map(_analysed, walks) if found is not None and legs(found)]
        if analyses:
            print(f"\n{title}: {len(analyses)} walks")
            centre_of_pressure(analyses, title, record)
            hip_centre(analyses, title, record)
    variations(record)
    record.close()


def _analysed(path: Path) -> TrialAnalysis | None:
    try:
        return analyse_trial(path, settings=_FILTERED, torques_only=True)
    except BiodynError as error:
        print(f"{path.name} left out: {error}")
        return None


if __name__ == "__main__":
    main()
