"""Hip centre of the Newington laboratory (Davis et al. 1991), as Plug-in Gait has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_SIGN, FloatArray
from biodyn.model.from_library.hip_centre import HipInput, hip_method


@hip_method("newington")
def newington(row: Mapping[str, Any], given: HipInput) -> FloatArray:
    """Centre from the row's constants `newington`: a distance C from leg length, tilted by two angles, behind the ASIS.

    The distance from ASIS to trochanter is the measured one, else it follows from leg length.
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
