"""Joint torques of a result against a table of another program: only the curves are known, and only what they tell is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biodyn.comparison.curves import FILTER, SHIFT, SIGN, UNIT, curve_causes
from biodyn.comparison.differences import LEAST_FRAMES, OF_COORDINATE, Difference, difference
from biodyn.comparison.facts import Fact
from biodyn.conventions import FloatArray
from biodyn.errors import ResultError
from biodyn.io.opensim.storage import read_storage
from biodyn.output.store.names import ARRAYS_NAME, table_path
from biodyn.output.store.owned import listed_files, model_record
from biodyn.output.store.read import ResultFolder
from biodyn.output.tables.csv import read_csv

#: Tables of OpenSim.
SUFFIXES = (".sto", ".mot")
_TABLE = "joint_torques"
_THEIR_TORQUE, _OUR_TORQUE = "_moment", "_Nm"


@dataclass(frozen=True)
class TorqueTable:
    """Torques (T, C) by the names of coordinates, at time_s (T,); mass_kg of the body, NaN where it is not known."""

    name: str
    time_s: FloatArray
    torques: Mapping[str, FloatArray]
    mass_kg: float


def table_of_folder(folder: Path) -> TorqueTable | None:
    """The joint torques of a folder of a trial on an OpenSim model, its tables packed or not; None of any other folder."""
    record = model_record(folder)
    if record is None:
        return None
    try:
        whole = ARRAYS_NAME in (listed_files(record) or {})
        table = ResultFolder(folder).table(_TABLE) if whole else read_csv(folder / table_path(_TABLE))
        found = table_of_frame(str(folder), table, float(record["subject"]["mass_kg"]))
        # as the file of the motion counts its time: other programs' tables of it do so too
        return replace(found, time_s=found.time_s + float(record["input"].get("start_s", 0.0)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f"'{folder}' is damaged or was changed: {error}.", "Run the trial again.") from error


def table_of_frame(name: str, table: pd.DataFrame, mass_kg: float) -> TorqueTable:
    """The joint torques of a result's table."""
    torques = {
        str(column).removesuffix(_OUR_TORQUE): table[column].to_numpy(dtype=np.float64)
        for column in table.columns
        if str(column).endswith(_OUR_TORQUE)
    }
    return TorqueTable(name, table["time_s"].to_numpy(dtype=np.float64), torques, mass_kg)


def table_of_file(path: Path) -> TorqueTable:
    """The joint torques of an OpenSim table; ResultError where it holds none."""
    storage = read_storage(path)
    torques = {
        name.removesuffix(_THEIR_TORQUE): storage.column(name) for name in storage.names if name.endswith(_THEIR_TORQUE)
    }
    if not torques:
        raise ResultError(
            f"'{path}' holds no joint torques: no column ends in {_THEIR_TORQUE}.",
            "Give the table that OpenSim's inverse dynamics wrote.",
        )
    return TorqueTable(str(path), storage.time_s, torques, float("nan"))


def compare_tables(ours: TorqueTable, theirs: TorqueTable) -> dict[str, Any]:
    """Return what `Comparison` takes: the differences of the torques that both hold, and what the curves tell of their causes."""
    names = [
        name
        for name, values in ours.torques.items()
        if name in theirs.torques and np.isfinite(values).sum() >= LEAST_FRAMES
    ]
    if not names:
        raise ResultError(
            f"'{ours.name}' and '{theirs.name}' have no torques of the same names.",
            f"The first has {', '.join(list(ours.torques)[:4])}, the second {', '.join(list(theirs.torques)[:4])}.",
        )
    time_s, note = _common_time(ours, theirs)
    first = np.stack([ours.torques[name] for name in names], axis=1)
    other = np.stack([np.interp(time_s, theirs.time_s, theirs.torques[name], np.nan, np.nan) for name in names], axis=1)
    rate_hz = (len(ours.time_s) - 1) / float(ours.time_s[-1] - ours.time_s[0])
    frames = np.asarray(np.isfinite(first).all(axis=1) & np.isfinite(other).all(axis=1))
    if frames.sum() < LEAST_FRAMES:
        raise ResultError(
            f"'{ours.name}' and '{theirs.name}' have {frames.sum()} frames in common.",
            "Give a table of the same recording.",
        )
    found = curve_causes(first, other, rate_hz, ours.mass_kg)
    differences: list[Difference] = []
    for c, name in enumerate(names):
        parts = {cause: part[:, c] for cause, part in found.parts.items()}
        one = difference(name, "", OF_COORDINATE, "moment", (first[:, c], other[:, c]), parts, frames)
        differences.append(one)
    turned = [name for name, sign in zip(names, found.signs, strict=True) if sign < 0]
    facts = [Fact(SIGN, f"{name} has the other sign") for name in turned]
    if found.unit != "Nm":
        facts.append(Fact(UNIT, f"the second is in {found.unit}"))
    if found.shift_s:
        facts.append(Fact(SHIFT, f"the second comes {1e3 * found.shift_s:+.0f} ms later"))
    if found.filter is not None:
        which = "the second" if found.filter[1] else "the first"
        facts.append(Fact(FILTER, f"{which} is smoother, as if at {found.filter[0].low_hz:.3g} Hz, estimated"))
    left = (
        "A table of torques does not tell joint centres, axes, inertias, forces or the filter of the motion: what they make of "
        "the difference is among the unexplained."
    )
    return {
        "time_s": ours.time_s,
        "differences": tuple(differences),
        "facts": tuple(facts),
        "notes": (*note, left),
    }


def _common_time(ours: TorqueTable, theirs: TorqueTable) -> tuple[FloatArray, tuple[str, ...]]:
    """Our frames on the clock of the table; results count from the file's first frame, tables may not."""
    inside = (ours.time_s >= theirs.time_s[0] - 1e-6) & (ours.time_s <= theirs.time_s[-1] + 1e-6)
    if inside.sum() >= LEAST_FRAMES:
        return ours.time_s, ()
    if len(ours.time_s) == len(theirs.time_s):
        return theirs.time_s, ("The times differ: the tables are compared row by row.",)
    return ours.time_s, ()
