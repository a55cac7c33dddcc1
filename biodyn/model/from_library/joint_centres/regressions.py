"""Hip centre by regression on pelvis and leg sizes: linear (Harrington 2007, Hara 2016, Bell 1990) and Newington (Davis 1991)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_SIGN, FloatArray
from biodyn.model.from_library.hip_centre import HipInput, register_hip_method


@register_hip_method("linear_regression")
def linear_hip_regression(row: Mapping[str, Any], given: HipInput) -> FloatArray:
    """Return the centre from the coefficients `x`, `y`, `z` (lateral) of PD, PW, LL and a constant in m.

    The origin of the regressions is the skin at the ASIS; the marker centre is one marker radius in front of it.
    """
    sizes = {"PD": given.pelvis_depth_m, "PW": given.pelvis_width_m, "LL": given.leg_length_m, "constant": 1.0}
    x, y, z = (sum(factor * sizes[name] for name, factor in row[axis].items()) for axis in "xyz")
    return np.array([float(x) - given.marker_radius_m, float(y), float(z) * SIDE_SIGN[given.side]])


@register_hip_method("newington")
def newington_hip_centre(row: Mapping[str, Any], given: HipInput) -> FloatArray:
    """Return the centre from the constants `newington`: a distance C from leg length in a direction defined by two angles,
    behind the ASIS.

    The distance from ASIS to trochanter is estimated from leg length if it was not measured.
    """
    k = row["newington"]
    c = k["c_LL"] * given.leg_length_m + k["c_constant"]
    at = k["at_LL"] * given.leg_length_m + k["at_constant"]
    behind = (at if given.asis_trochanter_m is None else given.asis_trochanter_m) + given.marker_radius_m
    theta, beta = k["theta_rad"], k["beta_rad"]
    x = float(c * np.cos(theta) * np.sin(beta) - behind * np.cos(beta))
    y = float(-c * np.cos(theta) * np.cos(beta) - behind * np.sin(beta))
    z = float(0.5 * given.pelvis_width_m - c * np.sin(theta))
    return np.array([x, y, z * SIDE_SIGN[given.side]])
