"""Tables with one row per frame: angles, torques, moments, powers, ground reaction, marker errors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import AXES, SIDES, FloatArray, Side, with_side
from biodyn.library.pose_systems import find_pose_system
from biodyn.model.pose_axes import joint_angles_of_poses
from biodyn.output.tables.registry import table
from biodyn.processing.dynamics.inverse_dynamics import FRAMES
from biodyn.processing.dynamics.opensim_inverse_dynamics import ModelMotion
from biodyn.processing.signals.filtering import finite_rms

_QUANTITY_UNITS = {"moment": "Nm", "force": "N"}


@table(
    "joint_angles",
    place=10,
    description="Time series of base angles (deg), base position (m) and all coordinates (deg).",
)
def joint_angles_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return base angles, deg, base position in World, m, and every free coordinate, deg; NaN if unsolved.

    For an imported model: its coordinates in its order and signs, deg and m.
    """
    model, fit, imported = analysis.model, analysis.fit, _imported_motion(analysis)
    if imported is not None:
        return pd.DataFrame(_imported_columns(analysis.time_s, imported, imported.q, ("_deg", "_m"), np.degrees(1.0)))
    root = model.skeleton.root
    _, p_WB = fit.body_pose(root.name)
    columns: dict[str, FloatArray] = {"time_s": analysis.time_s}
    for i, name in enumerate(root.base_rotations):
        columns[f"{name}_deg"] = np.rad2deg(analysis.base_angles[:, i])
    for i, name in enumerate(root.base_translations):
        columns[f"{name}_m"] = p_WB[:, i]
    for coordinate in model.coordinates:
        columns[f"{coordinate.name}_deg"] = np.rad2deg(fit.motion.q[:, coordinate.q_index])
    return pd.DataFrame(columns)


@table(
    "joint_torques",
    place=20,
    description="Torque of every coordinate (Nm) and base residual over time, with reasons for missing values.",
)
def joint_torques_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return the generalised torque of every free coordinate, Nm, positive if it accelerates the coordinate in positive
    direction.

    The residual acts on the root, in World axes, with the moment about the origin of the root. `reason`: reason for missing
    values in a frame. For an imported model: torques of its coordinates in its order, Nm and N, including the joint to ground,
    in all frames with loads, also if `reason` reports missing loads.
    """
    dynamics, imported = analysis.dynamics, _imported_motion(analysis)
    columns: dict[str, object] = {"time_s": analysis.time_s}
    if imported is not None:
        columns |= _imported_columns(analysis.time_s, imported, imported.tau, ("_Nm", "_N"), 1.0)
    for i, coordinate in enumerate(analysis.model.coordinates if imported is None else ()):
        columns[f"{coordinate.name}_Nm"] = dynamics.torques[:, i]
    for i, axis in enumerate(AXES):
        columns[f"residual_f{axis}_N"] = dynamics.residual_force[:, i]
    for i, axis in enumerate(AXES):
        columns[f"residual_m{axis}_Nm"] = dynamics.residual_moment[:, i]
    columns["reason"] = pd.Categorical(dynamics.reason)
    return pd.DataFrame(columns)


def _imported_motion(analysis: TrialAnalysis) -> ModelMotion | None:
    return None if analysis.imported is None else analysis.imported.motion


def _imported_columns(
    time_s: FloatArray, motion: ModelMotion, values: FloatArray, units: tuple[str, str], factor: float
) -> dict[str, FloatArray]:
    """Return columns of all coordinates of an imported model; `units`: of rotations and translations, `factor`: of rotations."""
    columns = {"time_s": time_s}
    for k, (name, turns) in enumerate(zip(motion.names, motion.rotational, strict=True)):
        columns[f"{name}{units[0] if turns else units[1]}"] = values[:, k] * (factor if turns else 1.0)
    return columns


# 0.1 mNm and 0.1 mN, 1/2000 of the smallest band of a torque
@table(
    "joint_moments",
    place=40,
    description="Net moment and force at every joint centre in three frames, tidy.",
    coarser=dict.fromkeys("xyz", 4),
)
def joint_moments_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return the net moment (Nm) and force (N) of the proximal on the distal segment at every joint centre, tidy.

    There is one row per frame, joint, axis system (proximal, distal, jcs) and quantity. x, y, z are along the axes of the
    system, so the signs of x and y differ between the sides. Rows of each block are in order of time.
    """
    time_s = analysis.time_s
    blocks = [
        (load.joint, load.side, frame, quantity, getattr(load, quantity)[frame])
        for load in analysis.dynamics.joints
        for frame in FRAMES
        for quantity in _QUANTITY_UNITS
    ]
    x, y, z = (np.concatenate([block[4][:, axis] for block in blocks] or [np.empty(0)]) for axis in range(3))

    def repeated_categories(texts: list[str]) -> pd.Categorical[str]:
        distinct = list(dict.fromkeys(texts))
        codes = np.repeat(np.array([distinct.index(text) for text in texts], dtype=np.int16), len(time_s))
        return pd.Categorical.from_codes(codes, categories=pd.Index(distinct))

    return pd.DataFrame(
        {
            "time_s": np.tile(time_s, len(blocks)),
            "joint": repeated_categories([block[0] for block in blocks]),
            "side": repeated_categories([block[1] for block in blocks]),
            "frame": repeated_categories([block[2] for block in blocks]),
            "quantity": repeated_categories([block[3] for block in blocks]),
            "x": x,
            "y": y,
            "z": z,
            "unit": repeated_categories([_QUANTITY_UNITS[block[3]] for block in blocks]),
        },
        copy=False,
    )


@table("joint_powers", place=50, description="Power of every joint over time, W.")
def joint_powers_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return the power of the torques of every joint, W, positive if energy is generated."""
    columns = {"time_s": analysis.time_s}
    for load in analysis.dynamics.joints:
        columns[f"{with_side(load.joint, load.side)}_W"] = load.power
    return pd.DataFrame(columns)


@table("joint_power_parts", place=51, description="Power of every joint by plane over time, W.")
def joint_power_parts_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return torque times rate about the axes of every joint by plane, W; the parts sum to the power of the joint.

    A joint has the planes in which it rotates; translations of an imported model are `translation`.
    """
    columns = {"time_s": analysis.time_s}
    for load in analysis.dynamics.joints:
        name = with_side(load.joint, load.side)
        columns |= {f"{name}_{part}_W": power for part, power in load.power_parts.items()}
    return pd.DataFrame(columns)


@table(
    "ground_reaction",
    place=60,
    description="Force, centre of pressure and free moment of each foot over time, in World.",
)
def ground_reaction_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return force (N), centre of pressure (m) and vertical free moment (Nm) of each foot in World, with `measured` and
    `reason`.

    Values have full bandwidth; the forces used for the joint moments may have a lower cut-off (in `result.npz`).
    """
    reaction = analysis.reaction.full_bandwidth_reaction
    columns: dict[str, object] = {"time_s": analysis.time_s}
    sides: list[Side] = [side for side in SIDES if side in reaction.wrench]
    for side in sides:
        force = reaction.wrench[side][:, 3:]
        cop = reaction.centre_of_pressure[side]
        columns |= {f"ground_force_{side}_{axis}_N": force[:, i] for i, axis in enumerate(AXES)}
        columns |= {f"centre_of_pressure_{side}_{axis}_m": cop[:, i] for i, axis in enumerate(AXES)}
        columns[f"free_moment_{side}_Nm"] = reaction.free_moment[side]
    for side in sides:
        columns[f"measured_{side}"] = np.asarray(reaction.measured[side], dtype=bool)
        columns[f"reason_{side}"] = pd.Categorical(reaction.reason[side])
    return pd.DataFrame(columns)


@table(
    "ground_reaction_full_rate",
    place=65,
    description="Force, centre of pressure and free moment at the plate rate, low-passed at 50 Hz, one row per stance sample.",
    needs=lambda analysis: analysis.plate_rate_forces is not None,
    request='Analyse a recording with foot contacts on force plates, with [output] tables = "csv".',
    when_packed=False,
)
def full_rate_ground_reaction_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return the samples of every measured contact of each foot, from which the peaks of `spatiotemporal` are determined.

    World axes, N, m, Nm; centre of pressure and free moment are missing below the contact threshold. The right foot is first,
    each in order of time. Swing (zero force) and unmeasured stances (unknown force) are omitted.
    """
    forces = analysis.plate_rate_forces
    assert forces is not None  # `needs`
    sides = [side for side in SIDES if side in forces.wrench]
    rows = [np.flatnonzero(forces.loaded[side]) for side in sides]

    def join_stance_samples(values: Mapping[Side, FloatArray]) -> FloatArray:
        return np.concatenate([values[side][samples] for side, samples in zip(sides, rows, strict=True)])

    force, point = join_stance_samples(forces.wrench)[:, 3:], join_stance_samples(forces.centre_of_pressure)
    codes = np.repeat(np.arange(len(sides)), [len(samples) for samples in rows])
    return pd.DataFrame(
        {
            "time_s": np.concatenate(rows) / forces.rate_hz,
            "side": pd.Categorical.from_codes(codes, categories=pd.Index(sides)),
            **{f"ground_force_{axis}_N": force[:, i] for i, axis in enumerate(AXES)},
            **{f"centre_of_pressure_{axis}_m": point[:, i] for i, axis in enumerate(AXES)},
            "free_moment_Nm": join_stance_samples(forces.free_moment),
        }
    )


@table("marker_errors", place=70, description="Distance of every marker from its position on the skeleton, m.")
def marker_errors_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return the distance of every measured marker from the model marker, m, NaN if not seen; `rms` over the markers of the
    frame.

    For measured poses: the distance of every segment origin.
    """
    labels, error = analysis.fit.labels, analysis.fit.marker_error
    misfit = analysis.pose_misfit
    if misfit is not None:
        labels, error = misfit.labels, misfit.origin_m
    columns = {"time_s": analysis.time_s}
    columns |= {label: error[:, i] for i, label in enumerate(labels)}
    columns["rms"] = finite_rms(error)
    return pd.DataFrame(columns)


_REQUEST = "Analyse a recording of a markerless system, which has segment poses."


# -- Measured poses


@table(
    "pose_angles",
    place=15,
    description="Three angles of every joint by direct decomposition of measured poses, deg.",
    needs=lambda analysis: analysis.static.source == "poses",
    request=_REQUEST,
)
def pose_angles_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return three angles of every joint over time, deg: R_PB = Rz Rx Ry of the recorded matrices, neither filtered nor fitted.

    Columns have the names and signs of `joint_angles`, or are named by joint and axis if the skeleton has no such rotation.
    """
    poses = analysis.recording.motion.poses
    system = None if poses is None else find_pose_system(poses.labels)
    assert poses is not None  # `needs`
    assert system is not None
    angles = joint_angles_of_poses(poses, system, analysis.model.skeleton)
    return pd.DataFrame({"time_s": poses.time_s} | {f"{name}_deg": np.rad2deg(a) for name, a in angles.items()})


@table(
    "pose_errors",
    place=75,
    description="Distance of every measured pose from the fitted skeleton: origin, m, and orientation, deg.",
    needs=lambda analysis: analysis.static.source == "poses",
    request=_REQUEST,
)
def pose_errors_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return the distance of each segment origin, m, and the angle between orientations, deg, over time; NaN if not seen."""
    misfit = analysis.pose_misfit
    assert misfit is not None  # `needs`
    columns = {"time_s": analysis.time_s}
    for i, label in enumerate(misfit.labels):
        columns |= {f"{label}_m": misfit.origin_m[:, i], f"{label}_deg": np.rad2deg(misfit.turn_rad[:, i])}
    return pd.DataFrame(columns)
