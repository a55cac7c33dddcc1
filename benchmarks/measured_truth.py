"""Results next to measured bones and implants: `python benchmarks/measured_truth.py [FOLDER]`.

Folder: truth of BIODYN_TEST_DATA. Few people were ever measured in this way; the tables name the number of people and strides.

- Knee flexion of a person with an instrumented right knee (dm_knee; Grand Challenge, Fregly et al. 2012, doi
  10.1002/jor.22023) next to one gait cycle by fluoroscopy. The cycle was recorded on a treadmill, the walks overground, so part
  of the difference is walking itself. RMS without the constant offset: by per cent of the cycle, and with the cycle
  rescaled so that the largest flexion coincides; and next to the published model DM.osim in the same walks.
- Errors of the plates in these walks: value of each walk in mm, per cent and degrees, and Q per degree of freedom. A plate error
  is the same in every walk (Q/dof near 1).
- Largest adduction moment of the knees of the same person against healthy adults (Bovi et al. 2011, doi
  10.1016/j.gaitpost.2010.08.009, walking slowly: 0.41 +- 0.13 Nm/kg).
- Bones (bone_pins; Cereatti et al. 2017, doi 10.1016/j.jbiomech.2017.02.004): pose of thigh and shank from their skin markers
  against the pose by pins (OTTAWA) or fluoroscopy (UNIMELB, NTU), without the constant offset, and the share of frames within
  the 95 % band that follows from the soft-tissue movement in uncertainty/magnitudes.toml. Flexion: of the knee, from both poses.
- Flexion axis of the knee by bones and by skin (SARA, Ehrig et al. 2007, doi 10.1016/j.jbiomech.2006.10.026), from the middle of
  the epicondyles, of the one person (OTTAWA) whose walk shows bones over more than 40 degrees of flexion.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Table, parser_of, per_cent, real_recordings, tell
from scipy.io import loadmat
from scipy.spatial.transform import Rotation

import biodyn
from biodyn.conventions import SIDES, FloatArray
from biodyn.geometry.points import rigid_fit
from biodyn.io.opensim.storage import read_storage
from biodyn.uncertainty.propagation_inputs import load_magnitudes

_WALKS = ("og1", "og3", "og4")
_FLEXION = (
    "knee_rot_r"  # the labels of the file are permuted: only this column has a range of 50 degrees; extension +, rad
)
_ADDUCTION_NM_KG, _ADDUCTION_SD_NM_KG = 0.41, 0.13
_NORMAL_95 = 1.96
_BONES = {"OTTAWA_walking": "R", "NTU_walking": "R", "UNIMELB_treadmillWalking": "L"}
_SEGMENTS = {"thigh": "femur", "shank": "tibia"}


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="default: truth of BIODYN_TEST_DATA")
    arguments = parser.parse_args()
    record, watch = Record("measured_truth", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore", RuntimeWarning)
    folder = arguments.folder or real_recordings() / "truth"
    results = {name: _walk(folder / "dm_knee", name) for name in _WALKS}
    _knee_flexion(folder / "dm_knee", results, record)
    _plates(results, record)
    _adduction(results, record)
    _bones(folder / "bone_pins", record)
    _flexion_axis(folder / "bone_pins", record)
    record.add("whole run", watch.seconds)
    record.close()


def _walk(folder: Path, name: str) -> biodyn.TrialResult:
    """Return the analysis of a walk of the person with the instrumented knee, with default settings."""
    return biodyn.run_trial(
        folder / f"DM_ngait_{name}_new.trc",
        static=folder / "DM_staticfor1.c3d",
        forces=folder / f"DM_ngait_{name}_external_loads.xml",
    )


def _knee_flexion(folder: Path, results: dict[str, biodyn.TrialResult], record: Record) -> None:
    fluoroscopy = -np.rad2deg(read_storage(folder / "Fluoroscopic_Gait_Data.sto").column(_FLEXION))
    percent = np.arange(len(fluoroscopy), dtype=float)
    tell("Right knee flexion, 1 person, degrees: RMS without the offset")
    table = Table(("walk", "strides", "fluoroscopy", "r", "largest flexion aligned", "r", "published model, same walk"))
    everything = defaultdict(list)
    for name, result in results.items():
        cycles = result.gait_cycles.query("side == 'r' and variable == 'knee_angle'")
        strides = [stride["value"].to_numpy() for _, stride in cycles.groupby("cycle")]
        columns = defaultdict(list)
        for stride in strides:
            peaks = [0.0, float(np.argmax(fluoroscopy)), 100.0], [0.0, float(np.nanargmax(stride)), 100.0]
            aligned = np.interp(np.interp(percent, *peaks), percent, stride)
            for what, curve in (("by per cent", stride), ("aligned", aligned)):
                known = np.isfinite(curve)
                columns[what].append(float(np.std((curve - fluoroscopy)[known])))
                columns[f"r, {what}"].append(float(np.corrcoef(curve[known], fluoroscopy[known])[0, 1]))
        columns["model"].append(_from_published_model(folder, name, result))
        means = {what: float(np.mean(values)) for what, values in columns.items()}
        decimals = {what: f"{value:.3f}" if what[0] == "r" else f"{value:.1f}" for what, value in means.items()}
        table.row(name, len(strides), *decimals.values())
        for what, values in columns.items():
            everything[what] += values
    for what, values in everything.items():
        record.add(f"knee flexion, {what}", float(np.mean(values)), "" if what[0] == "r" else "degrees")


def _from_published_model(folder: Path, name: str, result: biodyn.TrialResult) -> float:
    """Return the RMS difference in degrees, without the offset, of the knee flexion from that of DM.osim in the same walk."""
    theirs = biodyn.run_trial(
        folder / f"DM_ngait_{name}_new.trc",
        model=folder / "DM.osim",
        forces=folder / f"DM_ngait_{name}_external_loads.xml",
    ).joint_angles
    ours = result.joint_angles
    flexion = np.interp(theirs["time_s"], ours["time_s"], ours["knee_angle_r_deg"])
    return float(np.nanstd(flexion - theirs["knee_flex_r_deg"]))


def _plates(results: dict[str, biodyn.TrialResult], record: Record) -> None:
    tell()
    tell("Errors of the plates that each walk shows alone (+- standard deviation); not corrected")
    table = Table(("plate", "error", *results, "Q/dof"))
    plates = {name: result.record["estimate"]["plates"] for name, result in results.items()}
    kinds = {
        "shift x, mm": lambda plate: (10 * plate["shift_cm"]["x"], 10 * plate["shift_sd_cm"]["x"]),
        "shift z, mm": lambda plate: (10 * plate["shift_cm"]["z"], 10 * plate["shift_sd_cm"]["z"]),
        "gain, %": lambda plate: (plate["gain_percent"], plate["gain_sd_percent"]),
        "turn, degrees": lambda plate: (plate["turn_deg"], plate["turn_sd_deg"]),
    }
    for number in sorted({plate["plate"] for walk in plates.values() for plate in walk}):
        for kind, of in kinds.items():
            values = {name: of(plate) for name, walk in plates.items() for plate in walk if plate["plate"] == number}
            value, sd = np.array(list(values.values())).T
            mean = np.sum(value / sd**2) / np.sum(1.0 / sd**2)
            scatter = float(np.sum(((value - mean) / sd) ** 2)) / max(len(value) - 1, 1)
            cells = [f"{values[name][0]:+.1f} +- {values[name][1]:.1f}" if name in values else "" for name in results]
            table.row(number, kind, *cells, f"{scatter:.1f}")
            record.add(f"plate {number}, {kind.partition(',')[0]}: Q/dof", scatter, "")


def _adduction(results: dict[str, biodyn.TrialResult], record: Record) -> None:
    tell()
    adults = f"healthy adults {_ADDUCTION_NM_KG:.2f} +- {_ADDUCTION_SD_NM_KG:.2f}"
    tell(f"Largest external adduction moment of the knee, 1 person, Nm/kg; {adults}")
    table = Table(("side", "strides", "mean", "smallest", "largest", "mean in SD of healthy adults"))
    for side in SIDES:
        peaks = []
        for result in results.values():
            cycles = result.gait_cycles.query(f"side == '{side}' and variable == 'knee_jcs_moment_x'")
            for _, stride in cycles.groupby("cycle"):
                moment = -stride["value"].to_numpy()[:60]  # stance; the table holds the internal moment, adduction +
                if np.isfinite(moment).mean() > 0.9:  # stances on plates
                    peaks.append(float(np.nanmax(moment)))
        off = (float(np.mean(peaks)) - _ADDUCTION_NM_KG) / _ADDUCTION_SD_NM_KG
        table.row(side, len(peaks), f"{np.mean(peaks):.2f}", f"{min(peaks):.2f}", f"{max(peaks):.2f}", f"{off:+.1f}")
        record.add(f"knee adduction moment, {side}", float(np.mean(peaks)), "Nm/kg")


def _bones(folder: Path, record: Record) -> None:
    magnitudes = load_magnitudes()
    moving = float(np.sqrt(1.0 - magnitudes.shares[0]))  # the constant part is an offset
    tell()
    tell("Poses from skin markers against bones, RMS without the offset; in band: share of frames within 95 % bands")
    table = Table(("person", "segment", "frames", "turn, degrees (x, y, z)", "position, mm (x, y, z)", "in band, %"))
    inside = defaultdict(list)
    for name, side in _BONES.items():
        content = loadmat(folder / f"{name}.mat", squeeze_me=True, struct_as_record=False)
        trial = content[f"dataSample_{name}"].subj01.trial01
        flexion = []
        for segment, body in _SEGMENTS.items():
            markers = getattr(trial, f"{side}_{segment}").mrk
            p_BM = 1e-3 * np.stack([getattr(markers, label) for label in markers._fieldnames], axis=1)
            error, sd = _pose_error(p_BM, moving * magnitudes.soft_tissue_m[f"{body}_{side.lower()}"])
            known = np.isfinite(error).all(axis=1)
            within = np.abs(error[known]) <= _NORMAL_95 * sd
            rms = np.sqrt(np.mean(error[known] ** 2, axis=0))
            cells = [", ".join(f"{v:.1f}" for v in part) for part in (np.rad2deg(rms[:3]), 1e3 * rms[3:])]
            table.row(name, segment, int(known.sum()), *cells, f"{100 * within.mean():.0f}")
            inside[segment] += within.ravel().tolist()
            flexion.append((error[:, 2], sd[2]))
        (thigh, thigh_sd), (shank, shank_sd) = flexion
        off = (shank - thigh)[np.isfinite(shank - thigh)]
        within = np.abs(off - off.mean()) <= _NORMAL_95 * np.hypot(thigh_sd, shank_sd)
        table.row(name, "knee flexion", len(off), f"{np.rad2deg(off.std()):.1f}", "", f"{100 * within.mean():.0f}")
        record.add(f"{name}: knee flexion, RMS", float(np.rad2deg(off.std())), "degrees")
        inside["knee flexion"] += within.tolist()
    for what, values in inside.items():
        record.add(f"bones in band, {what}", per_cent(sum(values), len(values)), "%")


def _flexion_axis(folder: Path, record: Record) -> None:
    trial = loadmat(folder / "OTTAWA_walking.mat", squeeze_me=True, struct_as_record=False)["dataSample_OTTAWA_walking"]
    bones, skins = [], []
    for segment in _SEGMENTS:
        part = getattr(trial.subj01.trial01, f"R_{segment}")
        bone = part.gRa.reshape(-1, 3, 3), 1e-3 * part.gta
        p_BM = 1e-3 * np.stack([getattr(part.mrk, label) for label in part.mrk._fieldnames], axis=1)
        R, p = rigid_fit(p_BM.mean(axis=0), p_BM)
        bones.append(bone)
        skins.append((bone[0] @ R, bone[1] + np.einsum("tij,tj->ti", bone[0], p)))
    tell()
    tell("Flexion axis of the knee from the middle of the epicondyles, 1 person, mm (forward, up)")
    table = Table(("by", "forward", "up", "distance of its lines, mm"))
    for what, poses in (("bones", bones), ("skin markers", skins)):
        offset, apart = _axis(*poses)
        table.row(what, *(f"{1e3 * value:+.0f}" for value in (*offset[:2], apart)))
        record.add(f"flexion axis by {what}: distance from the epicondyles", 1e3 * float(np.linalg.norm(offset)), "mm")


def _axis(thigh: tuple[FloatArray, FloatArray], shank: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, float]:
    """Return the vector (3,) m from the thigh's origin to the axis, perpendicular to it, and the RMS distance of its lines."""
    (R_a, p_a), (R_b, p_b) = thigh, shank
    R, p = R_a.swapaxes(1, 2) @ R_b, np.einsum("tji,tj->ti", R_a, p_b - p_a)
    A = np.concatenate([np.broadcast_to(np.eye(3), R.shape), -R], axis=2).reshape(-1, 6)
    U, size, V = np.linalg.svd(A, full_matrices=False)
    points = V[:5].T @ ((U.T @ p.ravel())[:5] / size[:5])
    along = V[5, :3] / np.linalg.norm(V[5, :3])
    apart = (A @ points - p.ravel()).reshape(-1, 3)
    return points[:3] - along * (points[:3] @ along), float(np.sqrt(np.mean(np.sum(apart**2, axis=1))))


def _pose_error(p_BM: FloatArray, sd_m: float) -> tuple[FloatArray, FloatArray]:
    """Return the error (T, 6) rad, m of the pose by markers (T, M, 3) m in bone axes, mean 0, and its standard deviation (6,).

    sd_m: of each marker along each axis; the standard deviation is that of the least-squares pose.
    """
    place = np.nanmean(p_BM, axis=0)
    error = np.full((len(p_BM), 6), np.nan)
    known = np.isfinite(p_BM).all(axis=(1, 2))
    error[known] = _pose(place, p_BM[known])
    step_m = 1e-5  # small compared with the markers' distances
    moved = place + step_m * np.eye(place.size).reshape(-1, *place.shape)
    sensitivity = _pose(place, moved) / step_m
    return error - np.nanmean(error, axis=0), sd_m * np.sqrt(np.sum(sensitivity**2, axis=0))


def _pose(p_B: FloatArray, p_W: FloatArray) -> FloatArray:
    """Return rotation vector and position (T, 6) of the least-squares pose."""
    R, p = rigid_fit(p_B, p_W)
    return np.concatenate([Rotation.from_matrix(R).as_rotvec(), p], axis=1)


if __name__ == "__main__":
    main()
