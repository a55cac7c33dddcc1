"""Recordings as laboratories keep them in spreadsheets: markers, poses or coordinates in columns, plates by a column map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.conventions import FloatArray
from biodyn.recording import Recording, SegmentPoses

COMPONENTS = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")


def write_sheet(path: Path, names: Sequence[str], time_s: FloatArray, values: FloatArray, digits: int = 9) -> Path:
    """Write a table (T, C) with a column of time: .parquet as it is, else as text with so many digits."""
    columns = np.column_stack([time_s, values])
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(dict(zip(["time_s", *names], columns.T, strict=True))), path)
        return path
    rows = "\n".join(",".join("" if np.isnan(x) else f"{x:.{digits}g}" for x in row) for row in columns)
    path.write_text(",".join(["time_s", *names]) + f"\n{rows}\n")
    return path


def write_markers(path: Path, recording: Recording, digits: int = 9) -> Path:
    """Write the markers in mm, NAME_X, NAME_Y, NAME_Z."""
    markers = recording.markers
    names = [f"{label}_{axis}" for label in markers.labels for axis in "XYZ"]
    return write_sheet(
        path, names, markers.time_s, 1000.0 * markers.positions.reshape(len(markers.positions), -1), digits
    )


def write_plates(path: Path, recording: Recording, digits: int = 9) -> Path:
    """Write the six components of every plate, moments in N mm, and the column map that says what they are."""
    names, columns, entries = [], [], []
    for plate in recording.plates:
        assert plate.type in (2, 4)
        own = [f"{component}{plate.number}" for component in COMPONENTS]
        names += own
        columns.append(plate.channels[:, :6] * [1, 1, 1, 1000, 1000, 1000])
        corners = [[float(x) for x in corner] for corner in 1000.0 * plate.corners]
        about = [float(x) for x in 1000.0 * plate.origin]
        entries.append(
            f"[[plates]]\nforce = {own[:3]}\nmoment = {own[3:]}\nmoments = 'Nmm'\n"
            f"corners = {corners}\nabout = {about}\nlength = 'mm'\n"
        )
    rate_hz = recording.plates[0].rate_hz
    values = np.hstack(columns)
    path.with_name(f"{path.stem}.columns.toml").write_text("\n".join(entries))
    return write_sheet(path, names, np.arange(len(values)) / rate_hz, values, digits)


def write_poses(path: Path, poses: SegmentPoses, matrix: bool = False, digits: int = 12) -> Path:
    """Write poses in m under their labels: NAME_px .. with NAME_qw .. (or NAME_r11 ..)."""
    names, columns = [], []
    for k, label in enumerate(poses.labels):
        R = poses.rotations[:, k]
        names += [f"{label}_p{axis}" for axis in "xyz"]
        columns.append(poses.origins[:, k])
        if matrix:
            names += [f"{label}_r{row}{column}" for row in "123" for column in "123"]
            columns.append(R.reshape(-1, 9))
        else:
            names += [f"{label}_q{part}" for part in "wxyz"]
            columns.append(Rotation.from_matrix(R).as_quat(scalar_first=True))
    return write_sheet(path, names, poses.time_s, np.hstack(columns), digits)
