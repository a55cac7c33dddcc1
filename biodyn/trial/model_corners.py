"""Corners of the plates put in order on an OpenSim model, by the same evidence as on a person's own model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.evidence.corner_order import corners_in_order
from biodyn.checks.facts import body_against_plates
from biodyn.diagnostics import Diagnostic
from biodyn.processing.signals.handedness import z_points_up
from biodyn.processing.signals.plates import plate_wrench
from biodyn.processing.signals.prepare import with_plates
from biodyn.recording import ForcePlate, PlateWrench

_SPAN_S = 0.1  # by which plates and markers of a whole recording may differ in length


def plates_in_order(
    analysis: TrialAnalysis,
) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """Return the plates of the recording in the model's ground, their corners in order, and what was corrected; no note: nothing.

    `analysis`: of the trial with the corners as they are listed, World.
    """
    plates, inputs, markers = analysis.recording.plates, analysis.propagation, analysis.recording.markers
    if inputs is None or not analysis.plates or not any(z_points_up(plate) for plate in plates):
        return plates, ()
    if any(abs(len(p.channels) / p.rate_hz - markers.frame_count / markers.rate_hz) > _SPAN_S for p in plates):
        return plates, ()  # a part of the recording: it is not told
    signals = inputs.signals

    def wrench_of(plate: ForcePlate) -> PlateWrench:
        return with_plates(signals, [plate_wrench(plate, markers.frame_count, markers.rate_hz)]).plates[0]

    ordered, notes = corners_in_order(body_against_plates(analysis), plates, wrench_of, analysis.R_WL)
    R_WG = np.eye(3) if analysis.imported is None else analysis.imported.motion.R_WG
    return tuple(replace(plate, corners=plate.corners @ R_WG) for plate in ordered), notes
