"""Corners of the plates put in order, where the file lists them the wrong way round and feet and body tell the right one."""

from __future__ import annotations

from dataclasses import replace

from biodyn.checks.evidence.corner_order import corners_in_order, with_weight_of_plates
from biodyn.checks.evidence.evidence import gather
from biodyn.processing.contacts.balance import required_wrench, weight_of
from biodyn.processing.contacts.feet import GaitPoints
from biodyn.processing.gait.activity import recognise_activity
from biodyn.processing.signals.handedness import z_points_up
from biodyn.processing.signals.plates import plate_wrench
from biodyn.processing.signals.prepare import with_plates
from biodyn.recording import ForcePlate, PlateWrench
from biodyn.trial.state import TrialState


def reorder_corners(trial: TrialState, points: GaitPoints) -> bool:
    """Put the corners of the walk's plates in order, with a note, where something tells it; return whether it did.

    After a first decision about the contacts, whose times alone are used. `points` are those that steps are told by.
    """
    plates = trial.walk.plates
    if not any(z_points_up(plate) for plate in plates):
        return False
    signals, contacts = trial.signals, trial.decided.contacts
    markers = signals.markers

    def wrench_of(plate: ForcePlate) -> PlateWrench:
        return with_plates(signals, [plate_wrench(plate, markers.frame_count, markers.rate_hz)]).plates[0]

    evidence = gather(
        trial.fit,
        points,
        required_wrench(trial.fit),
        signals.plates,
        contacts,
        trial.rate_hz,
        trial.settings.contacts.threshold_n,
        weight_of(trial.fit.model.mass_kg),
        signals.force_smear_s,
        recognise_activity(points, contacts, trial.rate_hz).direction == "forwards",
    )
    if trial.mass is None:
        evidence = with_weight_of_plates(evidence)
    ordered, notes = corners_in_order(evidence, plates, wrench_of, trial.world.R_WL)
    trial.walk = replace(trial.walk, plates=ordered)
    trial.notes += notes
    return bool(notes)
