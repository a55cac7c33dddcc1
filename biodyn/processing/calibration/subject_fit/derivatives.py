"""How far each marker moves when an unknown changes and the coordinates do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.geometry.rotations import axis_angle, skew
from biodyn.model.body_model import AttachedMarker, SubjectModel
from biodyn.model.static_figure import StaticFigure
from biodyn.processing.calibration.subject_fit.unknowns import Unknowns
from biodyn.rigid_body import body_poses

_UP = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class Posed:
    """A model in some configurations: poses (T, 3, 3), (T, 3) by segment, and its markers p_WM (T, M, 3) m."""

    R_WB: Mapping[str, FloatArray]
    p_WB: Mapping[str, FloatArray]
    p_WM: FloatArray

    def of(self, rows: slice) -> Posed:
        """Return some of the configurations."""
        R_WB, p_WB = ({name: poses[rows] for name, poses in every.items()} for every in (self.R_WB, self.p_WB))
        return Posed(R_WB, p_WB, self.p_WM[rows])


def posed(model: SubjectModel, q: FloatArray) -> Posed:
    """Return the poses of a model's segments and markers for q (T, nq)."""
    R, p = body_poses(model.multibody, q)
    poses = {body.definition.name: model.body_poses(R, p, body.definition.name) for body in model.bodies}
    columns = [poses[m.body][1] + poses[m.body][0] @ m.p_BM for m in model.markers]
    return Posed(
        {name: pose[0] for name, pose in poses.items()},
        {name: pose[1] for name, pose in poses.items()},
        np.stack(columns, axis=1),
    )


def joint_jacobian(model: SubjectModel, unknowns: Unknowns, q: FloatArray, at: Posed) -> FloatArray:
    """Return (T, M, 3, J): derivative of the marker positions with respect to `of_joints`, at fixed q (T, nq), in World.

    A joint centre that is believed a step s (World, static trial) elsewhere leaves the standing person as it is, so the
    segment a above and all below the segment b beyond the joint move against each other by (R_a - R_b) s, with R the
    turns of the segments since standing. Hinges follow the axes of the segment above, which follow its long axis.
    """
    figure = StaticFigure.of(model)
    J = np.zeros((len(q), len(model.markers), 3, unknowns.of_joints))
    since = {name: R @ figure.R_WB[name].T for name, R in at.R_WB.items()}  # turns since standing
    carried = {name: figure.carried(name) for name in figure.parent}
    on = {name: np.array([i for i, m in enumerate(model.markers) if m.body in carried[name]]) for name in figure.parent}
    hinges = _hinges(model, figure, q, at, on)

    for name, column in unknowns.centres.items():
        above = figure.parent[name]
        axes = unknowns.start.R_WB[above]  # of the shift
        J[:, on[name], :, column : column + 3] += ((since[above] - since[name]) @ axes)[:, None]
        for segment, sign in ((name, 1.0), (above, -1.0)):  # near end and far end of a long axis
            end = figure.far_end.get(segment)
            if end in hinges and (segment == name or end == name):
                along = figure.p_WB[end] - figure.p_WB[segment]
                turn = figure.R_WB[segment].T @ skew(along) @ axes * (-sign / (along @ along))
                J[:, on[end], :, column : column + 3] += hinges[end] @ turn
    for name, column in unknowns.turns.items():
        end = figure.far_end.get(name)
        if end in hinges:
            J[:, on[end], :, column : column + 1] += hinges[end] @ _UP[:, None]
    for name, column in unknowns.postures.items():
        above = figure.parent[name]
        J[:, on[name], :, column : column + 3] += at.R_WB[above][:, None]
    return J


def marker_place(marker: AttachedMarker, unknowns: Unknowns, at: Posed) -> tuple[IntArray, FloatArray]:
    """Return the numbers (c,) of the unknowns that are a marker's own place, none or three, and its derivative (T, 3, c)."""
    R_WB = at.R_WB[marker.body]
    if marker.label not in unknowns.markers:
        return np.zeros(0, dtype=np.int64), R_WB[:, :, :0]
    return unknowns.markers[marker.label] + np.arange(3), R_WB


def _hinges(
    model: SubjectModel, figure: StaticFigure, q: FloatArray, at: Posed, on: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """By segment whose joint is no ball: (T, m, 3, 3) movement of the markers beyond when the axes above turn by w (their axes).

    The joint's first rotation D becomes D + w x D - D w x: the markers beyond turn by w - D w about the centre.
    """
    found = {}
    for body in model.moving:
        definition = body.definition
        free = [c for c in model.coordinates if c.body == definition.name]
        above = definition.parent
        if len(free) >= 3 or not free or not figure.parent[above] or not len(on[definition.name]):
            continue
        first = definition.rotations[0]
        if first.coordinate != free[0].name:
            continue
        D = axis_angle(first.axis, q[:, free[0].q_index] - body.static_angles_rad[0])
        turn = at.R_WB[above] @ (np.eye(3) - D)  # (T, 3, 3)
        arm = at.p_WM[:, on[definition.name]] - at.p_WB[definition.name][:, None]  # (T, m, 3)
        # (turn w) x arm = -skew(arm) turn w
        S = np.zeros((*arm.shape, 3))
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            S[..., j, i], S[..., i, j] = arm[..., k], -arm[..., k]
        found[definition.name] = -S @ turn[:, None]
    return found
