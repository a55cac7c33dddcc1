"""How a person walks: the published curves that a simulated walk stays near, at any speed, or with stiff or bent knees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from biodyn.errors import SettingsError
from biodyn.library.toml_files import suggest_name
from simulator.tables import load_data


@dataclass(frozen=True)
class Style:
    """Curves as in gait.toml, and limits of what the ground gives: body weights, friction."""

    table: Mapping[str, Any]
    least_bw: float = 0.65
    most_bw: float = 1.30
    most_friction: float = 0.22

    def shifted(self, degrees: Mapping[str, float]) -> Style:
        """Return the style with other means of some coordinates."""
        coordinates = dict(self.table["coordinates"])
        for name, shift in degrees.items():
            coordinates[name] = _changed(coordinates[name], {"shift_deg": shift}, 1.0)
        return replace(self, table={**self.table, "coordinates": coordinates})


def normal_style() -> Style:
    """Return the published curves as they are."""
    return Style(load_data("gait"))


def style_of(name: str, speed_m_s: float) -> Style:
    """Return a style of styles.toml at a speed; SettingsError for an unknown one."""
    styles = load_data("styles")
    if name not in styles["style"]:
        raise SettingsError(f"There is no style of walking '{name}'.", suggest_name(name, list(styles["style"])))
    changes, speed = styles["style"][name], styles["speed"]
    gait = load_data("gait")
    more = speed_m_s - gait["timing"]["reference_speed_m_s"]
    faster = speed_m_s / gait["timing"]["reference_speed_m_s"]
    coordinates = {
        coordinate: _changed(entry, changes.get(coordinate, {}), faster ** speed["angles"])
        for coordinate, entry in gait["coordinates"].items()
    }
    ground = {
        axis: entry if axis == "push" else _changed(entry, {}, faster ** speed["forces"])
        for axis, entry in gait["ground"].items()
    }
    return Style(
        {**gait, "timing": {**gait["timing"], **styles["timing"]}, "coordinates": coordinates, "ground": ground},
        least_bw=min(speed["least_bw"], speed["least_bw"] + more * speed["least_bw_per_m_s"]),
        most_bw=max(speed["most_bw"], speed["most_bw"] + more * speed["most_bw_per_m_s"]),
        most_friction=max(speed["most_friction"], speed["most_friction"] + more * speed["most_friction_per_m_s"]),
    )


def _changed(entry: Mapping[str, Any], change: Mapping[str, float], size: float) -> dict[str, Any]:
    factor = size * change.get("scale", 1.0)
    changed = {**entry, **{part: [factor * value for value in entry[part]] for part in ("cos", "sin")}}
    if "mean" in entry:
        changed["mean"] = entry["mean"] + change.get("shift_deg", 0.0)
    return changed
