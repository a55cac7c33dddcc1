"""The walk's own C3D with the result added: angles, moments, powers and forces as points, and the events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from biodyn.conventions import AXES, FloatArray
from biodyn.errors import ResultError, printable
from biodyn.io import file_sha256
from biodyn.io.formats.c3d.append import NewEvent, NewPoint, appended
from biodyn.library.tables import entry_names, expand_sides, library_entry

if TYPE_CHECKING:
    from biodyn.output.figures.trial import TrialView


_SUFFIXES = {"angle": "_deg", "position": "_m", "torque": "_Nm"}
_EACH = {
    "angle": ("angle", "deg", "", "positive as the coordinate of biodyn's tables (docs/conventions.md)"),
    "position": ("position", "m", "", "in World: X forward, Y up, Z right"),
    "torque": (
        "moment",
        "Nm",
        "_moment",
        "generalised, internal: positive where it accelerates its coordinate positively",
    ),
}


@dataclass(frozen=True, eq=False)
class Component:
    """One column of a channel. axis: 0, 1, 2 where the channel has three. positive: what a positive number means."""

    axis: int
    positive: str
    values: FloatArray


@dataclass(frozen=True, eq=False)
class Channel:
    """A curve, or a triple of them.

    group: angle, position, moment, power, force. unit: of the numbers. components: those that the result holds, (T,) each.
    """

    name: str
    group: str
    unit: str
    components: tuple[Component, ...]

    @property
    def triple(self) -> FloatArray:
        """The components (T, 3), zero where the convention has none."""
        values = np.zeros((len(self.components[0].values), 3))
        for component in self.components:
            values[:, component.axis] = component.values
        return values

    @property
    def meaning(self) -> str:
        """Unit and positive directions in one line."""
        parts = [f"{'xyz'[c.axis]}: {c.positive} +" for c in self.components]
        return f"{self.unit}; " + "; ".join(parts)

    def columns(self) -> Iterator[tuple[str, str, FloatArray]]:
        """Yield name, meaning and values (T,) of each component."""
        for c in self.components:
            single = len(self.components) == 1
            yield self.name if single else f"{self.name}_{'xyz'[c.axis]}", f"{self.unit}; {c.positive} +", c.values


def convention_named(name: str) -> Mapping[str, Any]:
    """Return a convention of the library; ResultError names those there are."""
    known = entry_names("conventions")
    if name not in known:
        raise ResultError(f"Convention '{name}' does not exist.", f"There are {', '.join(known)}.")
    return library_entry("conventions", name)


def convention_channels(view: TrialView, name: str) -> tuple[Channel, ...]:
    """Return the channels of a convention that the result holds; NaN where it holds no number."""
    convention = convention_named(name)
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
    """Every curve of a result by the name that conventions have for it, in the tables' units."""
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
    """Forces on the feet in World and in the laboratory's axes."""
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

    Raises ResultError where the recording is not found, or is not the one that was analysed; InputFileError where it cannot
    be added to.
    """
    path = _find_recording(view, recording)
    points = [
        NewPoint(exported.name, _GROUPS[exported.group], exported.unit, exported.meaning, exported.triple)
        for exported in convention_channels(view, convention or USUAL)
        if exported.group in _GROUPS
    ]
    made = view.record["input"]
    content, notes = appended(path, points, _event_list(view), made.get("first_frame"))
    return {path.name: content}, notes


def _find_recording(view: TrialView, given: Path | None) -> Path:
    """The walk's own file: the one that was named, else where it was analysed; it must be the same still."""
    made = view.record["input"]
    path = given if given is not None else Path(str(made.get("path", "")))
    again = "Name it with --recording FILE."
    if given is None and not path.is_file():
        path = _shown_as(path) or path
    if not path.is_file():
        raise ResultError(f"The recording '{made.get('file', path.name)}' is not at '{path}'.", again)
    if file_sha256(path) != made.get("sha256"):
        raise ResultError(f"'{path}' is not the recording that was analysed: its digest differs.", again)
    if path.suffix.lower() != ".c3d":
        raise ResultError(
            f"'{path.name}' is not a C3D file: the result cannot be written into it.", "Export to mat or xlsx."
        )
    return path


def _shown_as(path: Path) -> Path | None:
    """Return the file of a recorded path; records contain unprintable characters as escapes."""
    folder = Path(path.anchor)
    for part in path.parts[1:] if path.anchor else path.parts:
        exact = folder / part
        try:
            named = (
                [exact] if exact.exists() else [entry for entry in folder.iterdir() if part in _file_label(entry.name)]
            )
        except OSError:
            return None
        if len(named) != 1:
            return None
        (folder,) = named
    return folder


def _file_label(name: str) -> tuple[str, str]:
    return printable(name), printable(name, keep="\n\t")


def _event_list(view: TrialView) -> list[NewEvent]:
    table = view.tables["events"]
    return [
        NewEvent(float(time_s), _CONTEXTS[str(side)], _LABELS[str(event)])
        for time_s, side, event in zip(table["time_s"].to_numpy(), table["side"], table["event"], strict=True)
    ]
