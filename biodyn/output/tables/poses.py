"""What measured poses say by themselves, before a skeleton is fitted to them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.errors import ResultError
from biodyn.library.pose_systems import pose_system_of
from biodyn.model.pose_axes import joint_angles_of_poses
from biodyn.output.tables.registry import table

_REQUEST = "Analyse a recording of a markerless system: it holds poses of segments."


@table(
    "pose_angles",
    place=15,
    description="Three angles of every joint by direct decomposition of the measured poses, deg.",
    needs=lambda analysis: analysis.static.source == "poses",
    request=_REQUEST,
)
def pose_angles(analysis: TrialAnalysis) -> pd.DataFrame:
    """Three angles of every joint through time, deg: R_PB = Rz Rx Ry of the matrices as recorded, not filtered, not fitted.

    Columns are named and signed as those of `joint_angles`, and by joint and axis where the skeleton's joint does not turn.
    """
    poses = analysis.recording.motion.poses
    system = None if poses is None else pose_system_of(poses.labels)
    if poses is None or system is None or analysis.static.source != "poses":
        raise ResultError("There are no poses of segments in this recording.", _REQUEST)
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
        raise ResultError("There are no poses of segments in this recording.", _REQUEST)
    columns = {"time_s": analysis.time_s}
    for i, label in enumerate(misfit.labels):
        columns |= {f"{label}_m": misfit.origin_m[:, i], f"{label}_deg": np.rad2deg(misfit.turn_rad[:, i])}
    return pd.DataFrame(columns)
