"""What is believed of a person before the walk is seen: standard deviations from the library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.library.load import load_table
from biodyn.library.tables import for_each_side


@dataclass(frozen=True)
class Priors:
    """One standard deviation of everything that the fit may change, SI.

    Attributes:
        centre_m: by segment, (3,) of its joint centre in the parent's axes. posture_m: by segment, of its place against
            the parent between standing and walking, each axis.
        turn_rad: of axes that rest on a skin wand. mirrored_m: by segment, of the difference of both sides' centres.
        length_m: of the difference of both sides' lengths.
        marker_m: of a marker of weight 1; offset_share: of it, constant while walking; soft_m: that of soft markers.
        independent_s: time after which a frame tells something new; most_independent: such frames in one trial, at most.
    """

    centre_m: Mapping[str, FloatArray]
    posture_m: Mapping[str, float]
    turn_rad: float
    mirrored_m: Mapping[str, float]
    length_m: float
    marker_m: float
    offset_share: float
    soft_m: float
    independent_s: float
    most_independent: float


def load_priors() -> Priors:
    """Return the library's numbers."""
    table = load_table("body/subject_fit")
    markers = table["markers"]
    mirrored = {name: mm for name, mm in table["symmetry"].items() if name != "length_mm"}
    return Priors(
        centre_m={name: 1e-3 * np.array(mm, dtype=float) for name, mm in _sided(table["centre_mm"])},
        posture_m={name: 1e-3 * float(mm) for name, mm in _sided(table["posture_mm"])},
        turn_rad=float(np.deg2rad(table["turn"]["uncertain_deg"])),
        mirrored_m={name: 1e-3 * float(mm) for name, mm in _sided(mirrored)},
        length_m=1e-3 * float(table["symmetry"]["length_mm"]),
        marker_m=1e-3 * float(markers["sd_mm"]),
        offset_share=float(markers["offset_share"]),
        soft_m=1e-3 * float(markers["soft_mm"]),
        independent_s=float(markers["independent_s"]),
        most_independent=float(markers["most_independent"]),
    )


def _sided(rows: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for pattern, value in rows.items() for _, name in for_each_side(pattern)]
