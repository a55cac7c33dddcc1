"""Conventions of all modules: world frame, gravity, sides, percent axis.

World W is the ISB global frame: X forward, Y up, Z right (Wu & Cavanagh 1995). Inside the program everything is SI
(m, kg, s, rad, N, Nm); spatial vectors are [angular; linear] (Featherstone 2008); quaternions are w x y z.

Names carry frames (monogram notation): ``p_WM`` position of marker M in W, ``R_WB`` rotation that takes vectors of
body B into W, ``X_PB`` pose of B in its parent, ``F_Wo_W`` wrench about the world origin in world axes.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Side = Literal["r", "l"]
SIDES: Final[tuple[Side, Side]] = ("r", "l")
SIDE_NAMES: Final[dict[str, str]] = {"r": "right", "l": "left"}
# The lateral direction of a side along the world/segment Z axis (Z points right).
SIDE_SIGN: Final[dict[str, float]] = {"r": 1.0, "l": -1.0}
AXES: Final = ("x", "y", "z")

STANDARD_GRAVITY_M_S2: Final = 9.80665
GRAVITY_W: Final[tuple[float, float, float]] = (0.0, -STANDARD_GRAVITY_M_S2, 0.0)

CYCLE_POINTS: Final = 101  # 0-100 % of the gait cycle
# Share of a cycle from which it counts as known: its end, the next strike, need not meet a plate.
WHOLE_CYCLE: Final = 0.9


def other_side(side: Side) -> Side:
    """Return the opposite side."""
    return "l" if side == "r" else "r"


def with_side(name: str, side: str) -> str:
    """Return the name of a segment, joint or coordinate with its side suffix; `side` "" = no suffix."""
    return f"{name}_{side}" if side else name


def without_side(name: str, side: str) -> str:
    """Return the name of a segment, joint or coordinate without its side suffix; `side` "" = no suffix."""
    return name.removesuffix(f"_{side}") if side else name
