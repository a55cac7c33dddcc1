"""Add the result to the C3D file of the walk: angles, moments, powers and forces as points, and events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from biodyn.conventions import AXES, FloatArray
from biodyn.errors import ResultError
from biodyn.io import file_sha256
from biodyn.io.events import StoredEvent
from biodyn.io.formats.c3d.point_and_event_writer import NewPoint, append_points_and_events
from biodyn.library.tables import entry_names, expand_sides, library_entry

if TYPE_CHECKING:
    from biodyn.output.figures.trial import TrialView


_SUFFIXES = {"angle": "_deg", "position": "_m", "torque": "_Nm"}
_EACH = {
    "angle": ("angle", "deg", "", "sign as in biodyn's tables (docs/conventions.md)"),
    "position": ("position", "m", "", "in World: X forward, Y up, Z right"),
    "torque": (
        "moment",
        "Nm",
        "_moment",
        "generalised, internal: positive if it accelerates its coordinate in the positive direction",
    ),
}


@dataclass(frozen=True, eq=False)
class Component:
    """One column of a channel. axis: 0, 1 or 2 for a channel of three components. positive: meaning of a positive number."""

    axis: int
    positive: str
    values: FloatArray


@dataclass(frozen=True, eq=False)
class Channel:
    """A channel with up to three components.

    group: angle, position, moment, power or force. unit: unit of the values. components: available components, (T,) each.
    """

    name: str
    group: str
    unit: str
    components: tuple[Component, ...]

    @property
    def three_components(self) -> FloatArray:
        """Return the values (T, 3) of the channel; components that the convention does not define are zero."""
        values = np.zeros((len(self.components[0].values), 3))
        for component in self.components:
            values[:, component.axis] = component.values
        return values

    @property
    def meaning(self) -> str:
        """Return the unit and the positive directions in one line."""
        parts = [f"{'xyz'[c.axis]}: {c.positive} +" for c in self.components]
        return f"{self.unit}; " + "; ".join(parts)

    def columns(self) -> Iterator[tuple[str, str, FloatArray]]:
        """Yield column name, unit and positive direction, and values (T,) of each component."""
        for c in self.components:
            single = len(self.components) == 1
            yield self.name if single else f"{self.name}_{'xyz'[c.axis]}", f"{self.unit}; {c.positive} +", c.values


def read_convention(name: str) -> Mapping[str, Any]:
    """Return a convention of the library; ResultError lists the available ones if it does not exist."""
    known = entry_names("conventions")
    if name not in known:
        raise ResultError(f"There is no convention '{name}'.", f"The conventions are {', '.join(known)}.")
    return library_entry("conventions", name)


def convention_channels(view: TrialView, name: str) -> tuple[Channel, ...]:
    """Return the channels of a convention that the result contains; NaN for missing values."""
    convention = read_convention(name)
    curves = _curves_by_name(view)
    mass_kg = view.record["subject"].get("mass_kg")
    exported = []
    for kind in convention.get("each", ()):
        group, unit, ending, positive = _EACH[kind]
        for key, values in curves.items():
            if key.startswith(f"{kind}/"):
                part = Component(0, positive, values)
                exported.append(Channel(key.split("/", 1)[1] + ending, group, unit, (part,)))
    for raw in convention.get("channel", ()):
        for side, entry in expand_sides(raw):
            factor = float(entry.get("factor", 1.0)) / (float(mass_kg) if entry.get("per_mass") else 1.0)
            parts = []
            for k, axis in enumerate(entry["axes"]):
                if axis["of"] in curves:
                    sign = axis["sign"] * (-1.0 if axis.get("mirror") and side == "l" else 1.0)
                    parts.append(
                        Component(entry.get("at", 0) + k, axis["positive"], sign * factor * curves[axis["of"]])
                    )
            if parts:
                exported.append(Channel(entry["name"], entry["group"], entry["unit"], tuple(parts)))
    return tuple(exported)


def _curves_by_name(view: TrialView) -> dict[str, FloatArray]:
    """Return every curve of a result by its name in conventions, in the units of the tables."""
    tables, curves = view.tables, {}
    for table, kinds in (("joint_angles", ("angle", "position")), ("joint_torques", ("torque",))):
        for column in tables[table].columns[1:]:
            for kind in kinds:
                if column.endswith(_SUFFIXES[kind]) and not column.startswith("residual_"):
                    name = column.removesuffix(_SUFFIXES[kind])
                    curves[f"{kind}/{name}"] = tables[table][column].to_numpy(dtype=np.float64)
    for column in tables["joint_powers"].columns[1:]:
        curves[f"power/{column.removesuffix('_W')}"] = tables["joint_powers"][column].to_numpy(dtype=np.float64)
    loads = tables["joint_moments"]
    for (joint, side, frame, quantity), rows in loads.groupby(
        ["joint", "side", "frame", "quantity"], observed=True, sort=False, dropna=False
    ):
        place = f"{joint}_{side}" if isinstance(side, str) and side else str(joint)
        for axis in AXES:
            curves[f"{quantity}/{place}/{frame}/{axis}"] = rows[axis].to_numpy(dtype=np.float64)
    return curves | _ground_forces(view)


def _ground_forces(view: TrialView) -> dict[str, FloatArray]:
    """Return the forces on the feet (T,), N, in World and in laboratory axes, by name."""
    table, R_WL = view.tables["ground_reaction"], np.asarray(view.record["world"]["R_WL"], dtype=np.float64)
    curves = {}
    for side in ("r", "l"):
        names = [f"ground_force_{side}_{axis}_N" for axis in AXES]
        if names[0] in table:
            force_W = table[names].to_numpy(dtype=np.float64)
            force_L = force_W @ R_WL  # R_WL^T f for every row
            for i, axis in enumerate(AXES):
                curves[f"ground_force/{side}/{axis}"] = force_W[:, i]
                curves[f"laboratory_force/{side}/{axis}"] = force_L[:, i]
    return curves


USUAL: Final = "plug_in_gait"
_GROUPS: Final = {"angle": "ANGLES", "moment": "MOMENTS", "power": "POWERS", "force": "FORCES"}
_LABELS: Final = {"foot_strike": "Foot Strike", "foot_off": "Foot Off"}
_CONTEXTS: Final = {"r": "Right", "l": "Left"}


def c3d_file(view: TrialView, convention: str, recording: Path | None) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the recording with the channels of a convention and the events added.

    Raises ResultError if the recording is not found or is not the analysed one; InputFileError if data cannot be added to it.
    """
    path = _find_recording(view, recording)
    points = [
        NewPoint(exported.name, _GROUPS[exported.group], exported.unit, exported.meaning, exported.three_components)
        for exported in convention_channels(view, convention or USUAL)
        if exported.group in _GROUPS
    ]
    made = view.record["input"]
    content, notes = append_points_and_events(path, points, _event_list(view), made.get("first_frame"))
    return {path.name: content}, notes


def _find_recording(view: TrialView, given: Path | None) -> Path:
    """Return the path of the recording, as given or from the record; ResultError unless its digest is unchanged."""
    made = view.record["input"]
    path = given if given is not None else Path(str(made.get("path", "")))
    again = "Give its path with --recording FILE."
    if not path.is_file():
        raise ResultError(f"The recording '{made.get('file', path.name)}' is not at '{path}'.", again)
    if file_sha256(path) != made.get("sha256"):
        raise ResultError(f"'{path}' is not the analysed recording: its digest differs.", again)
    if path.suffix.lower() != ".c3d":
        raise ResultError(
            f"'{path.name}' is not a C3D file, so the result cannot be added to it.", "Export to mat or xlsx."
        )
    return path


def _event_list(view: TrialView) -> list[StoredEvent]:
    table = view.tables["events"]
    return [
        StoredEvent(_LABELS[str(event)], _CONTEXTS[str(side)], float(time_s))
        for time_s, side, event in zip(table["time_s"].to_numpy(), table["side"], table["event"], strict=True)
    ]
