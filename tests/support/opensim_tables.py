"""OpenSim's tables as tests write them: any columns through time, and the ground forces of a recording that has plates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from simulator.trc_writer import write_trc

from biodyn.conventions import FloatArray
from biodyn.processing.contacts.plate_loads import centre_of_pressure
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.processing.signals.world_frame import find_world
from biodyn.recording import Recording

#: Prefixes of OpenSim's examples: one force after the other, whosever foot it is of.
BY_PLATE = ("", "1_", "2_", "3_")


def write_table(path: Path, names: Sequence[str], time_s: FloatArray, values: FloatArray, degrees: bool = True) -> Path:
    """Write a .mot; `values` (T, C)."""
    head = f"{path.stem}\nversion=1\nnRows={len(time_s)}\nnColumns={len(names) + 1}\ninDegrees={'yes' if degrees else 'no'}\n"
    rows = "\n".join("\t".join(f"{x:.12g}" for x in (t, *row)) for t, row in zip(time_s, values, strict=True))
    path.write_text(f"{head}endheader\n" + "\t".join(["time", *names]) + f"\n{rows}\n")
    return path


def write_forces(
    path: Path,
    recording: Recording,
    prefixes: Sequence[str] = BY_PLATE,
    start_s: float = 0.0,
    scale: float = 1.0,
    least_n: float = -np.inf,
    about: Sequence[float] | None = None,
    fixed: bool = False,
) -> Path:
    """Write force, point and free moment of every plate, in the frame of the recording; zero where less than `least_n` presses.

    `scale`: 1000 writes points in mm and moments in N mm. `about`: the point, m, Y up, that moments are about instead of that of
    the force. `fixed`: the force acts at the middle of its plate, with its whole moment.
    """
    R_WL = find_world(recording).R_WL
    world = recording.rotated(R_WL)
    names, columns = [], []
    for plate, prefix in zip(world.plates, prefixes, strict=False):
        wrench = plate_wrench(plate, world.markers.frame_count, world.markers.rate_hz).wrench
        point = centre_of_pressure(wrench, plate.corners, 10.0)
        point = np.where(np.isfinite(point) & (not fixed), point, plate.corners.mean(axis=0))
        moment = wrench[:, :3] - np.cross(point if about is None else np.array(about), wrench[:, 3:])
        loaded = (wrench[:, 4] >= least_n)[:, None]
        vectors = (wrench[:, 3:] * loaded, scale * point, scale * moment * loaded)
        for vector, what in zip(vectors, ("ground_force_v", "ground_force_p", "ground_torque_"), strict=True):
            columns.append(vector @ R_WL)
            names += [f"{prefix}{what}{axis}" for axis in "xyz"]
    time_s = start_s + np.arange(len(columns[0])) / world.plates[0].rate_hz
    return write_table(path, names, time_s, np.hstack(columns))


def as_opensim(recording: Recording, folder: Path, name: str = "walk", **forces: object) -> Path:
    """Write a recording as NAME.trc with NAME_grf.mot beside it (where it has plates); returns the .trc."""
    folder.mkdir(parents=True, exist_ok=True)
    write_trc(folder / f"{name}.trc", recording.markers)
    if recording.plates:
        write_forces(folder / f"{name}_grf.mot", recording, **forces)  # type: ignore[arg-type]
    return folder / f"{name}.trc"
