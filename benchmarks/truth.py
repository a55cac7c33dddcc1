"""How well the whole pipeline recovers torques that are known: `python benchmarks/truth.py`.

A simulated laboratory records a simulated walk; biodyn analyses the files; the torques are compared with the true ones in
every frame that biodyn calls valid. Noise-free files tell about errors of the program, the others about the method.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.simulation import Person, SimulatedTrial, TrialOptions, session, write_c3d
from biodyn.workflow import analyse_trial

PERSON = Person("Truth", height_m=1.78, mass_kg=74.0, sex="male")
CLEAN = TrialOptions(forward="-x")
NOISY = replace(CLEAN, noise_mm=1.0, soft_tissue=1.0, gaps=6, force_noise_n=0.7, force_offset_n=2.0)
# The joints whose sagittal torque the literature reports: first free rotation of these joints of the leg.
LEG_JOINTS = ("hip", "knee", "ankle")


@dataclass(frozen=True)
class Comparison:
    """Errors of one analysed trial; a row per coordinate.

    Attributes:
        names, joints: of the coordinates. peak: largest true torque, Nm. worst, rms: of the error in valid frames, Nm.
        angle_rms_deg: of the coordinate. frames: valid ones.
        residual_n, residual_nm: largest base residual. mass_kg: of the subject.
        marker_rms_mm: of the fit.
    """

    names: tuple[str, ...]
    joints: tuple[str, ...]
    sagittal: tuple[bool, ...]
    peak: FloatArray
    worst: FloatArray
    rms: FloatArray
    angle_rms_deg: FloatArray
    frames: FloatArray
    residual_n: float
    residual_nm: float
    mass_kg: float
    marker_rms_mm: float


def compare(found: TrialAnalysis, truth: SimulatedTrial) -> Comparison:
    """Compare an analysis with the truth, coordinate by coordinate (of those both have)."""
    true_model = truth.body.model
    true_of = {c.name: c for c in true_model.coordinates}
    rows = []
    for column, coordinate in enumerate(found.model.coordinates):
        true = true_of.get(coordinate.name)
        if true is None:
            continue
        valid = found.dynamics.torque_valid[:, column] & np.isfinite(found.dynamics.torques[:, column])
        tau = truth.tau[:, true.v_index]
        error = (found.dynamics.torques[:, column] - tau)[valid]
        turned = np.degrees(found.fit.motion.q[:, coordinate.q_index] - truth.q[:, true.q_index])[valid]
        sagittal = coordinate.name == true_model.skeleton.body(coordinate.body).rotations[0].coordinate
        joint = coordinate.joint.removesuffix(f"_{coordinate.side}")
        rows.append(
            (
                coordinate.name,
                joint,
                sagittal,
                np.abs(tau[valid]).max(),
                np.abs(error).max(),
                np.sqrt(np.mean(error**2)),
                np.sqrt(np.mean(turned**2)),
                valid.sum(),
            )
        )
    names, joints, sagittal, peak, worst, rms, angle, frames = zip(*rows, strict=True)
    good = found.dynamics.residual_valid
    force, moment = found.dynamics.residual_force[good], found.dynamics.residual_moment[good]
    return Comparison(
        names,
        joints,
        sagittal,
        *(np.array(values, dtype=float) for values in (peak, worst, rms, angle, frames)),
        residual_n=float(np.linalg.norm(force, axis=1).max()) if good.any() else float("nan"),
        residual_nm=float(np.linalg.norm(moment, axis=1).max()) if good.any() else float("nan"),
        mass_kg=truth.body.person.mass_kg,
        marker_rms_mm=float(1e3 * np.sqrt(np.nanmean(found.fit.marker_error**2))),
    )


def measure(person: Person, options: TrialOptions, cutoff_hz: float, folder: Path) -> Comparison:
    """Simulate a session, analyse its files with a cut-off (0 = no filter) and compare."""
    static, walk = session(person, options)
    write_c3d(folder / "static.c3d", static)
    write_c3d(folder / "walk.c3d", walk)
    settings = {"signals": {"cutoff_hz": cutoff_hz}}
    return compare(analyse_trial(folder / "walk.c3d", folder / "static.c3d", settings=settings), walk)


def show(title: str, result: Comparison) -> None:
    """Print one table."""
    print(
        f"\n{title}: {result.frames.max():.0f} valid frames, marker error {result.marker_rms_mm:.3f} mm rms, base residual "
        f"<= {result.residual_n:.2f} N, {result.residual_nm:.2f} Nm "
        f"({100 * result.residual_n / (result.mass_kg * STANDARD_GRAVITY_M_S2):.2f} % of body weight)"
    )
    print(
        f"{'coordinate':20s} {'peak Nm':>9s} {'worst Nm':>9s} {'% of peak':>9s} {'rms Nm/kg':>10s} {'angle deg':>10s}"
    )
    for i, name in enumerate(result.names):
        print(
            f"{name:20s} {result.peak[i]:9.3f} {result.worst[i]:9.4f} {100 * result.worst[i] / result.peak[i]:9.3f} "
            f"{result.rms[i] / result.mass_kg:10.4f} {result.angle_rms_deg[i]:10.4f}"
        )
    share = 100 * result.worst / result.peak
    print(f"worst of all: {share.max():.3f} % of peak ({result.names[int(share.argmax())]})")
    for joint in LEG_JOINTS:
        rows = [i for i, name in enumerate(result.joints) if name == joint and result.sagittal[i]]
        values = ", ".join(f"{result.names[i]} {result.rms[i] / result.mass_kg:.4f}" for i in rows)
        print(f"sagittal {joint}: rms error Nm/kg {values}")


def main() -> None:
    """Print the table for noise-free and for realistic files, without filter and with 6 Hz."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--marker-set", default="plug_in_gait_full")
    parser.add_argument("--seeds", type=int, default=1, help="realistic trials with different skin and noise")
    arguments = parser.parse_args()
    skeleton = "full_body" if arguments.marker_set.endswith("full") else "lower_limb"
    person = replace(PERSON, marker_set=arguments.marker_set, skeleton=skeleton)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        show("noise-free, no filter", measure(person, CLEAN, 0.0, folder))
        show("noise-free, 6 Hz", measure(person, CLEAN, 6.0, folder))
        for seed in range(1, arguments.seeds + 1):
            options = replace(NOISY, seed=seed)
            show(f"1 mm noise, soft tissue, gaps; seed {seed}; 6 Hz", measure(person, options, 6.0, folder))


if __name__ == "__main__":
    main()
