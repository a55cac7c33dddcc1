"""Loads on an OpenSim model, from a table or from the plates of the recording, and the resulting joint torques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.io.opensim.external_loads import ExternalForce, ExternalForces
from biodyn.io.opensim.storage import Storage
from biodyn.io.tables.force_plates import missing_load_rows
from biodyn.model.from_osim.part_identification import feet_by_side as known_feet
from biodyn.model.from_osim.part_identification import sole_outlines
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.contacts.ground_reaction import compute_reaction, contact_decisions, contact_diagnostics
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.processing.signals.signal_preparation import TrialSignals, replace_wrenches
from biodyn.recording import Contact, GroundReaction, PlateWrench, Recording
from biodyn.rigid_body import OpenSimModel
from biodyn.rigid_body.coupling.coordinate_functions import cubic_spline
from biodyn.settings import settings_from

#: Largest relative difference of two algorithms in double precision, for models of up to 100 coordinates.
PROOF_LIMIT: Final = 1e-9
#: Share of body weight at the joint to ground that exceeds any error of motion or inertias in a walk.
UNBORNE: Final = 0.25
# Rows per block, whose intermediate arrays fit into a processor cache.
_BLOCK: Final = 4_000
# Splines through longer tables are computed in parts, with this many rows of overlap.
_LONG_TABLE: Final = 20_000
_AROUND: Final = 60
# Rows of a table with a smaller force are unloaded, N.
_LEAST_N: Final = 20.0


@dataclass(frozen=True, eq=False)
class Loads:
    """External loads on a model.

    Attributes:
        bodies: (K,) loaded bodies. covered: (T,) whether the loads of a row are known, or (T, n) for each coordinate.
    """

    bodies: tuple[int, ...]
    covered: BoolArray

    def select_frames(self, rows: slice) -> Self:
        """Return the loads in the given rows only."""
        return replace(self, covered=self.covered[rows])

    def wrenches(self, rows: slice, q: FloatArray) -> FloatArray | None:
        """Return the wrenches (B, K, 6) about the world origin in a block of rows with coordinates q (B, n); None without
        loads."""
        return None

    def all_wrenches(self, q: FloatArray) -> FloatArray:
        """Return the wrenches (T, K, 6) in all rows with coordinates q (T, n); (T, 0, 6) without loads."""
        wrenches_G = self.wrenches(slice(0, len(q)), np.where(np.isfinite(q), q, 0.0))
        return np.zeros((len(q), 0, 6)) if wrenches_G is None else wrenches_G

    def heights(self, rows: slice, q: FloatArray) -> FloatArray:
        """Return the height (B, K) m at which each load acts, NaN if unknown."""
        return np.full((len(q), len(self.bodies)), np.nan)


@dataclass(frozen=True, eq=False)
class MeasuredLoads(Loads):
    """Loads with known wrenches (T, K, 6) about the world origin."""

    F_Wo_W: FloatArray

    def wrenches(self, rows: slice, q: FloatArray) -> FloatArray | None:
        """Return the wrenches (B, K, 6) about the world origin in a block of rows."""
        return self.F_Wo_W[rows]

    def select_frames(self, rows: slice) -> Self:
        """Return the loads in the given rows only."""
        return replace(self, covered=self.covered[rows], F_Wo_W=self.F_Wo_W[rows])


@dataclass(frozen=True, eq=False)
class TableLoads(Loads):
    """Loads of a table, interpolated by OpenSim's splines; missing numbers are zero, or their rows are not covered."""

    model: OpenSimModel
    forces: ExternalForces
    time_s: FloatArray

    def select_frames(self, rows: slice) -> Self:
        """Return the loads in the given rows only."""
        return replace(self, covered=self.covered[rows], time_s=self.time_s[rows])

    def wrenches(self, rows: slice, q: FloatArray) -> FloatArray | None:
        """Return the wrenches (B, K, 6) about the world origin in a block of rows."""
        wrenches_G = np.zeros((len(q), len(self.forces.loads), 6))
        when, table = self.time_s[rows], self.forces.table
        near = slice(None)
        # the influence of a row on a cubic spline decays by a factor of 0.27 per row
        if len(table.time_s) > _LONG_TABLE:
            first, last = np.searchsorted(table.time_s, (when[0], when[-1]))
            near = slice(max(int(first) - _AROUND, 0), int(last) + _AROUND)
        for k, load in enumerate(self.forces.loads):
            unknown = _missing_load_rows(table, load)
            force, point, moment = (
                _load_columns(table, names, near, when, unknown) for names in (load.force, load.point, load.moment)
            )
            force, moment = (_rotate_to_world(self.model, q, load.force_in, vector, None) for vector in (force, moment))
            point = _rotate_to_world(self.model, q, load.point_in, point, load)
            wrenches_G[:, k, :3], wrenches_G[:, k, 3:] = moment + np.cross(point, force), force
        return wrenches_G

    def heights(self, rows: slice, q: FloatArray) -> FloatArray:
        """Return the second coordinate (B, K) m of points given in ground axes."""
        heights_m = super().heights(rows, q)
        for k, load in enumerate(self.forces.loads):
            if load.point and load.point_in.lower() == "ground":
                unknown = _missing_load_rows(self.forces.table, load)
                heights_m[:, k] = _load_columns(self.forces.table, load.point, slice(None), self.time_s[rows], unknown)[
                    :, 1
                ]
        return heights_m


def table_loads(model: OpenSimModel, forces: ExternalForces, time_s: FloatArray) -> TableLoads:
    """Return the loads of a table at the times (T,) s of a motion; ModelError for a load on a body that the model lacks.

    Times next to a row with a missing load between loaded rows are not covered.
    """
    table = forces.table
    slack = float(np.median(np.diff(table.time_s)))
    covered = (time_s >= table.time_s[0] - slack) & (time_s <= table.time_s[-1] + slack)
    for load in forces.loads:
        for row in np.flatnonzero(_missing_load_rows(table, load)):  # interpolated between two rows
            covered &= (time_s <= table.time_s[row - 1]) | (time_s >= table.time_s[row + 1])
    bodies = tuple(model.multibody.body_index(load.body) for load in forces.loads)
    return TableLoads(bodies, covered, model, forces, time_s)


def empty_loads(rows: int) -> Loads:
    """Return loads with no loaded body and no wrench for a motion of `rows` rows."""
    return Loads((), np.ones(rows, dtype=np.bool_))


def compute_checked_torques(
    model: OpenSimModel, q: FloatArray, v: FloatArray, vdot: FloatArray, loads: Loads
) -> tuple[FloatArray, float]:
    """Return tau (T, n) and its numerical check: largest difference to M vdot + bias, relative to the largest tau.

    Rows of tau are NaN if q is NaN or the loads are unknown. Working memory does not depend on the number of rows.
    """
    tau = np.empty_like(q)
    difference = largest = 0.0
    for start in range(0, len(q), _BLOCK):
        at = slice(start, start + _BLOCK)
        tau[at], other = model.coupled.inverse_dynamics_by_two_algorithms(
            q[at], v[at], vdot[at], loads.wrenches(at, q[at]), loads.bodies
        )
        difference, largest = max(difference, _largest_value(other - tau[at])), max(largest, _largest_value(tau[at]))
    tau[~loads.covered] = np.nan
    return tau, difference / max(largest, 1e-12)


def unbalanced_rows(model: OpenSimModel, tau: FloatArray) -> BoolArray:
    """Return a mask (T,) of the rows with missing or wrong forces: the joint to ground bears more than `UNBORNE` body
    weights."""
    root = [k for k, c in enumerate(model.coordinates) if c.to_ground and not c.rotational]
    limit_n = UNBORNE * model.multibody.total_mass_kg * STANDARD_GRAVITY_M_S2
    return np.asarray(np.linalg.norm(tau[:, root], axis=1) > limit_n)


def _largest_value(values: FloatArray) -> float:
    magnitudes = np.abs(values)
    return float(np.max(magnitudes, initial=0.0, where=np.isfinite(magnitudes)))


def _missing_load_rows(table: Storage, load: ExternalForce) -> BoolArray:
    """Return a mask (T,) of the rows of the table without a value of the load between rows in which it acts."""
    if not load.force:
        return np.zeros(len(table.time_s), dtype=np.bool_)
    force = np.column_stack([table.column(name) for name in load.force])
    point = np.column_stack([table.column(name) for name in load.point]) if load.point else np.zeros_like(force)
    return missing_load_rows(force, point, _LEAST_N)


def _load_columns(
    table: Storage, names: Sequence[str], near: slice, when: FloatArray, unknown: BoolArray
) -> FloatArray:
    """Return three columns (B, 3) at times (B,) s by OpenSim's splines through part of the rows; unknown rows are bridged
    linearly."""
    if not names:
        return np.zeros((len(when), 3))
    splines = []
    for name in names:
        column = table.column(name)
        values = np.where(np.isfinite(column), column, 0.0)
        if unknown.any():
            values[unknown] = np.interp(table.time_s[unknown], table.time_s[~unknown], values[~unknown])
        splines.append(cubic_spline(table.time_s[near], values[near]))
    return np.column_stack([spline.evaluate(when[None])[0] for spline in splines])


def _rotate_to_world(
    model: OpenSimModel, q: FloatArray, body: str, vectors: FloatArray, place: ExternalForce | None
) -> FloatArray:
    """Return vectors (B, 3) in body axes transformed to World; as positions if `place` is given."""
    if body.lower() == "ground":
        return vectors
    b, (R_WB, p_WB) = model.multibody.body_index(body), model.coupled.body_poses(q)
    turned = np.einsum("tij,tj->ti", R_WB[:, b], vectors)
    return turned if place is None else turned + p_WB[:, b]


# -- loads of the recording's own plates --------------------------------------------------------------------------------

_STEP: Final = 1e-3  # step of a coordinate, to determine which bodies it moves


@dataclass(frozen=True, eq=False)
class FootPlateLoads:
    """Loads, contacts and ground reaction on the feet of a model from the plates of a recording.

    Attributes:
        loads: loads on both feet. named: name and body of each load. signals: filtered markers and plates.
        contacts, reaction: contacts of the feet with the plates and ground reaction, in the ground frame of the model.
    """

    loads: MeasuredLoads
    named: tuple[tuple[str, str], ...]
    signals: TrialSignals
    contacts: tuple[Contact, ...]
    reaction: GroundReaction

    def rotate_plates_and_reaction(self, R: FloatArray) -> FootPlateLoads:
        """Return plates and ground reaction rotated by R (3, 3) about the vertical; the loads stay in the ground frame of the
        model."""
        signals = replace(
            self.signals,
            raw_plates=tuple(plate.rotated(R) for plate in self.signals.raw_plates),
            plates=tuple(plate.rotated(R) for plate in self.signals.plates),
        )
        return replace(self, signals=signals, reaction=self.reaction.rotated(R))

    def select_frames(self, rows: slice) -> FootPlateLoads:
        """Return the values in some frames; times of contacts are relative to the first of them."""
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
            tuple(_select_plate_frames(plate, begin_s, stop - first, rate_hz) for plate in plate_wrenches)
            for plate_wrenches in (self.signals.raw_plates, self.signals.plates)
        )
        reaction = _select_reaction(self.reaction, rows)
        return replace(
            self,
            loads=self.loads.select_frames(rows),
            signals=replace(self.signals, raw_plates=raw, plates=plates),
            contacts=contacts,
            reaction=reaction,
        )


def plate_loads(
    model: OpenSimModel, recording: Recording, q: FloatArray, cutoff_hz: float, mass_kg: float
) -> tuple[FootPlateLoads | None, list[Diagnostic]]:
    """Return the loads of both feet for q (T, n) at the marker frames, and findings.

    The sole of each foot is a rectangle from heel to toes of the model. A torque is known if every foot that its coordinate
    moves is in the air or completely measured. None if the recording has no plates or the model no two known feet.
    """
    if not recording.plates:
        return None, []
    feet = known_feet([name for name in model.multibody.body_names if "/" not in name])
    if len(feet) < len(SIDES):
        note = Diagnostic(
            "forces-unusable",
            "warning",
            "The force plates are not used because the model has no two bodies known as feet, such as calcn_r and calcn_l.",
            hint="Give the loads with --forces LOADS.xml.",
        )
        return None, [note]
    markers = recording.markers
    defaults = settings_from(None)
    settings = defaults.signals.model_copy(update={"cutoff_hz": cutoff_hz, "force_cutoff_hz": cutoff_hz})
    mapping = MarkerMapping("", "", (), (), {})
    bare = TrialSignals(settings, mapping, markers, markers, markers, (), cutoff_hz, settings.filter_order, (), ())
    raw = [plate_wrench(plate, markers.frame_count, markers.rate_hz) for plate in recording.plates]
    signals = replace_wrenches(bare, raw)
    R, p = model.coupled.body_poses(q)
    at = {side: model.multibody.body_index(body) for side, body in feet.items()}
    soles = {
        side: np.einsum("tij,kj->tki", R[:, at[side]], outline) + p[:, at[side], None]
        for side, outline in sole_outlines(model, feet).items()
    }
    decisions = contact_decisions(signals, soles, defaults.contacts, mass_kg)
    contacts, reaction = decisions.contacts, compute_reaction(decisions, signals, defaults.contacts)
    wrenches = np.stack([np.nan_to_num(reaction.wrench[side]) for side in SIDES], axis=1)
    known = np.ones((len(q), q.shape[1]), dtype=np.bool_)
    for side, body in feet.items():
        known &= np.asarray(reaction.measured[side])[:, None] | ~_moved_coordinates(model, body)[None]
    bodies = tuple(model.multibody.body_index(feet[side]) for side in SIDES)
    named = tuple((f"plates, {side} foot", feet[side]) for side in SIDES)
    notes = [*signals.diagnostics, *contact_diagnostics(contacts, markers.rate_hz)]
    return FootPlateLoads(MeasuredLoads(bodies, known, wrenches), named, signals, contacts, reaction), notes


def _select_plate_frames(plate: PlateWrench, begin_s: float, frames: int, rate_hz: float) -> PlateWrench:
    first, count = round(begin_s * plate.rate_hz), round(frames * plate.rate_hz / rate_hz)
    return replace(plate, wrench=plate.wrench[first : first + count])


def _select_reaction(reaction: GroundReaction, rows: slice) -> GroundReaction:
    """Return the reaction in some frames, without values at the sample rate of the recording."""
    names = ("wrench", "measured", "reason", "on_floor", "centre_of_pressure", "free_moment", "near_unmeasured")
    parts = {name: {side: values[rows] for side, values in getattr(reaction, name).items()} for name in names}
    full = None if reaction.full_bandwidth is None else _select_reaction(reaction.full_bandwidth, rows)
    return replace(reaction, **parts, shared=(), expected_sd={}, full_bandwidth=full)


def _moved_coordinates(model: OpenSimModel, body: str) -> BoolArray:
    """Return a mask (n,) of the coordinates that move a body; a load on the body changes only their torques."""
    q = model.default_configuration()
    displaced = np.concatenate([q[None], q + _STEP * np.eye(len(q))])
    R, p = model.coupled.body_poses(displaced)
    b = model.multibody.body_index(body)
    change = np.abs(R[1:, b] - R[0, b]).max(axis=(1, 2)) + np.abs(p[1:, b] - p[0, b]).max(axis=1)
    return np.asarray(change > 1e-9 * _STEP)
