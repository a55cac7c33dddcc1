"""What the estimate of one unbroken stretch of a trial is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.estimation.deviation import Knots, Path
from biodyn.estimation.inertias import InertiaUnknowns
from biodyn.estimation.plates import PlateUnknowns
from biodyn.estimation.sizes import Sizes
from biodyn.model.body_model import SubjectModel
from biodyn.rigid_body.jacobians import on_path


@dataclass(frozen=True)
class Problem:
    """One stretch of T frames.

    Attributes:
        model: the body; start: the motion that the estimate deviates from; knots: of the spline of the deviation.
        seen_at: (T, M, 3) m markers as measured, gaps filled; weights: (T, M) of the fit, 0 where unseen.
        wrenches: (T, K, 6) on the links `wrench_links` (K,), about the world's origin.
        balanced: (T,) frames in which every contact is known, so that the whole body must be in balance; to_close: the same, and
            those at the ends of the recording where the accelerations of the start are no use.
        torque_rows: (R,) places in v of the torques that are held smooth; torque_known: (T, R) where they are known;
            torque_change_nm: (R,) of `torques.SmoothTorques`.
        since_strike_s: (T, 2) of `strikes.since_strikes`.
        inertias: what the trial may change of the body's inertias; plates: of its plates.
        tells_constants: whether inertias, plates and the error of the balance are found from this stretch.
    """

    model: SubjectModel
    start: Path
    knots: Knots
    sizes: Sizes
    seen_at: FloatArray
    weights: FloatArray
    wrenches: FloatArray
    wrench_links: IntArray
    balanced: BoolArray
    to_close: BoolArray
    torque_rows: IntArray
    torque_known: BoolArray
    torque_change_nm: FloatArray
    since_strike_s: FloatArray
    inertias: InertiaUnknowns
    plates: PlateUnknowns
    tells_constants: bool = True

    @property
    def strikes_known(self) -> bool:
        """Whether a foot struck a plate near this stretch."""
        return bool(np.isfinite(self.since_strike_s).any())

    @cached_property
    def torque_groups(self) -> tuple[tuple[IntArray, IntArray], ...]:
        """Torques that depend on the same coordinates: their places in `torque_rows`, and those of the coordinates in v.

        A torque depends on what moves the bodies beyond its joint: the path to them, and the joints among them.
        """
        mb = self.model.multibody
        moves = np.stack([on_path(mb, body) for body in range(len(mb.bodies))])
        groups: dict[bytes, list[int]] = {}
        for row, place in enumerate(self.torque_rows):
            support = moves[moves[:, place]].any(axis=0)
            groups.setdefault(support.tobytes(), []).append(row)
        return tuple(
            (np.array(rows), np.flatnonzero(np.frombuffer(support, dtype=bool))) for support, rows in groups.items()
        )
