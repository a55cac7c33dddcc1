"""Tables with one row per frame: angles, torques, moments, powers, ground reaction, marker errors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import AXES, SIDES, FloatArray, Side, with_side
from biodyn.errors import ResultError
from biodyn.library.pose_systems import find_pose_system
from biodyn.model.pose_axes import joint_angles_of_poses
from biodyn.output.tables.registry import table
from biodyn.processing.dynamics.imported import ModelMotion
from biodyn.processing.dynamics.solve import FRAMES
from biodyn.processing.signals.filtering import finite_rms

_QUANTITY_UNITS = {"moment": "Nm", "force": "N"}


@table(
    "joint_angles",
    place=10,
    description="Base angles and position, and the angle of every coordinate, through time: deg, m.",
)
def joint_angles(analysis: TrialAnalysis) -> pd.DataFrame:
    """Base angles in degrees, base position in World in m, every free coordinate in degrees; NaN where unsolved.

    For an imported model its coordinates in its order and signs, deg and m.
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
    description="Torque of every coordinate (Nm) and the base residual through time; why numbers are missing.",
)
def joint_torques(analysis: TrialAnalysis) -> pd.DataFrame:
    """Generalised torque of every free coordinate, Nm, positive where it accelerates the coordinate positively.

    The residual acts on the root, in World axes, its moment about the root's origin. `reason` says why numbers are missing
    in a frame. For an imported model the torques of its coordinates in its order, Nm and N, with those of the joint to
    ground, in all frames with loads, also if `reason` reports missing loads.
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
    """Return columns of all coordinates of an imported model; units of rotations and translations, factor of rotations."""
    columns = {"time_s": time_s}
    for k, (name, turns) in enumerate(zip(motion.names, motion.rotational, strict=True)):
        columns[f"{name}{units[0] if turns else units[1]}"] = values[:, k] * (factor if turns else 1.0)
    return columns


# 0.1 mNm and 0.1 mN: a two-thousandth of the smallest band of a torque
@table(
    "joint_moments",
    place=40,
    description="Net moment and force at every joint centre in three frames, tidy.",
    coarser=dict.fromkeys("xyz", 4),
)
def joint_moments(analysis: TrialAnalysis) -> pd.DataFrame:
    """Net moment and force of the proximal on the distal segment at every joint centre, tidy.

    One row per frame, joint, axis system (proximal, distal, jcs) and quantity; x, y, z along that system's own axes, so the
    signs of x and y differ between the sides. Rows run through time inside each block.
    """
    time_s = analysis.time_s
    blocks = [
        (load.joint, load.side, frame, quantity, getattr(load, quantity)[frame])
        for load in analysis.dynamics.joints
        for frame in FRAMES
        for quantity in _QUANTITY_UNITS
    ]
    values = np.concatenate([block[4] for block in blocks]) if blocks else np.empty((0, 3))

    def words(texts: list[str]) -> pd.Categorical[str]:
        distinct = list(dict.fromkeys(texts))
        codes = np.repeat(np.array([distinct.index(text) for text in texts], dtype=np.int16), len(time_s))
        return pd.Categorical.from_codes(codes, categories=pd.Index(distinct))

    return pd.DataFrame(
        {
            "time_s": np.tile(time_s, len(blocks)),
            "joint": words([block[0] for block in blocks]),
            "side": words([block[1] for block in blocks]),
            "frame": words([block[2] for block in blocks]),
            "quantity": words([block[3] for block in blocks]),
            "x": values[:, 0],
            "y": values[:, 1],
            "z": values[:, 2],
            "unit": words([_QUANTITY_UNITS[block[3]] for block in blocks]),
        }
    )


@table("joint_powers", place=50, description="Power of every joint through time, W.")
def joint_powers(analysis: TrialAnalysis) -> pd.DataFrame:
    """Power of the joint torques of every joint, W, positive where energy is generated."""
    columns = {"time_s": analysis.time_s}
    for load in analysis.dynamics.joints:
        columns[f"{with_side(load.joint, load.side)}_W"] = load.power
    return pd.DataFrame(columns)


@table("joint_power_parts", place=51, description="Power of every joint by plane, through time, W.")
def joint_power_parts(analysis: TrialAnalysis) -> pd.DataFrame:
    """Torque times rate of the axes of every joint by plane, W; the parts add up to the joint's power.

    A joint has the planes in which it rotates; translations in joints of an imported model are `translation`.
    """
    columns = {"time_s": analysis.time_s}
    for load in analysis.dynamics.joints:
        name = with_side(load.joint, load.side)
        columns |= {f"{name}_{part}_W": power for part, power in load.power_parts.items()}
    return pd.DataFrame(columns)


@table(
    "ground_reaction",
    place=60,
    description="Force, centre of pressure and free moment of each foot through time, in World.",
)
def ground_reaction(analysis: TrialAnalysis) -> pd.DataFrame:
    """Force on each foot, centre of pressure and vertical free moment in World; `measured` and `reason` a foot.

    At full bandwidth: what the joint moments were computed with may be filtered lower (`result.npz` has it).
    """
    reaction = analysis.reaction.as_measured
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
    description="Force, centre of pressure and free moment at the plates' own rate through 50 Hz, a row a sample of a stance.",
    needs=lambda analysis: analysis.plate_rate_forces is not None,
    request='Analyse a recording with foot contacts on force plates, without [output] tables = "packed".',
    when_packed=False,
)
def ground_reaction_full_rate(analysis: TrialAnalysis) -> pd.DataFrame:
    """The samples of every measured contact of each foot: where the peaks of `spatiotemporal` are read.

    World axes, N, m, Nm; centre of pressure and free moment are missing below the contact threshold. Right foot first, each in
    order of time. Swing, where the force is zero, and unmeasured stances, where it is not known, are left out.
    """
    forces = analysis.plate_rate_forces
    assert forces is not None  # `needs`
    sides = [side for side in SIDES if side in forces.wrench]
    rows = [np.flatnonzero(forces.loaded[side]) for side in sides]

    def joined(values: Mapping[Side, FloatArray]) -> FloatArray:
        return np.concatenate([values[side][samples] for side, samples in zip(sides, rows, strict=True)])

    force, point = joined(forces.wrench)[:, 3:], joined(forces.centre_of_pressure)
    codes = np.repeat(np.arange(len(sides)), [len(samples) for samples in rows])
    return pd.DataFrame(
        {
            "time_s": np.concatenate(rows) / forces.rate_hz,
            "side": pd.Categorical.from_codes(codes, categories=pd.Index(sides)),
            **{f"ground_force_{axis}_N": force[:, i] for i, axis in enumerate(AXES)},
            **{f"centre_of_pressure_{axis}_m": point[:, i] for i, axis in enumerate(AXES)},
            "free_moment_Nm": joined(forces.free_moment),
        }
    )


@table("marker_errors", place=70, description="Distance of every marker from its place on the skeleton, m.")
def marker_errors(analysis: TrialAnalysis) -> pd.DataFrame:
    """Distance of every fitted marker to the skeleton's, m, NaN where unseen; `rms` over the markers of the frame.

    Of measured poses the distance of every segment's origin.
    """
    labels, error = analysis.fit.labels, analysis.fit.marker_error
    misfit = analysis.pose_misfit
    if misfit is not None:
        labels, error = misfit.labels, misfit.origin_m
    columns = {"time_s": analysis.time_s}
    columns |= {label: error[:, i] for i, label in enumerate(labels)}
    columns["rms"] = finite_rms(error)
    return pd.DataFrame(columns)


_REQUEST = "Analyse a recording of a markerless system, which has poses of segments."


# -- Measured poses


@table(
    "pose_angles",
    place=15,
    description="Three angles of every joint by direct decomposition of the measured poses, deg.",
    needs=lambda analysis: analysis.static.source == "poses",
    request=_REQUEST,
)
def pose_angles(analysis: TrialAnalysis) -> pd.DataFrame:
    """Three angles of every joint through time, deg: R_PB = Rz Rx Ry of the matrices as recorded, not filtered, not fitted.

    Columns have the names and signs of `joint_angles`, and by joint and axis if the joint of the skeleton has no such rotation.
    """
    poses = analysis.recording.motion.poses
    system = None if poses is None else find_pose_system(poses.labels)
    if poses is None or system is None or analysis.static.source != "poses":
        raise ResultError("This recording has no poses of segments.", _REQUEST)
    angles = joint_angles_of_poses(poses, system, analysis.model.skeleton)
    return pd.DataFrame({"time_s": poses.time_s} | {f"{name}_deg": np.rad2deg(a) for name, a in angles.items()})


@table(
    "pose_errors",
    place=75,
    description="Distance of every measured pose from the fitted skeleton: origin in m, attitude in deg.",
    needs=lambda analysis: analysis.static.source == "poses",
    request=_REQUEST,
)
def pose_errors(analysis: TrialAnalysis) -> pd.DataFrame:
    """Distance of each segment's origin, m, and angle between its attitudes, deg, through time; NaN where it was not seen."""
    misfit = analysis.pose_misfit
    if misfit is None:
        raise ResultError("This recording has no poses of segments.", _REQUEST)
    columns = {"time_s": analysis.time_s}
    for i, label in enumerate(misfit.labels):
        columns |= {f"{label}_m": misfit.origin_m[:, i], f"{label}_deg": np.rad2deg(misfit.turn_rad[:, i])}
    return pd.DataFrame(columns)
