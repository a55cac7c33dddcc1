"""Force plates of a recording as loads on the feet of an OpenSim model, by biodyn's own decision whose foot is on which plate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from biodyn.conventions import SIDES, BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.from_osim.feet import sole_outlines
from biodyn.model.from_osim.names import feet as known_feet
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.contacts.find import find_contacts
from biodyn.processing.contacts.notes import contact_diagnostics
from biodyn.processing.signals.plates import plate_wrench
from biodyn.processing.signals.prepare import TrialSignals, with_plates
from biodyn.recording import Contact, GroundReaction, PlateWrench, Recording
from biodyn.rigid_body import OpenSimModel
from biodyn.settings import settings_from
from biodyn.trial.model_torques import MeasuredLoads

_STEP: Final = 1e-3  # of a coordinate, to see what it moves


@dataclass(frozen=True, eq=False)
class OnPlates:
    """What the plates of a recording say of a model's feet.

    Attributes:
        loads: on both feet. named: name and body of each. signals: markers and plates as they were filtered.
        contacts, reaction: whose foot was on which plate, in the model's ground.
    """

    loads: MeasuredLoads
    named: tuple[tuple[str, str], ...]
    signals: TrialSignals
    contacts: tuple[Contact, ...]
    reaction: GroundReaction

    def rotated(self, R: FloatArray) -> OnPlates:
        """Return plates and ground reaction in a frame turned by R (3, 3) about the vertical; the loads stay the model's."""
        signals = replace(
            self.signals,
            raw_plates=tuple(plate.rotated(R) for plate in self.signals.raw_plates),
            plates=tuple(plate.rotated(R) for plate in self.signals.plates),
        )
        return replace(self, signals=signals, reaction=self.reaction.rotated(R))

    def only(self, rows: slice) -> OnPlates:
        """Return what belongs to some frames; contacts count their time from the first of them."""
        rate_hz, count = self.signals.markers.rate_hz, len(self.loads.covered)
        first, stop, _ = rows.indices(count)
        if (first, stop) == (0, count):
            return self
        begin_s, end_s = first / rate_hz, (stop - 1) / rate_hz
        contacts = tuple(
            replace(c, start_s=max(c.start_s - begin_s, 0.0), end_s=min(c.end_s, end_s) - begin_s)
            for c in self.contacts
            if c.end_s > begin_s and c.start_s < end_s
        )
        raw, plates = (
            tuple(_cut(plate, begin_s, stop - first, rate_hz) for plate in found)
            for found in (self.signals.raw_plates, self.signals.plates)
        )
        reaction = _rows_of(self.reaction, rows)
        return replace(
            self,
            loads=self.loads.only(rows),
            signals=replace(self.signals, raw_plates=raw, plates=plates),
            contacts=contacts,
            reaction=reaction,
        )


def plate_loads(
    model: OpenSimModel, recording: Recording, q: FloatArray, cutoff_hz: float, mass_kg: float
) -> tuple[OnPlates | None, list[Diagnostic]]:
    """Return the loads of both feet with q (T, n) at the marker frames, and what is to be said.

    The sole of each foot is a rectangle from heel to toes of the model. Torques are known where every foot that a coordinate
    moves is in the air or wholly measured. None where the recording has no plates, or the model no two feet that are known.
    """
    if not recording.plates:
        return None, []
    feet = known_feet([name for name in model.multibody.body_names if "/" not in name])
    if len(feet) < len(SIDES):
        note = Diagnostic(
            "model-feet",
            "warning",
            "The force plates are not used: the model has no two bodies that are known as feet, such as calcn_r and calcn_l.",
            hint="Give the loads with --forces LOADS.xml.",
        )
        return None, [note]
    markers = recording.markers
    defaults = settings_from(None)
    settings = defaults.signals.model_copy(update={"cutoff_hz": cutoff_hz, "force_cutoff_hz": cutoff_hz})
    mapping = MarkerMapping("", "", (), (), {})
    bare = TrialSignals(settings, mapping, markers, markers, markers, (), cutoff_hz, settings.filter_order, (), ())
    raw = [plate_wrench(plate, markers.frame_count, markers.rate_hz) for plate in recording.plates]
    signals = with_plates(bare, raw)
    R, p = model.coupled.body_poses(q)
    at = {side: model.multibody.body_index(body) for side, body in feet.items()}
    soles = {
        side: np.einsum("tij,kj->tki", R[:, at[side]], outline) + p[:, at[side], None]
        for side, outline in sole_outlines(model, feet).items()
    }
    contacts, reaction = find_contacts(signals, soles, defaults.contacts, mass_kg)
    wrenches = np.stack([np.nan_to_num(reaction.wrench[side]) for side in SIDES], axis=1)
    known = np.ones((len(q), q.shape[1]), dtype=np.bool_)
    for side, body in feet.items():
        known &= np.asarray(reaction.measured[side])[:, None] | ~_moves(model, body)[None]
    bodies = tuple(model.multibody.body_index(feet[side]) for side in SIDES)
    named = tuple((f"plates, {side} foot", feet[side]) for side in SIDES)
    notes = [*signals.diagnostics, *contact_diagnostics(contacts, markers.rate_hz)]
    return OnPlates(MeasuredLoads(bodies, known, wrenches), named, signals, contacts, reaction), notes


def _cut(plate: PlateWrench, begin_s: float, frames: int, rate_hz: float) -> PlateWrench:
    first, count = round(begin_s * plate.rate_hz), round(frames * plate.rate_hz / rate_hz)
    return replace(plate, wrench=plate.wrench[first : first + count])


def _rows_of(reaction: GroundReaction, rows: slice) -> GroundReaction:
    """The reaction in some frames; what belongs to samples of the whole recording is left out."""
    names = ("wrench", "measured", "reason", "on_floor", "centre_of_pressure", "free_moment", "near_unmeasured")
    parts = {name: {side: values[rows] for side, values in getattr(reaction, name).items()} for name in names}
    full = None if reaction.full_bandwidth is None else _rows_of(reaction.full_bandwidth, rows)
    return replace(reaction, **parts, shared=(), expected_sd={}, full_bandwidth=full)


def _moves(model: OpenSimModel, body: str) -> BoolArray:
    """Return which coordinates (n,) move a body: those whose torques its load enters."""
    q = model.default_configuration()
    moved = np.concatenate([q[None], q + _STEP * np.eye(len(q))])
    R, p = model.coupled.body_poses(moved)
    b = model.multibody.body_index(body)
    change = np.abs(R[1:, b] - R[0, b]).max(axis=(1, 2)) + np.abs(p[1:, b] - p[0, b]).max(axis=1)
    return np.asarray(change > 1e-9 * _STEP)
