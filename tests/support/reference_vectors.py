"""The reference models and states made with another engine; a test that asks for one is skipped where they are not."""

from __future__ import annotations

import json
from functools import cache

import numpy as np

from biodyn.rigid_body import Body, Joint, Multibody
from support.real import reference_vectors

MODELS = ("full22_rev", "full22_sph", "lower12_rev", "lower12_sph")
# [linear; angular] to [angular; linear]
SWAP = [3, 4, 5, 0, 1, 2]


@cache
def reference_model(name):
    """Return the Multibody of a reference model."""
    given = json.loads((reference_vectors() / "rigid_body" / f"{name}.json").read_text())
    links = given["links"]
    bodies = tuple(
        Body(
            link["name"],
            None if link["parent"] < 0 else links[link["parent"]]["name"],
            Joint(link["joint"]["type"], link["joint"].get("axis")),
            np.array(link["placement_R"]),
            np.array(link["placement_p"]),
            link["mass"],
            np.array(link["com"]),
            np.array(link["inertia_com"]),
        )
        for link in links
    )
    return Multibody(bodies, tuple(given["gravity"]))


@cache
def reference(name):
    """Return (model, vectors in our conventions): q scalar first, free joints [angular; linear]."""
    mb = reference_model(name)
    given = dict(np.load(reference_vectors() / "rigid_body" / f"{name}_ref.npz"))
    q = given["q"].copy()
    for body in mb.bodies:
        if body.joint.kind in ("free", "spherical"):
            at = mb.q_slice(body.name).stop - 4
            q[:, at : at + 4] = given["q"][:, [at + 3, at, at + 1, at + 2]]
    order = np.r_[SWAP, 6 : mb.nv]
    result = {"q": q}
    for key in ("v", "a", "tau", "tau_ext", "tau_gravity", "tau_bias", "qdd_aba", "qdd_aba_ext"):
        result[key] = given[key][:, order]
    for key in ("M", "Minv"):
        result[key] = given[key][:, order][:, :, order]
    for key in ("Ag", "J_local", "J_world"):
        result[key] = given[key][..., SWAP, :][..., order]
    for key in ("hg", "dhg", "v_body_local", "a_body_local", "a_body_world_classical"):
        result[key] = given[key][..., SWAP]
    for key in ("com", "vcom", "acom", "kinetic_energy", "potential_energy", "R_body", "p_body", "ext_link_index"):
        result[key] = given[key]
    moment = given["ext_torque_world"] + np.cross(given["ext_point_world"], given["ext_force_world"])
    result["wrenches"] = np.concatenate([moment, given["ext_force_world"]], axis=2)
    return mb, result
