"""Hip centre by linear regression on pelvis depth, pelvis width and leg length: Harrington 2007, Hara 2016, Bell 1990."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biodyn.conventions import SIDE_SIGN, FloatArray
from biodyn.model.from_library.hip_centre import HipInput, hip_method


@hip_method("linear_regression")
def linear_regression(row: Mapping[str, Any], given: HipInput) -> FloatArray:
    """Centre from the row's coefficients `x`, `y`, `z` (towards the hip's side) of PD, PW, LL and a constant in m.

    The regressions start at the skin over the ASIS; the marker's centre lies its radius in front of it.
    """
    sizes = {"PD": given.pelvis_depth_m, "PW": given.pelvis_width_m, "LL": given.leg_length_m, "constant": 1.0}
    x, y, z = (sum(factor * sizes[name] for name, factor in row[axis].items()) for axis in "xyz")
    return np.array([float(x) - given.marker_radius_m, float(y), float(z) * SIDE_SIGN[given.side]])
