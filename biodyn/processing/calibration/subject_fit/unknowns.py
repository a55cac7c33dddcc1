"""Unknowns of the fit in one vector: joint centres, postures, axial rotation offsets, marker positions, with priors and trials.

Misplaced markers move the joint centres and axes of the recipes; their effect is part of the prior (`marker_placement_effect`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.rotations import matrices_from_axis_angle, skew_matrix
from biodyn.library.tables import expand_sides
from biodyn.library.toml_files import load_table
from biodyn.model.body_model import AttachedMarker, StaticFigure, SubjectModel
from biodyn.recording import Markers
from biodyn.rigid_body import body_poses

# Number of free rotations of a ball joint; its axes do not affect the markers.
_BALL = 3


@dataclass(frozen=True)
class Unknowns:
    """Layout of the vector theta (P,), m and rad; zero is the model of the static trial.

    Attributes:
        start: standing posture of the static trial; shifts are expressed in the axes of the parent segments in this posture.
        centres, postures: index of the first of three entries for each segment. turns: index of the entry for each segment.
        markers: index of the first of three entries for each marker of the model; these entries are last.
        covariance: covariance matrix (P, P) of the prior.
        marker_m: standard deviation (M,) of the error of each marker of the model; infinite for a marker without weight.
        soft: labels of markers with a position on the segment that is not known from the static trial.
    """

    start: StaticFigure
    centres: Mapping[str, int]
    postures: Mapping[str, int]
    turns: Mapping[str, int]
    markers: Mapping[str, int]
    covariance: FloatArray
    marker_m: FloatArray
    soft: frozenset[str]

    @property
    def count(self) -> int:
        """Number P of unknowns in theta."""
        return len(self.covariance)

    @property
    def joint_unknown_count(self) -> int:
        """Number of the unknowns that move whole segments; they precede the unknowns of the markers."""
        return min(self.markers.values(), default=self.count)

    @cached_property
    def information(self) -> FloatArray:
        """Information matrix (P, P) of the prior of theta, the inverse of `covariance`."""
        return np.asarray(np.linalg.inv(self.covariance), dtype=np.float64)

    @cached_property
    def sd(self) -> FloatArray:
        """Prior standard deviations (P,) of the unknowns, m and rad."""
        return np.sqrt(np.diag(self.covariance))

    def shift(self, theta: FloatArray, name: str) -> FloatArray:
        """Return the shift (3,) m of a joint centre in the axes of its parent in the static trial."""
        at = self.centres[name]
        return theta[at : at + 3]

    def figure(self, theta: FloatArray) -> StaticFigure:
        """Return the standing posture of the static trial after shifts and rotations by theta (P,)."""
        shifts = {name: self.start.R_WB[self.start.parent[name]] @ self.shift(theta, name) for name in self.centres}
        return self.start.with_shifted_centres(shifts, {name: float(theta[at]) for name, at in self.turns.items()})

    def posture_shifts(self, theta: FloatArray) -> dict[str, FloatArray]:
        """Return the shifts (3,) m of segments relative to their parents, in the axes of the parents."""
        return {name: theta[at : at + 3] for name, at in self.postures.items()}

    def marker_shifts(self, theta: FloatArray) -> dict[str, FloatArray]:
        """Return the shifts (3,) m of markers in the axes of their segments."""
        return {label: theta[at : at + 3] for label, at in self.markers.items()}


def define_unknowns(model: SubjectModel, soft: frozenset[str], priors: Priors) -> Unknowns:
    """Return the unknowns of a model: joint centres between segments that both have markers, and all markers with weight.

    Segment axes rotate if the distal joint is a hinge between segments with markers. The covariance contains the intrinsic
    scatter of the regressions; `marker_placement_effect` adds the effect of misplaced markers.
    """
    # Reflection in the sagittal plane X-Y.
    mirror = (1.0, 1.0, -1.0)
    marked = {marker.body for marker in model.markers}
    free = Counter(coordinate.body for coordinate in model.coordinates)
    jointed = [
        d.name for d in (body.definition for body in model.moving_segments) if d.name in marked and d.parent in marked
    ]
    start = StaticFigure.from_model(model)
    sd: list[float] = []

    def append_entries(sizes: list[float]) -> int:
        sd.extend(sizes)
        return len(sd) - len(sizes)

    centres = {name: append_entries(priors.centre_m[name].tolist()) for name in jointed if name in priors.centre_m}
    turns = {
        name: append_entries([priors.turn_rad[name]])
        for name in jointed
        if name in priors.turn_rad and start.far_end.get(name) in jointed and free[start.far_end[name]] < _BALL
    }
    postures = {
        name: append_entries([priors.posture_m[name]] * 3)
        for name in jointed
        if name in priors.posture_m and name in model.refined_centres
    }
    marker_m = _marker_error_sd(model, priors)
    markers = {
        marker.label: append_entries([priors.soft_m if marker.label in soft else priors.offset_share * error] * 3)
        for marker, error in zip(model.markers, marker_m.tolist(), strict=True)
        if np.isfinite(error)
    }
    covariance = np.diag(np.square(sd))
    for right, left in side_pairs(centres):
        for axis, sign in enumerate(mirror):
            i, j = centres[right] + axis, centres[left] + axis
            covariance[i, j] = covariance[j, i] = sign * priors.symmetry * sd[i] * sd[j]
    for right, left in side_pairs(turns):
        i, j = turns[right], turns[left]
        covariance[i, j] = covariance[j, i] = -priors.symmetry * sd[i] * sd[j]
    return Unknowns(start, centres, postures, turns, markers, covariance, marker_m, soft)


def _marker_error_sd(model: SubjectModel, priors: Priors) -> FloatArray:
    """Return the standard deviation (M,) m of each marker's error per axis; infinite without weight."""
    # Largest ratio of the error of a light marker to the heaviest one of its segment.
    most_spread = 2.0
    largest: dict[str, float] = {}
    for marker in model.markers:
        largest[marker.body] = max(marker.weight, largest.get(marker.body, 0.0))
    return np.array(
        [
            priors.marker_m[m.body] * min((largest[m.body] / m.weight) ** 0.5, most_spread)
            if m.weight > 0.0 and m.body in priors.marker_m
            else np.inf
            for m in model.markers
        ]
    )


def side_pairs(names: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return (right, left) for every name that exists on both sides."""
    bare = [name.removesuffix("_r") for name in names if name.endswith("_r")]
    return [(f"{name}_r", f"{name}_l") for name in bare if f"{name}_l" in names]


@dataclass(frozen=True)
class ModelPoses:
    """Poses of a model in T configurations: axes (T, 3, 3) and origins (T, 3) m by segment, and its markers p_WM (T, M, 3) m."""

    R_WB: Mapping[str, FloatArray]
    p_WB: Mapping[str, FloatArray]
    p_WM: FloatArray

    def __getitem__(self, rows: slice) -> ModelPoses:
        """Return the poses in the selected configurations (`rows` of the first axis)."""
        R_WB, p_WB = ({name: poses[rows] for name, poses in every.items()} for every in (self.R_WB, self.p_WB))
        return ModelPoses(R_WB, p_WB, self.p_WM[rows])


def model_poses(model: SubjectModel, q: FloatArray) -> ModelPoses:
    """Return the poses of the segments and markers of a model for q (T, nq)."""
    R, p = body_poses(model.multibody, q)
    poses = {body.definition.name: model.body_poses(R, p, body.definition.name) for body in model.bodies}
    columns = [poses[m.body][1] + poses[m.body][0] @ m.p_BM for m in model.markers]
    return ModelPoses(
        {name: pose[0] for name, pose in poses.items()},
        {name: pose[1] for name, pose in poses.items()},
        np.stack(columns, axis=1),
    )


def joint_jacobian(model: SubjectModel, unknowns: Unknowns, q: FloatArray, at: ModelPoses) -> FloatArray:
    """Return the derivative (T, M, 3, J) of the marker positions in World by the first `joint_unknown_count` unknowns at fixed
    q (T, nq).

    A shift s of a joint centre (World, static trial) does not change the standing posture. In other postures the proximal
    segment a and the distal segment b with its descendants move relative to each other by (R_a - R_b) s, where R are the
    rotations of the segments since standing. Hinge axes rotate with the proximal segment, which rotates about its long axis.
    """
    up = np.array([0.0, 1.0, 0.0])
    figure = StaticFigure.from_model(model)
    J = np.zeros((len(q), len(model.markers), 3, unknowns.joint_unknown_count))
    since = {name: R @ figure.R_WB[name].T for name, R in at.R_WB.items()}  # turns since standing
    carried = {name: figure.distal_segments(name) for name in figure.parent}
    on = {name: np.array([i for i, m in enumerate(model.markers) if m.body in carried[name]]) for name in figure.parent}
    hinges = _derivatives_by_hinge_angle(model, figure, q, at, on)

    for name, column in unknowns.centres.items():
        above = figure.parent[name]
        axes = unknowns.start.R_WB[above]  # of the shift
        J[:, on[name], :, column : column + 3] += ((since[above] - since[name]) @ axes)[:, None]
        for segment, sign in ((name, 1.0), (above, -1.0)):  # near end and far end of a long axis
            end = figure.far_end.get(segment)
            if end in hinges and (segment == name or end == name):
                along = figure.p_WB[end] - figure.p_WB[segment]
                turn = figure.R_WB[segment].T @ skew_matrix(along) @ axes * (-sign / (along @ along))
                J[:, on[end], :, column : column + 3] += hinges[end] @ turn
    for name, column in unknowns.turns.items():
        end = figure.far_end.get(name)
        if end in hinges:
            J[:, on[end], :, column : column + 1] += hinges[end] @ up[:, None]
    for name, column in unknowns.postures.items():
        above = figure.parent[name]
        J[:, on[name], :, column : column + 3] += at.R_WB[above][:, None]
    return J


def marker_position_derivative(
    marker: AttachedMarker, unknowns: Unknowns, at: ModelPoses
) -> tuple[IntArray, FloatArray]:
    """Return the indices (c,) of a marker's position among the unknowns (c = 0 or 3), and its derivative (T, 3, c)."""
    R_WB = at.R_WB[marker.body]
    if marker.label not in unknowns.markers:
        return np.zeros(0, dtype=np.int64), R_WB[:, :, :0]
    return unknowns.markers[marker.label] + np.arange(3), R_WB


def _derivatives_by_hinge_angle(
    model: SubjectModel, figure: StaticFigure, q: FloatArray, at: ModelPoses, on: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """Return, by segment, the derivatives (T, m, 3, 3) of the distal markers with respect to a rotation w of the proximal axes.

    Segments with a ball joint are omitted.

    The first rotation D of the joint becomes D + w x D - D w x, so that the distal markers rotate by w - D w about the centre.
    """
    hinges = {}
    for body in model.moving_segments:
        definition = body.definition
        free = [c for c in model.coordinates if c.body == definition.name]
        above = definition.parent
        if len(free) >= 3 or not free or not figure.parent[above] or not len(on[definition.name]):
            continue
        first = definition.rotations[0]
        if first.coordinate != free[0].name:
            continue
        D = matrices_from_axis_angle(first.axis, q[:, free[0].q_index] - body.static_angles_rad[0])
        turn = at.R_WB[above] @ (np.eye(3) - D)  # (T, 3, 3)
        arm = at.p_WM[:, on[definition.name]] - at.p_WB[definition.name][:, None]  # (T, m, 3)
        # (turn w) x arm = -skew(arm) turn w
        S = np.zeros((*arm.shape, 3))
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            S[..., j, i], S[..., i, j] = arm[..., k], -arm[..., k]
        hinges[definition.name] = -S @ turn[:, None]
    return hinges


@dataclass(frozen=True)
class Priors:
    """Standard deviations of the unknowns of the fit, SI units.

    Attributes:
        centre_m: SD (3,) of each joint centre by segment, in the axes of the parent, for well placed markers.
        turn_rad: SD of the rotation of the axes about the long axis by segment, for well placed markers.
        symmetry: correlation between the joint centre and rotation errors of both sides.
        posture_m: SD per axis of the change of a segment's position relative to its parent between standing and walking.
        length_m: SD of the difference between the segment lengths of both sides.
        placement_m: SD of the position of a landmark marker, in each direction along the skin.
        marker_m: SD per axis of the error (soft tissue and noise) of the markers with the largest weight, by segment.
        offset_share: fraction of `marker_m` that is constant during walking.
        soft_m: SD of the position of soft markers.
        independent_s: time between independent frames.
        most_independent, most_independent_walks: largest number of independent frames in one trial, and in all walks of a
            session.
        skin_m_rad: SD of the slide of a marker along each axis per radian of flexion of a neighbouring joint, by segment.
        skin_common: correlation of the slides of the markers of a segment.
    """

    centre_m: Mapping[str, FloatArray]
    turn_rad: Mapping[str, float]
    symmetry: float
    posture_m: Mapping[str, float]
    length_m: float
    placement_m: float
    marker_m: Mapping[str, float]
    offset_share: float
    soft_m: float
    independent_s: float
    most_independent: float
    most_independent_walks: float
    skin_m_rad: Mapping[str, float]
    skin_common: float


def load_priors() -> Priors:
    """Return the priors of the subject fit from `library/body/subject_fit.toml`."""
    table = load_table("body/subject_fit")
    markers, symmetry = table["markers"], table["symmetry"]
    return Priors(
        centre_m={name: 1e-3 * np.array(mm, dtype=float) for name, mm in _expand_side_rows(table["centre_mm"])},
        turn_rad={name: float(np.deg2rad(deg)) for name, deg in _expand_side_rows(table["turn_deg"])},
        symmetry=float(symmetry["correlation"]),
        posture_m={name: 1e-3 * float(mm) for name, mm in _expand_side_rows(table["posture_mm"])},
        length_m=1e-3 * float(symmetry["length_mm"]),
        placement_m=1e-3 * float(markers["placement_mm"]),
        marker_m={name: 1e-3 * float(mm) for name, mm in _expand_side_rows(markers["sd_mm"])},
        offset_share=float(markers["offset_share"]),
        soft_m=1e-3 * float(markers["soft_mm"]),
        independent_s=float(markers["independent_s"]),
        most_independent=float(markers["most_independent"]),
        most_independent_walks=float(markers["most_independent_walks"]),
        skin_m_rad={name: 1e-3 * float(mm) for name, mm in _expand_side_rows(table["skin_mm_rad"])},
        skin_common=float(markers["skin_common"]),
    )


def _expand_side_rows(rows: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for pattern, value in rows.items() for _, name in expand_sides(pattern)]


_Pose = tuple[FloatArray, FloatArray]


class SubjectModelBuilder(Protocol):
    """Interface of an object that builds the subject model, as often as needed with other segment poses."""

    def model(self, known: Mapping[str, _Pose] | None = None) -> tuple[SubjectModel, list[Diagnostic]]:
        """Return the model for axes (3, 3) and joint centres (3,) m in World by segment, and findings about assumptions."""

    def landmark_markers(self) -> Mapping[str, tuple[str, FloatArray]]:
        """Return, by label, the segment of each landmark marker and its position (3,) m in World of the static trial."""

    def poses(self, bodies: Collection[str], height_m: float, moved: Mapping[str, FloatArray]) -> Mapping[str, _Pose]:
        """Return the segment poses computed by the recipes after shifting each marker in `moved` by (3,) m in World."""


@dataclass(frozen=True)
class MarkerPlacementEffect:
    """Effect of misplaced markers on the recipes, if each marker slides along the skin.

    Attributes:
        labels, directions_W: marker (K,) and direction (K, 3) of each slide.
        sd_m: standard deviation of every slide.
        effect: change (P, K) of the unknowns for one standard deviation of each slide.
        chain, base: segments whose poses the recipes compute, and these poses for the recorded markers.
    """

    unknowns: Unknowns
    scaling: SubjectModelBuilder
    height_m: float
    labels: tuple[str, ...]
    directions_W: FloatArray
    sd_m: float
    effect: FloatArray
    chain: frozenset[str]
    base: Mapping[str, _Pose]

    def nonlinear_part(self, deviation: FloatArray) -> FloatArray:
        """Return the nonlinear part (P,) of the effect of the most probable slides for a deviation (P,) of the unknowns.

        A wand marker that rotates an axis by 0.2 rad moves the joint on a circle, some mm more than in the linear prior.
        """
        slides = self.effect.T @ np.linalg.solve(self.unknowns.covariance, deviation)
        moved: dict[str, FloatArray] = {}
        for label, direction, slide in zip(self.labels, self.directions_W, slides, strict=True):
            moved[label] = moved.get(label, np.zeros(3)) + self.sd_m * slide * direction
        exact = _pose_change_as_unknowns(self.unknowns, self.base, self.scaling.poses(self.chain, self.height_m, moved))
        return exact - self.effect @ slides


def marker_placement_effect(
    unknowns: Unknowns, model: SubjectModel, scaling: SubjectModelBuilder, placement_m: float
) -> MarkerPlacementEffect:
    """Return the effect of misplaced markers of pelvis and legs, with the unknowns and a prior that includes it.

    A lateral knee marker that is too anterior moves the knee centre and rotates the knee axis, and so does a wand. Each marker
    is shifted independently along the skin by placement_m (one standard deviation) in each direction.
    """
    # small relative to a limb, large relative to round-off
    step_m = 1e-4
    start = unknowns.start
    root = model.bodies[0].definition.name
    soles = set(model.sole_body.values())
    legs = [name for name in start.far_end if soles & start.distal_segments(name)]
    chain = frozenset({root, *legs, *soles})
    base = scaling.poses(chain, model.height_m, {})
    markers = scaling.landmark_markers()
    labels, directions, columns = [], [], []
    for label, (body, place) in markers.items():
        if body == root or body in legs:
            others = [p for owner, p in markers.values() if owner == body]
            for direction in _skin_directions(place, body, others, start):
                shifted_poses = scaling.poses(chain, model.height_m, {label: step_m * direction})
                columns.append(_pose_change_as_unknowns(unknowns, base, shifted_poses) * placement_m / step_m)
                labels.append(label)
                directions.append(direction)
    A = np.array(columns).reshape(-1, unknowns.count).T
    wider = replace(unknowns, covariance=unknowns.covariance + A @ A.T)
    slides = np.array(directions).reshape(-1, 3)
    return MarkerPlacementEffect(wider, scaling, model.height_m, tuple(labels), slides, placement_m, A, chain, base)


def _skin_directions(place: FloatArray, body: str, others: Collection[FloatArray], figure: StaticFigure) -> FloatArray:
    """Return two directions (2, 3) in World along the skin at a marker, perpendicular to the line from the middle of
    the segment."""
    if body in figure.far_end:
        start = figure.p_WB[body]
        along = figure.R_WB[body][:, 1]
        outward = place - start - along * float((place - start) @ along)
    else:
        outward = place - np.mean(list(others), axis=0)
    return np.linalg.svd(outward[None])[2][1:]


def _pose_change_as_unknowns(unknowns: Unknowns, before: Mapping[str, _Pose], after: Mapping[str, _Pose]) -> FloatArray:
    """Return the change of the poses computed by the recipes as a step (P,) of the unknowns."""
    step = np.zeros(unknowns.count)
    for name, at in unknowns.centres.items():
        if name in before:
            axes = unknowns.start.R_WB[unknowns.start.parent[name]]
            step[at : at + 3] = axes.T @ (after[name][1] - before[name][1])
    for name, at in unknowns.turns.items():
        if name in before:
            turned = before[name][0].T @ after[name][0]
            step[at] = 0.5 * (turned[0, 2] - turned[2, 0])  # about y
    return step


#: Kind of a calibration trial. Walks repeat one movement; a functional trial moves one joint over its range.
CalibrationUse = Literal["walk", "functional"]
# Number of sampled frames per trial, in all trials together, and least number per trial: enough to cover a stride.
_FRAMES = 60
_LEAST_FRAMES = 10


@dataclass(frozen=True)
class CalibrationTrial:
    """Markers of one trial in World, with the name and SHA-256 of its file for the summary."""

    markers: Markers
    name: str = ""
    sha256: str = ""
    use: CalibrationUse = "walk"


@dataclass(frozen=True)
class SampledFrames:
    """Sampled frames of one trial: markers (T, M, 3) m in the order of the model (NaN = missing), and number of independent
    frames."""

    trial: CalibrationTrial
    seen_W: FloatArray
    independent: float

    @property
    def weight(self) -> float:
        """Weight of each frame in the fit: 1 for independent frames, less for correlated ones."""
        return self.independent / len(self.seen_W)


def select_frames(trials: Sequence[CalibrationTrial], model: SubjectModel, priors: Priors) -> list[SampledFrames]:
    """Sample each trial evenly, using the frames in which most markers of the model are visible.

    Soft-tissue errors repeat with every stride and every walk. All walks together count as at most
    `priors.most_independent_walks` independent frames, so that joint centres do not follow the soft-tissue movement of walking.
    Trials with too few markers are excluded.
    """
    all_frames = 180
    few_frames = 16
    most = int(np.clip(all_frames // max(len(trials), 1), few_frames, _FRAMES))
    samples = [frames for trial in trials if (frames := _choose_frames(trial, model, priors, most)) is not None]
    walked = sum(frames.independent for frames in samples if frames.trial.use == "walk")
    share = min(1.0, max(priors.most_independent, priors.most_independent_walks) / max(walked, 1.0))
    return [
        SampledFrames(f.trial, f.seen_W, f.independent * (share if f.trial.use == "walk" else 1.0)) for f in samples
    ]


def _choose_frames(trial: CalibrationTrial, model: SubjectModel, priors: Priors, most: int) -> SampledFrames | None:
    shown = 0.8  # minimum number of visible markers, as a fraction of the largest number in any frame of the trial
    markers = trial.markers
    columns = np.array([markers.labels.index(m.label) if m.label in markers.labels else -1 for m in model.markers])
    positions = np.where((columns >= 0)[:, None], markers.positions[:, columns], np.nan)
    seen = np.isfinite(positions[..., 0]).sum(axis=1)
    usable = np.flatnonzero(seen >= shown * seen.max()) if seen.any() else np.empty(0, dtype=np.int64)
    if len(usable) < _LEAST_FRAMES:
        return None
    rows = usable[np.unique(np.linspace(0, len(usable) - 1, min(most, len(usable))).astype(int))]
    independent = len(usable) / markers.rate_hz / priors.independent_s
    return SampledFrames(trial, positions[rows], float(np.clip(independent, 1.0, priors.most_independent)))
