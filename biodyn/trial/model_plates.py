"""Force plates of a recording as loads on the feet of an OpenSim model, by biodyn's own decision whose foot is on which plate."""

from __future__ import annotations

from typing import Final

import numpy as np

from biodyn.conventions import SIDES, BoolArray, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.library.load import load_table
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.contacts.find import find_contacts
from biodyn.processing.contacts.notes import contact_diagnostics
from biodyn.processing.signals.plates import plate_wrench
from biodyn.processing.signals.prepare import TrialSignals, with_plates
from biodyn.recording import Recording
from biodyn.rigid_body import OpenSimModel
from biodyn.settings import settings_from
from biodyn.trial.model_torques import MeasuredLoads

# A sole by the distance from heel to toes in the model: behind the heel, before it, half its width; that distance without toes.
_BEHIND, _BEFORE, _HALF_WIDTH = 0.15, 1.45, 0.25
_USUAL_M: Final = 0.18
_STEP: Final = 1e-3  # of a coordinate, to see what it moves


def plate_loads(
    model: OpenSimModel, recording: Recording, q: FloatArray, cutoff_hz: float, mass_kg: float
) -> tuple[MeasuredLoads | None, list[tuple[str, str]], list[Diagnostic]]:
    """Return the loads of both feet with q (T, n) at the marker frames, their names and bodies, and what is to be said.

    The sole of each foot is a rectangle from heel to toes of the model. Torques are known where every foot that a coordinate
    moves is in the air or wholly measured. None where the recording has no plates, or the model none of the usual feet.
    """
    if not recording.plates:
        return None, [], []
    names = load_table("formats/opensim_names")["ground_force"]["bodies"]
    feet: dict[Side, str] = {side: names[side[0]] for side in SIDES}
    if any(body not in model.multibody.body_names for body in feet.values()):
        note = Diagnostic(
            "model-feet",
            "warning",
            f"The force plates are not used: the model has no bodies {' and '.join(feet.values())}.",
            hint="Give the loads with --forces LOADS.xml.",
        )
        return None, [], [note]
    markers = recording.markers
    defaults = settings_from(None)
    settings = defaults.signals.model_copy(update={"cutoff_hz": cutoff_hz, "force_cutoff_hz": cutoff_hz})
    mapping = MarkerMapping("", "", (), (), {})
    bare = TrialSignals(settings, mapping, markers, markers, markers, (), cutoff_hz, settings.filter_order, (), ())
    raw = [plate_wrench(plate, markers.frame_count, markers.rate_hz) for plate in recording.plates]
    signals = with_plates(bare, raw)
    soles = _soles(model, feet, q)
    contacts, reaction = find_contacts(signals, soles, defaults.contacts, mass_kg)
    wrenches = np.stack([np.nan_to_num(reaction.wrench[side]) for side in SIDES], axis=1)
    known = np.ones((len(q), q.shape[1]), dtype=np.bool_)
    for side, body in feet.items():
        known &= np.asarray(reaction.measured[side])[:, None] | ~_moves(model, body)[None]
    bodies = tuple(model.multibody.body_index(feet[side]) for side in SIDES)
    loads = [(f"plates, {side} foot", feet[side]) for side in SIDES]
    notes = [*signals.diagnostics, *contact_diagnostics(contacts, markers.rate_hz)]
    return MeasuredLoads(bodies, known, wrenches), loads, notes


def _soles(model: OpenSimModel, feet: dict[Side, str], q: FloatArray) -> dict[Side, FloatArray]:
    """Return outlines (T, 4, 3) m of the soles, heel to toes on one edge and back on the other."""
    R, p = model.coupled.body_poses(q)
    resting = model.coupled.body_poses(model.default_configuration()[None])
    parents = [body.parent for body in model.multibody.bodies]
    soles: dict[Side, FloatArray] = {}
    for side, name in feet.items():
        b = model.multibody.body_index(name)
        toes = [
            k
            for k, body in enumerate(model.multibody.bodies)
            if body.parent == name or _before(parents, k, name, model)
        ]
        along = np.array([_USUAL_M, 0.0, 0.0])
        if toes:
            along = resting[0][0, b].T @ (resting[1][0, toes[-1]] - resting[1][0, b])
        length = float(np.linalg.norm(along))
        across = np.cross(along / length, (0.0, 1.0, 0.0)) * _HALF_WIDTH * length
        back, front = -_BEHIND * along, _BEFORE * along
        outline = np.array([back - across, front - across, front + across, back + across])
        soles[side] = np.einsum("tij,kj->tki", R[:, b], outline) + p[:, b, None]
    return soles


def _before(parents: list[str | None], k: int, name: str, model: OpenSimModel) -> bool:
    """Whether a body hangs on another one through the axes of a joint alone."""
    parent = parents[k]
    while parent is not None and "/" in parent:
        parent = parents[model.multibody.body_index(parent)]
    return parent == name


def _moves(model: OpenSimModel, body: str) -> BoolArray:
    """Return which coordinates (n,) move a body: those whose torques its load enters."""
    q = model.default_configuration()
    moved = np.concatenate([q[None], q + _STEP * np.eye(len(q))])
    R, p = model.coupled.body_poses(moved)
    b = model.multibody.body_index(body)
    change = np.abs(R[1:, b] - R[0, b]).max(axis=(1, 2)) + np.abs(p[1:, b] - p[0, b]).max(axis=1)
    return np.asarray(change > 1e-9 * _STEP)
