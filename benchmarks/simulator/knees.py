"""Knees that are no hinges: the shank turns, leans and glides with flexion, by functions that no analysis is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.assembly import BodyFrame, Coordinate
from biodyn.model.body_model import SubjectModel, with_bodies
from biodyn.rigid_body import Joint, Multibody
from simulator.person import Body, Coupled, Coupling
from simulator.tables import load_data

_AXES = {"forward": (1.0, 0.0, 0.0), "upward": (0.0, 1.0, 0.0)}


def with_true_knees(body: Body, rng: np.random.Generator) -> Body:
    """Return the body whose knees turn, lean and glide with their flexion; both sides alike, zero while standing."""
    table = load_data("knees")
    drawn = {
        name: float(np.clip(rng.normal(entry["mean"], entry["sd"]), *entry["limits"]))
        for part in ("turns_deg", "glides_mm")
        for name, entry in table[part].items()
    }
    model = _with_glides(_with_turns(body.model, table), table)
    names = [coordinate.name for coordinate in model.coordinates]
    static = {c.name: float(body.static_q[c.q_index]) for c in body.model.coordinates}
    coupled = []
    for side in ("r", "l"):
        driver = f"{table['driver']}_{side}"
        reach = np.deg2rad(table["reach_deg"])
        for part, unit in (("turns_deg", np.deg2rad(1.0)), ("glides_mm", 1e-3)):
            for name in table[part]:
                at = f"{name}_{side}"
                rest = _static_angles(model).get(at, 0.0)
                size = unit * drawn[name] / np.sin(table["bend"] * reach)
                coupled.append(Coupled(names.index(at), names.index(driver), static[driver], rest, size, table["bend"]))
    static_q = _moved_static(body, model)
    return replace(body, model=model, static_q=static_q, coupling=Coupling(tuple(coupled), len(names)))


def _with_turns(model: SubjectModel, table: Mapping[str, Any]) -> SubjectModel:
    """The model with the fixed rotations of the knees free, named by their axis."""
    names = {entry["axis"]: name for name, entry in table["turns_deg"].items()}
    bodies = []
    for part in model.bodies:
        definition = part.definition
        if definition.joint.rpartition("_")[0] == table["joint"]:
            steps = tuple(
                replace(step, coordinate=f"{names[step.principal]}_{definition.side}")
                if step.coordinate is None and step.principal in names
                else step
                for step in definition.rotations
            )
            part = replace(part, definition=replace(definition, rotations=steps))
        bodies.append(part)
    skeleton = replace(model.skeleton, bodies=tuple(part.definition for part in bodies))
    return with_bodies(replace(model, skeleton=skeleton), tuple(bodies))


def _with_glides(model: SubjectModel, table: Mapping[str, Any]) -> SubjectModel:
    """The model with sliders between thigh and shank, in the thigh's axes."""
    links, glides = [], []
    for link in model.multibody.bodies:
        side = link.name.partition(":")[0].rpartition("_")[2]
        if link.name.endswith(f":{table['driver']}_{side}"):
            above, R, p = link.parent, link.R_PJ, link.p_PJ
            for name, entry in table["glides_mm"].items():
                slider = replace(
                    link,
                    name=f"{link.name}:{name}",
                    parent=above,
                    joint=Joint("prismatic", _AXES[entry["axis"]]),
                    R_PJ=R,
                    p_PJ=p,
                )
                links.append(slider)
                glides.append((f"{name}_{side}", slider.name, link.name.partition(":")[0], side))
                above, R, p = slider.name, np.eye(3), np.zeros(3)
            link = replace(link, parent=above, R_PJ=R, p_PJ=p)
        links.append(link)
    tree = Multibody(tuple(links))
    return _on_tree(model, tree, glides)


def _on_tree(model: SubjectModel, tree: Multibody, glides: list[tuple[str, str, str, str]]) -> SubjectModel:
    """The model on a tree with more links; places on links and in q follow the names."""
    old = model.multibody
    frames = {
        name: BodyFrame(tree.body_index(old.body_names[frame.link]), frame.R_LB, frame.p_LB)
        for name, frame in model.frames.items()
    }
    link_of = {old.q_slice(name).start: name for name in old.body_names}
    coordinates = [
        replace(c, q_index=tree.q_slice(link_of[c.q_index]).start, v_index=tree.v_slice(link_of[c.q_index]).start)
        for c in model.coordinates
    ]
    joints = {part.definition.name: part.definition.joint for part in model.bodies}
    for name, slider, body, side in glides:
        at = tree.q_slice(slider).start
        coordinates.append(
            Coordinate(name, joints[body], body, side, at, tree.v_slice(slider).start, (-np.inf, np.inf))
        )
    return replace(model, multibody=tree, coordinates=tuple(coordinates), frames=frames)


def _static_angles(model: SubjectModel) -> dict[str, float]:
    return {
        step.coordinate: angle
        for part in model.bodies
        for step, angle in zip(part.definition.rotations, part.static_angles_rad, strict=True)
        if step.coordinate
    }


def _moved_static(body: Body, model: SubjectModel) -> FloatArray:
    """The standing configuration (nq,) with the knees' own coordinates at rest."""
    q = model.multibody.neutral_q()
    q[:7] = body.static_q[:7]
    static = _static_angles(model)
    for coordinate in model.coordinates:
        q[coordinate.q_index] = static.get(coordinate.name, 0.0)
    return q
