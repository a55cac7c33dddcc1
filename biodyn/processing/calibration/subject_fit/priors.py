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
        centre_m: by segment, (3,) of its joint centre in the parent's axes, markers well placed. turn_rad: by segment, of its
            axes about the long axis, likewise. symmetry: correlation of both sides in these.
        posture_m: by segment, of its place against the parent between standing and walking, each axis.
        length_m: of the difference of both sides' lengths.
        placement_m: of a marker that marks a landmark, each direction along the skin.
        marker_m: by segment, of the error of its markers of the largest weight, each axis, skin and noise; offset_share: of it,
            constant while walking; soft_m: that of soft markers.
        independent_s: time after which a frame tells something new; most_independent: such frames in one trial, at most;
            most_independent_walks: in all walks of a session together.
        skin_m_rad: by segment, of a marker's slide along each axis when a neighbouring joint bends by one radian; skin_common:
            correlation of the slides of a segment's markers.
    """

    centre_m: Mapping[str, FloatArray]
    turn_rad: Mapping[str, float]
    symmetry: float
    posture_m: Mapping[str, float]
    length_m: float
    placement_m: float
    marker_m: Mapping[str, float]
    offset_share: float
    soft_m: float
    independent_s: float
    most_independent: float
    most_independent_walks: float
    skin_m_rad: Mapping[str, float]
    skin_common: float


def load_priors() -> Priors:
    """Return the library's numbers."""
    table = load_table("body/subject_fit")
    markers, symmetry = table["markers"], table["symmetry"]
    return Priors(
        centre_m={name: 1e-3 * np.array(mm, dtype=float) for name, mm in _sided(table["centre_mm"])},
        turn_rad={name: float(np.deg2rad(deg)) for name, deg in _sided(table["turn_deg"])},
        symmetry=float(symmetry["correlation"]),
        posture_m={name: 1e-3 * float(mm) for name, mm in _sided(table["posture_mm"])},
        length_m=1e-3 * float(symmetry["length_mm"]),
        placement_m=1e-3 * float(markers["placement_mm"]),
        marker_m={name: 1e-3 * float(mm) for name, mm in _sided(markers["sd_mm"])},
        offset_share=float(markers["offset_share"]),
        soft_m=1e-3 * float(markers["soft_mm"]),
        independent_s=float(markers["independent_s"]),
        most_independent=float(markers["most_independent"]),
        most_independent_walks=float(markers["most_independent_walks"]),
        skin_m_rad={name: 1e-3 * float(mm) for name, mm in _sided(table["skin_mm_rad"])},
        skin_common=float(markers["skin_common"]),
    )


def _sided(rows: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for pattern, value in rows.items() for _, name in for_each_side(pattern)]
