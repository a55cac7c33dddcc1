"""Hip joint centre from the size of the pelvis: the regressions of the library."""

from __future__ import annotations

from typing import Any

import numpy as np

from biodyn.errors import ModelError
from biodyn.library.load import is_path, load_table, nearest
from biodyn.library.tables import load_entry


def hip_centre_names() -> tuple[str, ...]:
    """Names of the regressions of the library."""
    return tuple(load_table("body/joint_centres/hip"))


def hip_regression(name: str) -> dict[str, Any]:
    """Return the row of a regression: the library's by name, or a user's own TOML file that holds one."""
    if is_path(name):
        return load_entry("hip_centres", name)
    table = load_table("body/joint_centres/hip")
    if name not in table:
        raise ModelError(f"Hip centre regression '{name}' is not known.", nearest(name, table))
    return dict(table[name])


def hip_centre(
    regression: str,
    *,
    pelvis_depth_m: float,
    pelvis_width_m: float,
    leg_length_m: float,
    marker_radius_m: float,
    asis_trochanter_m: float | None = None,
) -> tuple[float, float, float]:
    """Return (x, y, z) m of a hip centre from the middle of the ASIS markers: X anterior, Y up, Z towards the hip's side.

    The regressions start at the skin over the ASIS; the marker's centre lies its radius in front of it. Source: the
    citation of each regression in `hip_centres.toml`.
    """
    row = hip_regression(regression)
    if "newington" in row:
        k = row["newington"]
        c = k["c_LL"] * leg_length_m + k["c_constant"]
        at = k["at_LL"] * leg_length_m + k["at_constant"] if asis_trochanter_m is None else asis_trochanter_m
        behind = at + marker_radius_m
        theta, beta = k["theta_rad"], k["beta_rad"]
        return (
            float(c * np.cos(theta) * np.sin(beta) - behind * np.cos(beta)),
            float(-c * np.cos(theta) * np.cos(beta) - behind * np.sin(beta)),
            float(0.5 * pelvis_width_m - c * np.sin(theta)),
        )
    sizes = {"PD": pelvis_depth_m, "PW": pelvis_width_m, "LL": leg_length_m, "constant": 1.0}
    x, y, z = (sum(factor * sizes[name] for name, factor in row[axis].items()) for axis in "xyz")
    return float(x) - marker_radius_m, float(y), float(z)
