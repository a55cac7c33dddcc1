"""Joint torques, three-dimensional joint moments and forces, powers and the base residual of a motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, Side, without_side
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.rotations import cross
from biodyn.library.tables import segment_title, sided_rows
from biodyn.model.body_model import SubjectModel
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.recording import GroundReaction, Markers
from biodyn.rigid_body import body_poses, inverse_dynamics_with_joint_wrenches, joint_jacobians

# R_WB (T, 3, 3) and p_WB (T, 3) m of each segment.
_Poses = Mapping[str, tuple[FloatArray, FloatArray]]


def express_in_three_point_axes(
    dynamics: Dynamics, fit: Fit, markers: Markers, label_of: Mapping[str, str]
) -> tuple[Dynamics, tuple[Diagnostic, ...]]:
    """Return the dynamics with joint moments and forces in three-point axes where markers define them, with findings.

    Parameters:
        markers: marker positions (T, M, 3) m in World, as used in the fit. label_of: marker label of each landmark.

    Frames in which a marker of a segment is missing keep the axes of the fitted segment, and the number of these frames is
    reported.
    """
    names = [body.definition.name for body in fit.model.bodies]
    poses = dict(zip(names, fit.body_poses(*names), strict=True))
    axes, missing, unseen = {}, [], {}
    for _, row in sided_rows("body/three_points", "segment"):
        if row["body"] not in fit.model.frames:
            continue
        segment_axes = _three_point_axes(
            fit.model, poses, markers, row["body"], [label_of.get(row["end"]), label_of.get(row["plane"])]
        )
        if segment_axes is None:
            missing.append(row["body"])
            continue
        axes[row["body"]], seen = segment_axes
        if not seen[fit.reliable].all():
            unseen[row["body"]] = int((fit.reliable & ~seen).sum())
    joints = tuple(_express_in_axes(load, fit.model, poses, axes) for load in dynamics.joints)
    return replace(dynamics, joints=joints), _missing_marker_notes(missing, unseen)


def _missing_marker_notes(missing: Sequence[str], unseen: Mapping[str, int]) -> tuple[Diagnostic, ...]:
    notes = []
    if missing:
        names = ", ".join(map(segment_title, missing))
        text = (
            f"Moments of {names} are expressed in the axes of the fitted segments, because their three markers are "
            "not available."
        )
        notes.append(Diagnostic("moment-axes", "info", text))
    if unseen:
        frames = ", ".join(f"{segment_title(body)} ({count})" for body, count in unseen.items())
        text = (
            "In frames without one of the three markers, moments are expressed in the axes of the fitted segment: "
            f"{frames}."
        )
        hint = "Components of moments may jump where the axes change. Fill the gaps in the capture software."
        notes.append(Diagnostic("moment-axes", "info", text, hint=hint))
    return tuple(notes)


def _three_point_axes(
    model: SubjectModel, poses: _Poses, markers: Markers, body: str, labels: list[str | None]
) -> tuple[FloatArray, BoolArray] | None:
    """Return R_WB (T, 3, 3) from the joint centre and two markers of a segment, and the frames (T,) with both; None
    without them."""
    places = {marker.label: marker.p_BM for marker in model.markers if marker.body == body}
    known = [label for label in labels if label in places and label in markers.labels]
    if len(known) < len(labels):
        return None
    R_WB, p_WB = poses[body]
    static_axes = _axes_from_points(np.zeros(3), *(places[label] for label in known))
    moving_axes = _axes_from_points(p_WB, *(markers.positions[:, markers.labels.index(label)] for label in known))
    if not np.isfinite(static_axes).all():
        return None
    turned = moving_axes @ static_axes.T
    seen: BoolArray = np.asarray(np.isfinite(turned).all(axis=(1, 2)))
    return np.where(seen[:, None, None], turned, R_WB), seen


def _axes_from_points(centre: FloatArray, end: FloatArray, plane: FloatArray) -> FloatArray:
    """Return the axes (..., 3, 3): Y from `end` to `centre`, `plane` in the plane of Y and Z; NaN for collinear points."""
    # least sine of the angle between the line and the marker of the plane, because collinear points do not define axes
    least_sine = 0.02
    y = centre - end
    y = y / np.linalg.norm(y, axis=-1, keepdims=True)
    x = cross(y, plane - end)
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    x = np.where(length > least_sine * np.linalg.norm(plane - end, axis=-1, keepdims=True), x / length, np.nan)
    return np.stack([x, y, cross(x, y)], axis=-1)


def _express_in_axes(load: JointLoad, model: SubjectModel, poses: _Poses, axes: Mapping[str, FloatArray]) -> JointLoad:
    """Return the load expressed in the three-point axes of its two segments, or unchanged if neither segment has them."""
    definition = next(
        b.definition for b in model.moving_segments if _belongs_to_joint(b.definition.joint, b.definition.side, load)
    )
    if definition.parent not in axes and definition.name not in axes:
        return load
    R_WP, R_WB = poses[definition.parent][0], poses[definition.name][0]
    new_P, new_B = axes.get(definition.parent, R_WP), axes.get(definition.name, R_WB)
    frames = {"proximal": new_P, "distal": new_B, "jcs": joint_coordinate_axes(new_P, new_B)}

    def project_on_frames(components: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        vector_W = np.einsum("tij,tj->ti", R_WP, components["proximal"])
        return {frame: np.einsum("tji,tj->ti", R, vector_W) for frame, R in frames.items()}

    return replace(load, moment=project_on_frames(load.moment), force=project_on_frames(load.force))


def _belongs_to_joint(joint: str, side: str, load: JointLoad) -> bool:
    return side == load.side and without_side(joint, side) == load.joint


FRAMES = ("proximal", "distal", "jcs")
PLANES = ("sagittal", "frontal", "transverse")
TRANSLATION = "translation"
# Plane of rotation about each axis of a segment: x anterior, y proximal, z right.
_PLANE_OF_AXIS = ("frontal", "transverse", "sagittal")


@dataclass(frozen=True)
class JointLoad:
    """Net moment and force of the proximal segment on the distal segment at a joint centre.

    Attributes:
        joint, side: name without side, and the side ("" for midline joints).
        moment, force: (T, 3) Nm and N along x, y, z of each frame (proximal, distal, jcs); NaN where a ground contact distal to
            the joint was not measured. Axes of jcs (Grood & Suntay 1983): x is the floating axis, y the distal long axis, z the
            proximal transverse axis; components are projections on these axes.
        power: (T,) W, sum of torque times rate over the coordinates of the joint.
        power_parts: power (T,) W in each plane (`PLANES`), and of "translation"; their sum is `power`.
        valid: (T,) bool.
    """

    joint: str
    side: str
    moment: Mapping[str, FloatArray]
    force: Mapping[str, FloatArray]
    power: FloatArray
    power_parts: Mapping[str, FloatArray]
    valid: BoolArray


@dataclass(frozen=True)
class Dynamics:
    """Inverse dynamics of a trial.

    Attributes:
        tau: (T, nv) generalised forces along v; NaN rows where the motion is unknown; *not* masked for unmeasured contacts.
        torques: (T, C) Nm per free coordinate, NaN where not valid; `torque_valid` (T, C) bool.
        residual_force, residual_moment: (T, 3) N and Nm in World axes, moment about the origin of the root, required at the
            root to satisfy the equations of motion; NaN unless the contact of every foot is known.
        residual_valid: (T,) bool.
        joints: loads at every free joint.
        reason: T strings, why results are missing in each frame; "" if none is missing.
        foot_wrench_links: (K,) link indices. foot_wrenches: (T, K, 6) ground wrenches used in the recursion.
    """

    tau: FloatArray
    torques: FloatArray
    torque_valid: BoolArray
    residual_force: FloatArray
    residual_moment: FloatArray
    residual_valid: BoolArray
    joints: tuple[JointLoad, ...]
    reason: tuple[str, ...]
    foot_wrench_links: np.ndarray
    foot_wrenches: FloatArray


@dataclass(frozen=True)
class KnownLoads:
    """Known ground wrenches, and the frames in which they determine torques.

    Attributes:
        links: (K,) link indices of the feet. wrenches: (T, K, 6) ground wrenches on them, 0 where unknown.
        balanced: (T,) frames in which the contact of every foot and every coordinate is known.
        torque_valid: (T, C) frames in which the torque of each coordinate is determined.
        valid_body: (T,) frames in which the load of the joint is determined, by segment.
    """

    links: np.ndarray
    wrenches: FloatArray
    balanced: BoolArray
    torque_valid: BoolArray
    valid_body: dict[str, BoolArray]


def known_loads(fit: Fit, reaction: GroundReaction) -> KnownLoads:
    """Return the wrenches on the feet, and the frames in which they determine torques.

    A torque is valid if the contact of every foot distal to its joint is known. If the other foot is off the plates, torques of
    the swing leg remain valid, but the base residual does not.
    """
    model, known = fit.model, fit.reliable
    sides: list[Side] = [side for side in reaction.wrench if side in model.sole_body]
    below = distal_feet(model, sides)
    measured = {side: reaction.measured[side] & known for side in sides}
    balanced = [reaction.balanced_frames(side) & known for side in sides]
    valid_body = {
        body.definition.name: np.logical_and.reduce(
            [known, ~distally_unknown_frames(fit, body.definition.name)]
            + [measured[side] for side in below[body.definition.name]]
        )
        for body in model.bodies
    }
    return KnownLoads(
        links=np.array([model.frames[model.sole_body[side]].link for side in sides], dtype=np.int64),
        # Unknown wrenches are set to zero; the results that depend on them are masked.
        wrenches=np.nan_to_num(np.stack([reaction.wrench[side] for side in sides], axis=1)),
        balanced=np.logical_and.reduce(balanced) & ~fit.lost.any(axis=1),
        torque_valid=np.stack([valid_body[c.body] for c in model.coordinates], axis=1),
        valid_body=valid_body,
    )


def solve_dynamics(fit: Fit, reaction: GroundReaction) -> Dynamics:
    """Run the recursive Newton-Euler algorithm over the trial with the ground wrenches on the feet (`known_loads`)."""
    model, motion, known = fit.model, fit.motion, fit.reliable
    loads = known_loads(fit, reaction)
    tau = np.full_like(motion.v, np.nan)
    transmitted = np.full((len(tau), len(model.multibody.body_names), 6), np.nan)
    frames, frames_at_once = np.flatnonzero(known), 5000  # which bounds the memory
    for rows in np.split(frames, range(frames_at_once, len(frames), frames_at_once)):
        tau[rows], transmitted[rows] = inverse_dynamics_with_joint_wrenches(
            model.multibody, motion.q[rows], motion.v[rows], motion.vdot[rows], loads.wrenches[rows], loads.links
        )
    torques = np.where(loads.torque_valid, tau[:, [c.v_index for c in model.coordinates]], np.nan)
    return mask_unknown_dynamics(fit, reaction, loads, tau, torques, transmitted)


def mask_unknown_dynamics(
    fit: Fit, reaction: GroundReaction, loads: KnownLoads, tau: FloatArray, torques: FloatArray, transmitted: FloatArray
) -> Dynamics:
    """Return the result of inverse dynamics, masked where a relevant contact is unknown.

    Parameters:
        loads: wrenches, and the frames in which results are valid. tau: (T, nv) generalised forces.
        torques: (T, C) of the coordinates. transmitted: (T, L, 6) wrenches transmitted by the joints.
    """
    sides: list[Side] = [side for side in reaction.wrench if side in fit.model.sole_body]
    planes = rotation_planes(fit.model)
    residual_force, residual_moment = np.empty((len(tau), 3)), np.empty((len(tau), 3))
    loads_of_joints = {name: np.empty((2, len(tau), 7)) for name in planes}
    for rows, R, p in fit.link_pose_blocks():
        residual = np.where(loads.balanced[rows, None], tau[rows, :6], np.nan)
        residual_force[rows] = np.einsum("tij,tj->ti", R[:, 0], residual[:, 3:])
        residual_moment[rows] = np.einsum("tij,tj->ti", R[:, 0], residual[:, :3])
        for name, values in loads_of_joints.items():
            values[:, rows] = compute_joint_load(fit.model, R, p, transmitted[rows], name)
    return Dynamics(
        tau=tau,
        torques=torques,
        torque_valid=loads.torque_valid,
        residual_force=residual_force,
        residual_moment=residual_moment,
        residual_valid=loads.balanced,
        joints=tuple(
            mask_joint_load(fit, tau, values, name, planes[name], loads.valid_body[name])
            for name, values in loads_of_joints.items()
        ),
        reason=tuple(reasons_for_missing_loads(fit, reaction, sides)),
        foot_wrench_links=loads.links,
        foot_wrenches=loads.wrenches,
    )


def distal_feet(model: SubjectModel, sides: list[Side]) -> dict[str, list[Side]]:
    """Return the feet distal to the joint of each segment; the load of the joint is known only with their contacts."""
    parent = {body.definition.name: body.definition.parent for body in model.bodies}
    below: dict[str, list[Side]] = {name: [] for name in parent}
    for side in sides:
        name = model.sole_body[side]
        while name:
            below[name].append(side)
            name = parent[name]
    return below


def distally_unknown_frames(fit: Fit, name: str) -> BoolArray:
    """Return a mask (T,) of the frames in which a coordinate at or distal to the joint of a segment is unknown."""
    parent = {body.definition.name: body.definition.parent for body in fit.model.bodies}
    lost = np.zeros(len(fit.lost), dtype=bool)
    for column in np.flatnonzero(fit.lost.any(axis=0)):
        body = fit.model.coordinates[column].body
        while body:
            if body == name:
                lost |= fit.lost[:, column]
            body = parent[body]
    return lost


def compute_joint_load(
    model: SubjectModel, R: FloatArray, p: FloatArray, transmitted: FloatArray, name: str
) -> FloatArray:
    """Return moment and force (2, T, 7) of the joint of a segment: proximal x, y, z, distal x, y, z, and the floating axis.

    R, p: (T, L, 3, 3), (T, L, 3) poses of the links. transmitted: (T, L, 6) wrenches that the joints transmit, in link axes.
    """
    link = model.joint_link(name)
    R_WP, _ = model.body_poses(R, p, model.skeleton.body(name).parent)
    R_WB, _ = model.body_poses(R, p, name)
    floating_axis = joint_coordinate_axes(R_WP, R_WB)[..., 0]
    values = np.empty((2, len(R), 7))
    for components, vector_L in zip(values, (transmitted[:, link, :3], transmitted[:, link, 3:]), strict=True):
        vector_W = np.einsum("tij,tj->ti", R[:, link], vector_L)
        components[:, :3] = np.einsum("tji,tj->ti", R_WP, vector_W)
        components[:, 3:6] = np.einsum("tji,tj->ti", R_WB, vector_W)
        components[:, 6] = np.einsum("ti,ti->t", floating_axis, vector_W)
    return values


def mask_joint_load(
    fit: Fit, tau: FloatArray, values: FloatArray, name: str, planes: Sequence[str], valid: BoolArray
) -> JointLoad:
    """Return the load of the joint of a segment, NaN in `values` (2, T, 7) of `compute_joint_load` where it is not valid.

    planes: plane of each coordinate of the joint (`rotation_planes`). valid: (T,) frames in which the load is known.
    """
    definition = fit.model.skeleton.body(name)
    columns = fit.model.joint_columns(name)
    powers = fit.motion.v[:, columns] * tau[:, columns]
    values[:, ~valid] = np.nan
    # jcs has the y of distal and the z of proximal axes
    moment, force = ({"proximal": axes[:, :3], "distal": axes[:, 3:6], "jcs": axes[:, 6:1:-2]} for axes in values)
    return JointLoad(
        joint=without_side(definition.joint, definition.side),
        side=definition.side,
        moment=moment,
        force=force,
        power=np.where(valid, np.sum(powers, axis=1), np.nan),
        power_parts={
            part: np.where(valid, np.sum(powers[:, [plane == part for plane in planes]], axis=1), np.nan)
            for part in (*PLANES, TRANSLATION)
            if part in planes
        },
        valid=valid,
    )


def rotation_planes(model: SubjectModel) -> dict[str, list[str]]:
    """Return for each segment the plane in which each coordinate of its joint rotates it, or "translation".

    This is the plane of the parent segment most nearly perpendicular to the coordinate's axis when all coordinates are zero.
    """
    mb = model.multibody
    posture = mb.neutral_q()[None]
    axes, poses = joint_jacobians(mb, posture)[0, :3].T, body_poses(mb, posture)
    planes = {}
    for body in model.moving_segments:
        name = body.definition.name
        R_WP = model.body_poses(*poses, model.skeleton.body(name).parent)[0][0]
        along = np.abs(axes[model.joint_columns(name)] @ R_WP)
        planes[name] = [_PLANE_OF_AXIS[int(axis.argmax())] if axis.any() else TRANSLATION for axis in along]
    return planes


def joint_coordinate_axes(R_WP: FloatArray, R_WB: FloatArray) -> FloatArray:
    """Return the axes of the joint coordinate system (T, 3, 3), columns x, y, z in World.

    z is the proximal segment's transverse axis, y the distal segment's long axis, x the floating axis y x z
    (Grood & Suntay 1983, doi 10.1115/1.3138397; Wu et al. 2002). y and z are not perpendicular in general.
    """
    z, y = R_WP[..., :, 2], R_WB[..., :, 1]
    x = cross(y, z)
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return np.stack([x, y, z], axis=-1)


def reasons_for_missing_loads(fit: Fit, reaction: GroundReaction, sides: list[Side]) -> list[str]:
    """Return for each frame the reason why loads are missing: unmeasured contact of a foot or an unknown coordinate; "" if none
    is."""
    lost = [""] * len(fit.reason)
    for t in np.flatnonzero(fit.lost.any(axis=1)):
        names = ", ".join(fit.model.coordinates[c].name for c in np.flatnonzero(fit.lost[t]))
        lost[t] = f"no visible marker determines {names}"
    frames = zip(fit.reason, lost, *(reaction.reason[side] for side in sides), strict=True)
    # a plate under both feet is one reason, not two
    return ["; ".join(dict.fromkeys(filter(None, parts))) for parts in frames]
