"""Body model of an OpenSim file: bodies with a floating root, coordinates, feet and joints identified by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from biodyn.conventions import SIDES, FloatArray, with_side
from biodyn.geometry.rotations import angle_between
from biodyn.model.assembly import BodyFrame, Coordinate, ScaledBody
from biodyn.model.body_model import AttachedMarker, SubjectModel
from biodyn.model.from_osim.part_identification import (
    feet_by_side,
    has_side,
    is_gait_variable,
    joint_title,
    match_segments,
    match_variable,
    parent_in_file,
    root_names,
    sole_outlines,
    split_side,
)
from biodyn.model.skeleton import BodyDefinition, Inertia, Skeleton
from biodyn.rigid_body import Multibody, OpenSimModel
from biodyn.rigid_body.coupling.reduced_tree import FloatingTree, floating_tree
from biodyn.rigid_body.osim.model import Coordinate as ModelCoordinate


@dataclass(frozen=True, kw_only=True)
class ImportedModel(SubjectModel):
    """The body model of an OpenSim file.

    Additional attributes: tree: the bodies with a floating root, and the conversion of the model's motion. osim: the OpenSim
        model with its coordinates. welded: bodies without a joint. segments: segment in the library, without side, of each
        known body.
    """

    tree: FloatingTree
    osim: OpenSimModel
    welded: frozenset[str] = frozenset()
    segments: Mapping[str, str] = field(default_factory=dict)

    @property
    def moving_segments(self) -> tuple[ScaledBody, ...]:
        """Return the bodies with a joint to their parent, without the root."""
        return tuple(body for body in self.bodies if body.definition.parent and body.definition.name not in self.welded)

    @property
    def is_free(self) -> bool:
        """Return whether the root is free: three rotations and three translations relative to ground."""
        rotational = [c.rotational for c in self.osim.coordinates if c.to_ground and not (c.locked or c.prescribed)]
        return rotational.count(True) == 3 and rotational.count(False) == 3

    def joint_link(self, name: str) -> int:
        """Return the body of `multibody` with its origin at the joint centre of a body of the file."""
        axes = _joint_axes(self.tree, name)
        return axes[-1] if axes else self.multibody.body_index(name)

    def joint_columns(self, name: str) -> list[int]:
        """Return the indices in v of the axes of a body's joint."""
        mb = self.multibody
        return [mb.v_slice(mb.body_names[k]).start for k in _joint_axes(self.tree, name)]

    def segment_name(self, body: str) -> str:
        """Return the name of a body in the library's tables, with its side (right if its name has none); "" if unknown."""
        plain = self.segments.get(body, "")
        if not plain or not has_side(plain):
            return plain
        return f"{plain}_{split_side(body)[0] or SIDES[0]}"

    def reversed_coordinates(self) -> dict[str, str]:
        """Return, by coordinate, the gait variable of each coordinate that has the opposite sign of its variable."""
        return {c.name: c.gait_variable for c in self.coordinates if c.sign < 0.0}


def imported_model(
    model: OpenSimModel, labels: Sequence[str] = (), weights: Sequence[float] = ()
) -> ImportedModel | None:
    """Return the body model of an OpenSim file; None unless exactly one body is connected to ground.

    Args: `labels`, `weights`: labels and weights of the tracked markers of the model.
    """
    tree = floating_tree(model.coupled)
    if tree is None:
        return None
    parents = _bodies_and_parents(tree.multibody)
    standing = model.coupled.body_poses(model.default_configuration()[None])
    frames = {name: _anatomical_axes(tree, model, standing, name) for name in parents}
    coordinates = tuple(_read_coordinates(model, tree, parents, frames))
    movable = {c.body for c in coordinates}
    welded = frozenset(
        name for name in parents if name not in movable and not _joint_axes(tree, name) and name != tree.root
    )
    joints = _joint_names(tree, coordinates, parents)
    soles = feet_by_side(list(parents))
    total = tree.multibody.total_mass_kg
    joint_of = {name: joint for name, joint in joints.items() if joint and name not in welded}
    origins = standing[1][0]
    heights = {name: float(origins[model.multibody.body_index(name), 1]) for name in parents}
    bodies = tuple(
        _build_body(tree, name, parent, joints[name], frames, standing, model) for name, parent in parents.items()
    )
    places = {marker.name: marker for marker in model.markers}
    return ImportedModel(
        skeleton=Skeleton(
            model.name or "model",
            model.name or "OpenSim model",
            "",
            tuple(b.definition for b in bodies),
            frozenset(parents),
        ),
        mass_kg=total,
        height_m=float("nan"),
        sex="",
        bodies=bodies,
        coordinates=coordinates,
        locked=(),
        locked_segments=(),
        frames=frames,
        multibody=tree.multibody,
        markers=tuple(
            AttachedMarker(name, body, frames[body].R_LB.T @ np.array(places[name].place_m), float(weight), "model")
            for name, weight in zip(labels, weights, strict=True)
            if (body := str(places[name].body)) in frames
        ),
        foot_outlines={
            side: (outline - frames[soles[side]].p_LB) @ frames[soles[side]].R_LB
            for side, outline in sole_outlines(model, soles).items()
        },
        sole_body={str(side): name for side, name in soles.items()},
        tree=tree,
        osim=model,
        welded=welded,
        segments=match_segments(parents, joint_of, heights, soles.values()),
    )


def _bodies_and_parents(mb: Multibody) -> dict[str, str]:
    """Return the bodies of the file and their parents, parents first; "" for the root."""
    return {body.name: parent_in_file(mb, body) or "" for body in mb.bodies if "/" not in body.name}


def _joint_axes(tree: FloatingTree, name: str) -> list[int]:
    """Return the indices of the one-axis bodies of the tree between a body of the file and its parent, from the parent
    outwards."""
    mb = tree.multibody
    axes: list[int] = []
    at: str | None = name
    while at is not None and (at == name or "/" in at):
        k = mb.body_index(at)
        if mb.bodies[k].joint.axis is not None:
            axes.insert(0, k)
        at = mb.bodies[k].parent
    return axes


def _anatomical_axes(
    tree: FloatingTree, model: OpenSimModel, standing: tuple[FloatArray, FloatArray], name: str
) -> BodyFrame:
    """Return the anatomical frame of a body on its link.

    Its own axes are used if they are within 35 degrees of X forward, Y up, Z right in the standing model, else these
    directions.
    """
    link = tree.multibody.body_index(name)
    R = standing[0][0, model.multibody.body_index(name)]
    aligned = all(angle_between(R[:, i], np.eye(3)[i]) < np.radians(35.0) for i in range(3))
    return BodyFrame(link, np.eye(3) if aligned else R.T.copy(), np.zeros(3))


def _read_coordinates(
    model: OpenSimModel, tree: FloatingTree, parents: dict[str, str], frames: dict[str, BodyFrame]
) -> Iterator[Coordinate]:
    layer, joints = model.coupled.layers[-1], model.multibody
    same = {source: out for out, source in layer.same} if len(model.coupled.layers) == 1 else {}
    owner = {joints.v_slice(body.name).start: body.name for body in joints.bodies if body.joint.nv == 1}
    for k, c in enumerate(model.coordinates):
        if c.to_ground:
            continue
        outs = [out for out, source in layer.same if source == k] + [t.out for t in layer.terms if k in t.sources]
        axes = [owner[out] for out in outs]
        body = next(
            (_distal_body(name) for name in axes if f"/{c.joint}/" in name), _distal_body(axes[0]) if axes else ""
        )
        if body not in parents:
            continue
        side = split_side(c.name)[0] or split_side(body)[0]
        meaning = match_variable(
            c.name if split_side(c.name)[0] else with_side(c.name, side),
            _rotation_step(model, k, c, body, parents, frames),
        )
        plain = split_side(c.name)[1]
        unknown = f"{plain}_of_model" if is_gait_variable(plain) else plain
        at = int(np.flatnonzero(tree.columns == same[k])[0]) if k in same and same[k] in tree.columns else -1
        yield Coordinate(
            name=c.name,
            joint=c.joint,
            body=body,
            side=side,
            q_index=7 + at if at >= 0 else -1,
            v_index=6 + at if at >= 0 else -1,
            range_rad=(c.lower, c.upper) if c.clamped and not c.locked and c.upper > c.lower else (-np.inf, np.inf),
            turns=c.rotational,
            variable=meaning[0] if meaning else unknown,
            sign=meaning[1] if meaning else 1.0,
        )


def _distal_body(axis: str) -> str:
    """Return the distal body of an axis: "tibia_r/knee_r/0" -> "tibia_r"."""
    return axis.rsplit("/", 2)[0] if axis.count("/") >= 2 else axis


def _rotation_step(
    model: OpenSimModel, k: int, c: ModelCoordinate, body: str, parents: dict[str, str], frames: dict[str, BodyFrame]
) -> FloatArray:
    """Return the rotation (3,) of a body in its parent's anatomical axes, for a small step of a coordinate."""
    if not c.rotational:
        return np.zeros(3)
    q = np.repeat(model.default_configuration()[None], 2, axis=0)
    q[1, k] += 1e-4
    R, _ = model.coupled.body_poses(q)
    child, parent = model.multibody.body_index(body), model.multibody.body_index(parents[body])
    R_PC = np.einsum("tji,tjk->tik", R[:, parent] @ frames[parents[body]].R_LB, R[:, child])
    change = R_PC[1] @ R_PC[0].T
    return np.array([change[2, 1] - change[1, 2], change[0, 2] - change[2, 0], change[1, 0] - change[0, 1]]) / 2.0


def _joint_names(tree: FloatingTree, coordinates: Sequence[Coordinate], parents: dict[str, str]) -> dict[str, str]:
    """Return the unique name of every body's joint with its side; "" for the root and welded bodies."""
    joints: dict[str, str] = {}
    for name in parents:
        axes = [tree.multibody.body_names[k] for k in _joint_axes(tree, name)]
        in_file = next((axis.rsplit("/", 2)[1] for axis in axes if "/" in axis), "")
        in_file = in_file or next((c.joint for c in coordinates if c.body == name), "" if not axes else name)
        side = split_side(name)[0]
        known = joint_title(in_file) if in_file else ""
        sided = f"{known}_{side}" if side and known else known
        joints[name] = sided if sided not in joints.values() or not sided else in_file
    return joints


def _build_body(
    tree: FloatingTree,
    name: str,
    parent: str,
    joint: str,
    frames: dict[str, BodyFrame],
    standing: tuple[FloatArray, FloatArray],
    model: OpenSimModel,
) -> ScaledBody:
    body, R_LB = tree.multibody.bodies[frames[name].link], frames[name].R_LB
    rotations, translations = ((), ()) if parent else root_names()
    definition = BodyDefinition(name, parent, joint, split_side(name)[0], (), rotations, translations)
    R, p = (part[0, model.multibody.body_index(name)] for part in standing)
    R_PB, p_PB = R @ R_LB, p
    if parent:
        k = model.multibody.body_index(parent)
        R_WP = standing[0][0, k] @ frames[parent].R_LB
        R_PB, p_PB = R_WP.T @ R_PB, R_WP.T @ (p - standing[1][0, k])
    inertia = Inertia(body.mass_kg, R_LB.T @ body.com_m, R_LB.T @ body.inertia_com @ R_LB)
    return ScaledBody(definition, R_PB, p_PB, inertia, (), True)
