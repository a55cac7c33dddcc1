"""Simulated trials as files: C3D as a laboratory would have stored it, and the truth beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.errors import ResultError
from simulator import c3d_writer
from simulator.c3d_writer import C3dContent, Parameters, ParameterValue
from simulator.plates import Plate
from simulator.trial import SimulatedTrial

_SOFTWARE = "biodyn.simulation"  # as the shared sample data have it
_HEAD_BYTES = 1 << 16  # its parameters are in it
_EVENT_LABELS = {"foot_strike": "Foot Strike", "foot_off": "Foot Off"}


def write_c3d(path: str | Path, trial: SimulatedTrial, *, events: bool = True, prefix: str = "") -> None:
    """Write the C3D file of a trial: laboratory axes, mm; `events` stores the true ones, `prefix` stands before labels."""
    _require_ours(Path(path))
    R_LW = trial.options.R_LW
    channels, labels, units = analog_channels(trial)
    content = C3dContent(
        labels=[prefix + label for label in trial.labels],
        positions=1e3 * trial.markers @ R_LW.T,
        rate_hz=trial.options.rate_hz,
        analog=channels,
        analog_labels=labels,
        analog_units=units,
        parameters=trial_parameters(trial, events, prefix),
    )
    c3d_writer.write_c3d(path, content)


def _require_ours(path: Path) -> None:
    """Raise ResultError where a recording that the simulator did not write has the name of one it would."""
    if not path.is_file():
        return
    with path.open("rb") as stream:
        ours = _SOFTWARE.encode() in stream.read(_HEAD_BYTES)
    if not ours:
        raise ResultError(
            f"'{path}' exists and was not written by the simulator: it will not be replaced.", "Choose another folder."
        )


def analog_channels(trial: SimulatedTrial) -> tuple[FloatArray, list[str], list[str]]:
    """Return the samples (Ta, C) of all plates, the labels of the channels, and their units."""
    return channels_of(trial.plates, trial.components)


def channels_of(
    plates: Sequence[Plate], components_of: Sequence[FloatArray]
) -> tuple[FloatArray, list[str], list[str]]:
    """Return the samples (Ta, C), labels and units of plates with forces and moments (Ta, 6) at their sensors."""
    blocks, labels, units = [], [], []
    for number, (plate, components) in enumerate(zip(plates, components_of, strict=True), start=1):
        values, names, unit = plate.channels(components)
        blocks.append(values)
        labels += [f"Force.{name}{number}" for name in names]
        units += list(unit)
    return np.hstack(blocks), labels, units


def trial_parameters(trial: SimulatedTrial, events: bool, prefix: str) -> Parameters:
    """Return what the file's parameters say of the person, the plates and, where wanted, the events."""
    person = trial.body.person
    subject: dict[str, ParameterValue] = {
        "Bodymass": person.mass_kg,
        "Height": 1e3 * person.height_m,
        "MarkerDiameter": 1e3 * person.marker_diameter_m,
    }
    for name, value in trial.body.measures.items():
        base, _, side = name.rpartition("_")
        subject[side.upper() + "".join(word.capitalize() for word in base.split("_"))] = 1e3 * value
    parameters: dict[str, dict[str, ParameterValue]] = {
        "POINT": {"X_SCREEN": trial.options.forward.upper(), "Y_SCREEN": trial.options.up.upper()},
        "FORCE_PLATFORM": platforms(trial.plates, trial.options.R_LW),
        "SUBJECTS": {
            "USED": 1,
            "NAMES": [person.name],
            "LABEL_PREFIXES": [prefix],
            "IS_STATIC": int(trial.kind == "static"),
            "SEX": person.sex,
        },
        "PROCESSING": subject,
        "MANUFACTURER": {"COMPANY": "biodyn", "SOFTWARE": _SOFTWARE},
    }
    if events and trial.events:
        parameters["EVENT"] = {
            "USED": len(trial.events),
            "CONTEXTS": [SIDE_NAMES[event.side].capitalize() for event in trial.events],
            "LABELS": [_EVENT_LABELS[event.kind] for event in trial.events],
            "TIMES": np.array([[0.0, event.time_s] for event in trial.events]),
        }
    return parameters


def platforms(plates: Sequence[Plate], R_LW: FloatArray) -> dict[str, ParameterValue]:
    """Return the group FORCE_PLATFORM of plates, corners in laboratory axes."""
    counts = [plate.channel_count for plate in plates]
    channel = np.zeros((len(counts), max(counts)), dtype=np.int64)
    first = 1
    for row, count in enumerate(counts):
        channel[row, :count] = np.arange(first, first + count)
        first += count
    entries: dict[str, ParameterValue] = {
        "USED": len(plates),
        "TYPE": [plate.type for plate in plates],
        "ZERO": [1, 0],
        "CORNERS": np.array([1e3 * plate.corners_W @ R_LW.T for plate in plates]),
        "ORIGIN": np.array([1e3 * np.array(plate.origin_m) for plate in plates]),
        "CHANNEL": channel,
    }
    if any(plate.calibrated for plate in plates):
        # one shape for all: as large as the largest
        shape = np.max([plate.calibration().shape for plate in plates if plate.calibrated], axis=0)
        matrices = []
        for plate in plates:
            matrix = np.eye(*shape)
            if plate.calibrated:
                own = plate.calibration()
                matrix[: own.shape[0], : own.shape[1]] = own
            matrices.append(matrix.T)  # row index fastest: the transpose in C order
        entries["CAL_MATRIX"] = np.array(matrices)
    if any(plate.cop_polynomial is not None for plate in plates):
        none = np.zeros((2, 6))
        entries["FPCOPPOLY"] = np.array(
            [none if plate.cop_polynomial is None else plate.cop_polynomial for plate in plates]
        )
    return entries


def write_truth(path: str | Path, trial: SimulatedTrial) -> None:
    """Write the truth as compressed NPZ; `sample_data/README.md` describes the arrays."""
    model = trial.body.model
    arrays: dict[str, Any] = {
        "time_s": trial.time_s,
        "coordinates": np.array([coordinate.name for coordinate in model.coordinates]),
        "q_index": np.array([coordinate.q_index for coordinate in model.coordinates]),
        "v_index": np.array([coordinate.v_index for coordinate in model.coordinates]),
        "q": trial.q,
        "v": trial.v,
        "vdot": trial.vdot,
        "tau": trial.tau,
        "marker_labels": np.array(trial.labels),
        "bone_markers": trial.bone_markers.astype(np.float32),
        "R_LW": trial.options.R_LW,
        "link_names": np.array(model.multibody.body_names),
        "link_mass_kg": np.array([body.mass_kg for body in model.multibody.bodies]),
    }
    for side in SIDES:
        arrays[f"wrench_{side}"] = trial.wrench[side]
        arrays[f"measured_{side}"] = trial.measured[side]
    np.savez_compressed(path, **arrays)


def write_truth_table(path: str | Path, trial: SimulatedTrial) -> None:
    """Write the true angles (deg) and torques (Nm) as CSV, a column per coordinate."""
    coordinates = trial.body.model.coordinates
    columns = ["time_s"]
    values = [trial.time_s]
    for coordinate in coordinates:
        columns += [f"{coordinate.name}_deg", f"{coordinate.name}_Nm"]
        values += [np.degrees(trial.q[:, coordinate.q_index]), trial.tau[:, coordinate.v_index]]
    np.savetxt(path, np.column_stack(values), fmt="%.5f", delimiter=",", header=",".join(columns), comments="")
