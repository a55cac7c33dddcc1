"""One walk by every door: the same motion and forces in each kind of file that is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from simulator.trc_writer import write_trc

from biodyn.analysis import TrialAnalysis
from biodyn.io import read
from biodyn.io.opensim.storage import read_storage
from biodyn.recording import Recording, SubjectParameters
from support.opensim_tables import as_opensim, write_forces
from support.poses import files_of_its_poses
from support.sessions import Laboratory
from support.spreadsheets import write_markers, write_plates, write_poses, write_sheet

METADATA = "gender_mf: m\nheight_m: 1.78\nmass_kg: 74\nsubjectID: P07\n"
#: In a folder of spreadsheets: that its tables are recordings.
COLUMNS = 'length = "mm"\n'


def bare(recording: Recording) -> Recording:
    """What files without a person, events and channels of programs hold of a recording."""
    nobody = SubjectParameters()
    return replace(
        recording, subject=nobody, events=(), model_outputs={}, vertical=None, declared_static=None, first_frame=1
    )


def c3d(folder: Path, laboratory: Laboratory) -> Path:
    return laboratory.copy(folder).walk


def trc(folder: Path, laboratory: Laboratory) -> Path:
    write_trc(folder / "static.trc", _standing(laboratory).markers)
    return as_opensim(bare(read(laboratory.walk)), folder)


def opencap(folder: Path, laboratory: Laboratory) -> Path:
    for name in ("MarkerData", "ForceData"):
        (folder / name).mkdir()
    walk = bare(read(laboratory.walk))
    write_trc(folder / "MarkerData" / "neutral.trc", _standing(laboratory).markers)
    write_trc(folder / "MarkerData" / "walk.trc", walk.markers)
    write_forces(folder / "ForceData" / "walk_forces.mot", walk)
    return folder / "MarkerData" / "walk.trc"


def spreadsheet(folder: Path, laboratory: Laboratory, suffix: str = ".csv") -> Path:
    walk = bare(read(laboratory.walk))
    (folder / "columns.toml").write_text(COLUMNS)
    write_markers(folder / f"static{suffix}", _standing(laboratory))
    write_plates(folder / "walk_forces.csv", walk)
    return write_markers(folder / f"walk{suffix}", walk)


def parquet(folder: Path, laboratory: Laboratory) -> Path:
    return spreadsheet(folder, laboratory, ".parquet")


def poses(folder: Path, analysis: TrialAnalysis) -> Path:
    walk = files_of_its_poses(analysis).walk
    (folder / "columns.toml").write_text('length = "m"\n')
    write_plates(folder / "walk_forces.csv", bare(walk))
    return write_poses(folder / "walk.csv", walk.poses)


def coordinates(folder: Path, exported: Path, suffix: str) -> Path:
    """Joint coordinates of a model with forces on its feet, as `export --to opensim` wrote them."""
    table, forces = (read_storage(exported / name) for name in ("coordinates.mot", "grf.mot"))
    (folder / "model.osim").write_bytes((exported / "model.osim").read_bytes())
    if suffix == ".csv":
        (folder / "columns.toml").write_text('angle = "deg"\n' if table.in_degrees else 'angle = "rad"\n')
        write_sheet(folder / "walk_forces.csv", forces.names, forces.time_s, forces.values)
        return write_sheet(folder / "walk.csv", table.names, table.time_s, table.values, digits=12)
    (folder / "walk_grf.mot").write_bytes((exported / "grf.mot").read_bytes())
    path = folder / f"walk_ik{suffix}"
    path.write_bytes((exported / "coordinates.mot").read_bytes())
    return path


def doors(laboratory: Laboratory, analysis: TrialAnalysis, exported: Path) -> Mapping[str, Callable[[Path], Path]]:
    """By name what writes a door's files into a folder and returns the walk's."""
    return {
        "C3D": lambda folder: c3d(folder, laboratory),
        "TRC and MOT": lambda folder: trc(folder, laboratory),
        "OpenCap": lambda folder: opencap(folder, laboratory),
        "CSV": lambda folder: spreadsheet(folder, laboratory),
        "Parquet": lambda folder: parquet(folder, laboratory),
        "poses in CSV": lambda folder: poses(folder, analysis),
        "coordinates .mot": lambda folder: coordinates(folder, exported, ".mot"),
        "coordinates .sto": lambda folder: coordinates(folder, exported, ".sto"),
        "coordinates in CSV": lambda folder: coordinates(folder, exported, ".csv"),
    }


def _standing(laboratory: Laboratory) -> Recording:
    standing = bare(read(laboratory.static))
    some = replace(standing.markers, positions=np.ascontiguousarray(standing.markers.positions[:60]))
    return replace(standing.with_markers(some), plates=())
