"""A body model with other masses, inertias or joint centres: a new one each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from biodyn.conventions import FloatArray
from biodyn.model.assembly import ScaledBody, assemble
from biodyn.model.body_model import SubjectModel
from biodyn.model.inertia import Inertia
from biodyn.model.skeleton import BodyDefinition, Skeleton


def with_moved_centres(model: SubjectModel, shifts_m: Mapping[str, FloatArray]) -> SubjectModel:
    """Return the model with joint centres moved by (3,) m in the parent's axes; the segment moves with its joint."""
    bodies = tuple(
        replace(body, p_PB=body.p_PB + shifts_m[body.definition.name]) if body.definition.name in shifts_m else body
        for body in model.bodies
    )
    return with_bodies(model, bodies)


def with_mass(model: SubjectModel, mass_kg: float) -> SubjectModel:
    """Return the model with another body mass: every segment's mass and inertia in proportion."""
    factor = mass_kg / model.mass_kg
    inertias = {
        body.definition.name: Inertia(body.inertia.mass * factor, body.inertia.com, body.inertia.tensor * factor)
        for body in model.bodies
    }
    return replace(with_inertias(model, inertias), mass_kg=mass_kg)


def with_inertias(model: SubjectModel, inertias: Mapping[str, Inertia]) -> SubjectModel:
    """Return the model with other inertias of the named segments, in their own axes."""
    bodies = tuple(replace(b, inertia=inertias.get(b.definition.name, b.inertia)) for b in model.bodies)
    return with_bodies(model, bodies)


def with_bodies(model: SubjectModel, bodies: tuple[ScaledBody, ...]) -> SubjectModel:
    """Return the model with its tree assembled anew from changed segments."""
    return _reassembled(model, bodies, frozenset(model.locked))


def with_locked(model: SubjectModel, name: str) -> SubjectModel:
    """Return the model with one more coordinate held at its static value."""
    return _reassembled(model, model.bodies, frozenset({*model.locked, name}))


def with_freed(model: SubjectModel, option: str) -> SubjectModel:
    """Return the model with the fixed rotations freed that an option of the settings frees (`FreedRotation`)."""
    bodies = tuple(
        replace(body, definition=_freed(body.definition, option, body.static_angles_rad)) for body in model.bodies
    )
    definitions = tuple(body.definition for body in bodies)
    if all(new is old.definition for new, old in zip(definitions, model.bodies, strict=True)):
        return model
    skeleton = Skeleton(
        model.skeleton.name, model.skeleton.title, model.skeleton.citation, definitions, model.skeleton.free
    )
    held = {
        *model.locked,
        *(step.coordinate for b in definitions if b.name in model.locked_segments for step in b.rotations),
    }
    return _reassembled(replace(model, skeleton=skeleton), bodies, frozenset(str(name) for name in held if name))


def _freed(definition: BodyDefinition, option: str, static_rad: Sequence[float]) -> BodyDefinition:
    if all(step.freed is None or step.freed.name != option for step in definition.rotations):
        return definition
    rotations = tuple(
        replace(
            step,
            coordinate=step.freed.coordinate,
            range_rad=(angle + step.freed.range_rad[0], angle + step.freed.range_rad[1]),
            sd_rad=step.freed.sd_rad,
        )
        if step.freed is not None and step.freed.name == option
        else step
        for step, angle in zip(definition.rotations, static_rad, strict=True)
    )
    return replace(definition, rotations=rotations)


def with_assumed(model: SubjectModel) -> SubjectModel:
    """Return the model whose unseen segments can move: each locked coordinate of those with an `UnseenMotion` gets a link.

    Not where a marker rides on a segment beyond it that the fit does not move against it: that marker tells something.
    """
    definitions = {body.definition.name: body.definition for body in model.bodies}
    marked = {marker.body for marker in model.markers}
    carriers: set[str] = set()
    for name in marked:
        while name in model.locked_segments:
            carriers.add(name)
            name = definitions[name].parent
    names = frozenset(
        coordinate
        for definition in definitions.values()
        if definition.unseen is not None
        and definition.name in model.locked_segments
        and definition.name not in carriers
        for coordinate in definition.coordinates
    )
    return _reassembled(model, model.bodies, frozenset(model.locked), assumed=names) if names else model


def with_coordinates_of(model: SubjectModel, other: SubjectModel) -> SubjectModel:
    """Return the model with the coordinates free that are free in another model of the same skeleton, and no others."""
    if model.locked == other.locked:
        return model
    return _reassembled(model, model.bodies, frozenset(other.locked))


def _reassembled(
    model: SubjectModel,
    bodies: tuple[ScaledBody, ...],
    locked: frozenset[str],
    assumed: frozenset[str] | None = None,
) -> SubjectModel:
    names = frozenset(coordinate.name for coordinate in model.assumed) if assumed is None else assumed
    multibody, every, frames, locked_segments = assemble(model.skeleton, bodies, locked, names)
    coordinates = tuple(coordinate for coordinate in every if coordinate.name not in names)
    free = {coordinate.name for coordinate in coordinates}
    return replace(
        model,
        bodies=bodies,
        assumed=tuple(coordinate for coordinate in every if coordinate.name in names),
        locked=tuple(name for body in bodies for name in body.definition.coordinates if name not in free),
        multibody=multibody,
        coordinates=coordinates,
        frames=frames,
        locked_segments=locked_segments,
    )
