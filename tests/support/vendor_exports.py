"""Simulated trials as text of Nexus, Qualisys Track Manager, Cortex, Visual3D and D-Flow, plates in a form of its own each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.io import savemat
from simulator import SimulatedTrial
from simulator.trc_writer import write_trc

from biodyn.conventions import SIDE_NAMES, FloatArray
from biodyn.recording import Markers

About = Literal["centre of pressure", "middle", "origin"]
_CORNERS = ("POSX_POSY", "NEGX_POSY", "NEGX_NEGY", "POSX_NEGY")
_AXES = "XYZ"
_LEAST_N = 10.0
_NAMES = {
    "foot_strike": ("Foot Strike", "The instant the heel strikes the ground"),
    "foot_off": ("Foot Off", "The instant the toe leaves the ground"),
}


@dataclass(frozen=True)
class PlateLoads:
    """Reaction (T, 3) N, centre of pressure m (0 without load), moment about it N m, corners (4, 3) m; laboratory's axes."""

    force: FloatArray
    pressure: FloatArray
    moment: FloatArray
    corners: FloatArray

    def moment_about(self, about: About) -> FloatArray:
        """(T, 3) N m."""
        if about == "centre of pressure":
            return self.moment
        point = self.corners.mean(axis=0) if about == "middle" else np.zeros(3)
        return self.moment + np.cross(self.pressure - point, self.force)


def loads(trial: SimulatedTrial) -> tuple[PlateLoads, ...]:
    """Return what each plate of a trial measured; 0 below 10 N, as these programs write it."""
    found = []
    for plate, stored in zip(trial.plates, trial.components, strict=True):
        R = trial.options.R_LW @ plate.R_WP
        force = stored[:, :3]
        moment = stored[:, 3:] + np.cross(force, plate.origin_m)  # about the middle of the surface
        loaded = np.abs(force[:, 2]) > _LEAST_N
        vertical = np.where(loaded, force[:, 2], 1.0)
        place = np.column_stack([-moment[:, 1], moment[:, 0], np.zeros(len(force))]) / vertical[:, None]
        place, force = (np.where(loaded[:, None], values, 0.0) for values in (place, force))
        twist = np.where(loaded, moment[:, 2] - (place[:, 0] * force[:, 1] - place[:, 1] * force[:, 0]), 0.0)
        free = np.column_stack([np.zeros((len(twist), 2)), twist])
        corners = plate.corners_W @ trial.options.R_LW.T
        pressure = np.where(loaded[:, None], corners.mean(axis=0) + place @ R.T, 0.0)
        found.append(PlateLoads(force @ R.T, pressure, free @ R.T, corners))
    return tuple(found)


def write_nexus(
    path: Path, trial: SimulatedTrial, about: About = "middle", sense: float = -1.0, first_frame: int = 1
) -> Path:
    """Write "Events", "Devices" and "Trajectories" into one CSV; `sense` -1: what the person does to the plate. Moments in N mm.

    first_frame: of the capture, whose frame 1 is at time 0.
    """
    plates = loads(trial)
    frames, rate_hz = len(trial.markers), trial.options.rate_hz
    per_frame = len(plates[0].force) // frames
    lines = []
    if trial.events:
        lines += ["Events", f"{rate_hz:g}", "Subject,Context,Name,Time (s),Description"]
        lines += [
            f"P,{SIDE_NAMES[event.side].capitalize()},{_NAMES[event.kind][0]},"
            f"{event.time_s + (first_frame - 1) / rate_hz:.6f},{_NAMES[event.kind][1]}"
            for event in trial.events
        ]
        lines += [""]
    names = "".join(
        f",Imported AMTI OR6 Series Force Plate #{n} - {what},,"
        for n in range(1, len(plates) + 1)
        for what in ("Force", "Moment", "CoP")
    )
    lines += ["Devices", f"{per_frame * rate_hz:g}", f",{names}"]
    lines += ["Frame,Sub Frame" + ",Fx,Fy,Fz,Mx,My,Mz,Cx,Cy,Cz" * len(plates)]
    lines += ["," + ",N,N,N,N.mm,N.mm,N.mm,mm,mm,mm" * len(plates)]
    values = np.hstack(
        [np.hstack([sense * p.force, 1e3 * sense * p.moment_about(about), 1e3 * p.pressure]) for p in plates]
    )
    lines += [f"{k // per_frame + first_frame},{k % per_frame},{_cells(row, ',')}" for k, row in enumerate(values)]
    lines += ["", "Trajectories", f"{rate_hz:g}", "," + "".join(f",P:{label},," for label in trial.labels)]
    lines += ["Frame,Sub Frame" + ",X,Y,Z" * len(trial.labels), "," + ",mm" * (3 * len(trial.labels))]
    lines += [f"{k + first_frame},0,{_cells(row, ',')}" for k, row in enumerate(_points_mm(trial))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_qtm(
    path: Path,
    trial: SimulatedTrial,
    axes: Literal["plate", "laboratory"] = "plate",
    about: About = "middle",
    sense: float = -1.0,
    timed: bool = False,
    described: bool = True,
) -> tuple[Path, ...]:
    """Write the trajectories into `path` (.tsv) and each plate into a file beside it, in N m; return the plates' files."""
    frames, rate_hz = len(trial.markers), trial.options.rate_hz
    head = {"NO_OF_FRAMES": f"{frames}", "NO_OF_CAMERAS": "10", "NO_OF_MARKERS": f"{len(trial.labels)}"}
    head |= {"FREQUENCY": f"{rate_hz:g}", "NO_OF_ANALOG": "0", "ANALOG_FREQUENCY": "0", "DESCRIPTION": "--"}
    head |= {"TIME_STAMP": "2024-01-22, 10:57:13.010\t3534.1", "DATA_INCLUDED": "3D"}
    head |= {"MARKER_NAMES": "\t".join(trial.labels), "TRAJECTORY_TYPES": "\t".join(["Measured"] * len(trial.labels))}
    lines = [f"{word}\t{value}" for word, value in head.items()]
    lines[-2:-2] = [
        f"EVENT\t{SIDE_NAMES[event.side].capitalize()} {_NAMES[event.kind][0]}"
        f"\t{round(event.time_s * rate_hz) + 1}\t{event.time_s:.5f}"
        for event in trial.events
    ]
    lines += ["Frame\tTime\t" + "\t".join(f"{label} {axis}" for label in trial.labels for axis in _AXES)]
    lines += [f"{k + 1}\t{k / rate_hz:.5f}\t" + _cells(row, "\t") for k, row in enumerate(_points_mm(trial))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = []
    for number, plate in enumerate(loads(trial), start=1):
        samples = len(plate.force)
        force_hz = samples / frames * rate_hz
        moment, pressure, force = plate.moment_about(about), plate.pressure, plate.force
        if axes == "plate":
            R = trial.options.R_LW @ trial.plates[number - 1].R_WP
            loaded = (np.abs(force) > 0.0).any(axis=1)[:, None]
            pressure = np.where(loaded, (pressure - plate.corners.mean(axis=0)) @ R, 0.0)
            force, moment = force @ R, moment @ R
        said = "local (force plate)" if axes == "plate" else "world (lab)"
        head = {"NO_OF_SAMPLES": f"{samples}", "FREQUENCY": f"{force_hz:g}", "FIRST_SAMPLE": "1"}
        head |= {"DESCRIPTION": f"Force data in {said} coordinates" if described else "--", "DATA_INCLUDED": "Force"}
        head |= {"FORCE_PLATE_TYPE": "AMTI", "FORCE_PLATE_NAME": f"Force-plate {number}"}
        for name, corner in zip(_CORNERS, 1e3 * plate.corners, strict=True):
            head |= {
                f"FORCE_PLATE_CORNER_{name}_{axis}": f"{value:.3f}" for axis, value in zip(_AXES, corner, strict=True)
            }
        head |= {"FORCE_PLATE_LENGTH": "600.000", "FORCE_PLATE_WIDTH": "400.000"}
        lines = [f"{word}\t{value}" for word, value in head.items()]
        columns = "\t".join(f"{what}_{axis}" for what in ("Force", "Moment", "COP") for axis in _AXES)
        lines += ["SAMPLE\tTIME\t" + columns if timed else columns]
        values = np.hstack([sense * force, sense * moment, 1e3 * pressure])
        before = [f"{k + 1}\t{k / force_hz:.5f}\t" if timed else "" for k in range(samples)]
        lines += [own + _cells(row, "\t") for own, row in zip(before, values, strict=True)]
        files.append(path.with_name(f"{path.stem}_f_{number}{path.suffix}"))
        files[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tuple(files)


def write_qtm_mat(
    path: Path,
    trial: SimulatedTrial,
    axes: Literal["plate", "laboratory"] = "plate",
    sense: float = -1.0,
    orientation: bool = True,
    first_frame: int = 1,
) -> Path:
    """Write one variable of MATLAB: trajectories and centres of pressure in mm, moments about the plate's middle in N m."""
    frames, rate_hz = len(trial.markers), trial.options.rate_hz
    plates = []
    for number, plate in enumerate(loads(trial)):
        force, moment, pressure = plate.force, plate.moment_about("middle"), plate.pressure
        if axes == "plate":
            R = trial.options.R_LW @ trial.plates[number].R_WP
            loaded = (np.abs(force) > 0.0).any(axis=1)[:, None]
            pressure = np.where(loaded, (pressure - plate.corners.mean(axis=0)) @ R, 0.0)
            force, moment = force @ R, moment @ R
        own = {"ForcePlateName": f"Force-plate {number + 1}", "NrOfSamples": float(len(force))}
        own |= {"Frequency": len(force) / frames * rate_hz, "SamplingFactor": len(force) / frames}
        own |= {"Force": sense * force.T, "Moment": sense * moment.T, "COP": 1e3 * pressure.T}
        own |= {"ForcePlateLocation": 1e3 * plate.corners}
        own |= {"ForcePlateOrientation": float(axes == "laboratory")} if orientation else {}
        plates.append(own)
    points = np.full((len(trial.labels), 4, frames), 0.5)
    points[:, :3] = np.moveaxis(1e3 * trial.markers @ trial.options.R_LW.T, 0, 2)
    labels = np.array(trial.labels, dtype=object)
    stored = {"File": "C:\\walk.qtm", "StartFrame": float(first_frame), "Frames": float(frames), "FrameRate": rate_hz}
    stored |= {"Trajectories": {"Labeled": {"Count": float(len(labels)), "Labels": labels, "Data": points}}}
    if plates:
        stored |= {"Force": np.array([tuple(one.values()) for one in plates], dtype=[(k, object) for k in plates[0]])}
    events = [
        (f"{SIDE_NAMES[e.side].capitalize()} {_NAMES[e.kind][0]}", round(e.time_s * rate_hz) + float(first_frame))
        for e in trial.events
    ]
    if events:
        stored |= {"Events": np.array(events, dtype=[("Label", object), ("Frame", object)])}
    savemat(path, {"qtm_walk": stored})
    return path


def write_visual3d(path: Path, trial: SimulatedTrial, start_s: float = 0.0) -> Path:
    """Write time, trajectories (m) and a column for each kind of event, whose times stand in its first rows; no forces."""
    frames, rate_hz = len(trial.markers), trial.options.rate_hz
    columns = [("TIME", "FRAME_NUMBERS", "X", [f"{start_s + k / rate_hz:.5f}" for k in range(frames)])]
    points = trial.markers @ trial.options.R_LW.T
    for i, label in enumerate(trial.labels):
        columns += [(label, "TARGET", axis, [f"{x:.6f}" for x in points[:, i, j]]) for j, axis in enumerate(_AXES)]
    for side in "rl":
        for kind, word in (("foot_strike", "HS"), ("foot_off", "TO")):
            times = [f"{start_s + e.time_s:.6f}" for e in trial.events if (e.side, e.kind) == (side, kind)]
            columns.append((f"{side.upper()}{word}", "EVENT_LABEL", "X", times + [""] * (frames - len(times))))
    over = [["walk.c3d"] * len(columns), *([one[k] for one in columns] for k in (0, 1)), ["ORIGINAL"] * len(columns)]
    lines = [*("\t".join(["", *row]) for row in over), "\t".join(["ITEM", *(one[2] for one in columns)])]
    lines += ["\t".join([f"{k + 1}", *(one[3][k] for one in columns)]) for k in range(frames)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_cortex(path: Path, trial: SimulatedTrial, moment: Literal["Nm", "Nmm"] = "Nmm") -> Path:
    """Write `path` (.trc) and the file of forces beside it; returns the latter."""
    markers = Markers(tuple(trial.labels), trial.markers @ trial.options.R_LW.T, trial.options.rate_hz)
    write_trc(path, markers)
    plates = loads(trial)
    samples = len(plates[0].force)
    rate_hz = samples / len(trial.markers) * trial.options.rate_hz
    lines = [
        "[Force Data]",
        f"NumberOfForcePlates={len(plates)}",
        f"SampleRate={rate_hz:.6f}",
        f"NumberOfSamples={samples}",
    ]
    words = ("FX", "FY", "FZ", "X", "Y", "Z", "MZ")
    lines += ["\t".join(["#Sample", *(f"{word}{n}" for n in range(1, len(plates) + 1) for word in words)])]
    unit = 1.0 if moment == "Nm" else 1e3
    values = np.hstack([np.hstack([p.force, 1e3 * p.pressure, unit * p.moment[:, 2:]]) for p in plates])
    lines += [f"{k + 1}\t{_cells(row, chr(9))}" for k, row in enumerate(values)]
    forces = path.with_suffix(".forces")
    forces.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return forces


def write_dflow(
    path: Path,
    trial: SimulatedTrial,
    about: About = "origin",
    late_s: float = 0.0,
    kept: slice | FloatArray = slice(None),
) -> Path:
    """Write stamps, frames' numbers, trajectories (m) and plates at the rate of the frames; Y is up, X to the right.

    late_s: stamps come up to so much late, drawn with a seed. kept: the rows that were stored, others were dropped.
    """
    frames, rate_hz = len(trial.markers), trial.options.rate_hz
    to_dflow = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]) @ trial.options.R_LW
    stamps = 1234.5 + np.arange(frames) / rate_hz + np.random.default_rng(7).uniform(0.0, late_s, frames)
    names, columns = ["TimeStamp", "FrameNumber"], [stamps, np.arange(frames) + 301.0]
    for label, points in zip(trial.labels, np.moveaxis(trial.markers, 1, 0), strict=True):
        names += [f"{label}.Pos{axis}" for axis in _AXES]
        columns += list(np.nan_to_num(points @ to_dflow.T).T)
    for number, plate in enumerate(loads(trial), start=1):
        step = len(plate.force) // frames
        own = (("Cop", plate.pressure), ("For", plate.force), ("Mom", plate.moment_about(about)))
        for what, values in own:
            names += [f"FP{number}.{what}{axis}" for axis in _AXES]
            columns += list((values[::step] @ trial.options.R_LW @ to_dflow.T).T)
    rows = np.column_stack([*columns, np.zeros(frames)])[kept]
    lines = ["\t".join([*names, "Channel16.Anlg"])]
    lines += ["\t".join([f"{row[0]:.6f}", f"{row[1]:.0f}", _cells(row[2:], "\t", 6)]) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _points_mm(trial: SimulatedTrial) -> FloatArray:
    """(T, 3 M) in the laboratory's axes."""
    return (1e3 * trial.markers @ trial.options.R_LW.T).reshape(len(trial.markers), -1)


def _cells(row: Iterable[float], separator: str, digits: int = 4) -> str:
    return separator.join("" if np.isnan(value) else f"{value:.{digits}f}" for value in row)
