"""One standard deviation of every source of error, from the library or a user's own file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import TableError
from biodyn.library.load import load_table, nearest
from biodyn.library.tables import for_each_side, user_table

_KIND = "uncertainty"
_CUTOFF_HZ = 6.0  # the standard deviation of the cut-off is that of this one


@dataclass(frozen=True)
class Magnitudes:
    """Standard deviations, SI; per axis where there are axes.

    Attributes:
        marker_noise_m: white noise of a marker, at least; noise_from_hz: above this a trial shows its own noise.
        soft_tissue_m: movement of a marker against the bone, by segment; shares: of its variance, offset first, then the
            harmonics of the stride; stride_s: where no stride is known.
        joint_centre_m: (3,) along each axis of the parent, by the segment beyond the joint.
        mass_share, moment_share: of a segment's mass and moments of inertia; com_m: of its centre of mass.
        centre_of_pressure_m, cutoff_hz.
        unseen_rad: by segment, tilt, list and turn (3,) of a segment without markers against its assumed motion: mean, and
            movement in the stride; unseen_harmonics: of the variance of the latter.
        calibration_m: by what stood for the static trial, what that adds to `joint_centre_m`, by the segment beyond the joint.
        pose_noise: white noise of a measured pose, at least: of its origin, m, and attitude, rad. pose_error: what else it is
            off; pose_shares: of its variance, offset first, then the harmonics of the stride.
        citations: by source.
    """

    marker_noise_m: float
    noise_from_hz: float
    soft_tissue_m: Mapping[str, float]
    shares: tuple[float, ...]
    stride_s: float
    joint_centre_m: Mapping[str, FloatArray]
    mass_share: float
    moment_share: float
    com_m: float
    centre_of_pressure_m: float
    cutoff_hz: float
    citations: Mapping[str, str]
    unseen_rad: Mapping[str, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    unseen_harmonics: tuple[float, ...] = (1.0,)
    calibration_m: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    pose_noise: tuple[float, float] = (0.0, 0.0)
    pose_error: tuple[float, float] = (0.0, 0.0)
    pose_shares: tuple[float, ...] = (1.0,)

    def cutoff_sd_hz(self, used_hz: float) -> float:
        """How far another choice would lie from the cut-off that was used: `cutoff_hz` at 6 Hz, in proportion above."""
        return self.cutoff_hz * max(1.0, used_hz / _CUTOFF_HZ)


def load_magnitudes(file: str | None = None) -> Magnitudes:
    """Return the library's magnitudes, or those of a TOML file laid out alike.

    Raises TableError where the file cannot be read or an entry is not valid.
    """
    return _from_table(load_table("uncertainty/magnitudes") if file is None else user_table(_KIND, file).content)


def _from_table(table: Mapping[str, Any]) -> Magnitudes:
    shares = tuple(float(share) for share in table["soft_tissue"]["shares"])
    table = _of_poses() | dict(table)  # a file of one's own may say nothing of poses
    return Magnitudes(
        marker_noise_m=1e-3 * float(table["marker_noise"]["sd_mm"]),
        noise_from_hz=float(table["marker_noise"]["from_hz"]),
        soft_tissue_m=_by_segment(table["soft_tissue"]["sd_mm"]),
        shares=shares,
        stride_s=float(table["soft_tissue"]["stride_s"]),
        joint_centre_m=_joint_centres(table["joint_centres"]),
        mass_share=0.01 * float(table["inertias"]["mass_percent"]),
        moment_share=0.01 * float(table["inertias"]["moment_percent"]),
        com_m=1e-3 * float(table["inertias"]["centre_mm"]),
        centre_of_pressure_m=1e-3 * float(table["centre_of_pressure"]["sd_mm"]),
        cutoff_hz=float(table["cutoff"]["sd_hz"]),
        unseen_rad=_unseen(table.get("unseen_segments", {})),
        unseen_harmonics=tuple(table.get("unseen_segments", {}).get("harmonics", (1.0,))),
        citations={name: str(entry.get("citation", "")) for name, entry in table.items()},
        pose_noise=_origin_and_turn(table["pose_noise"]),
        pose_error=_origin_and_turn(table["pose_errors"]),
        pose_shares=tuple(float(share) for share in table["pose_errors"]["shares"]),
        calibration_m=_by_source(table.get("calibration") or load_table("uncertainty/magnitudes")["calibration"]),
    )


def _of_poses() -> dict[str, Any]:
    library = load_table("uncertainty/magnitudes")
    return {name: library[name] for name in ("pose_noise", "pose_errors")}


def _origin_and_turn(table: Mapping[str, Any]) -> tuple[float, float]:
    return 1e-3 * float(table["origin_mm"]), float(np.deg2rad(table["turn_deg"]))


def _unseen(table: Mapping[str, Any]) -> dict[str, tuple[FloatArray, FloatArray]]:
    offset, stride = (
        {name: np.deg2rad(deg) for pattern, deg in table.get(key, {}).items() for _, name in for_each_side(pattern)}
        for key in ("offset_deg", "stride_deg")
    )
    return {name: (offset.get(name, np.zeros(3)), stride.get(name, np.zeros(3))) for name in {**offset, **stride}}


def _joint_centres(table: Mapping[str, Any]) -> dict[str, FloatArray]:
    """(3,) m by segment: a number for all axes, or what the fit of the subject's model believes of it."""
    fit = _by_name(load_table("body/subject_fit")["centre_mm"])
    believed = [name for pattern in table.get("believed", ()) for _, name in for_each_side(pattern)]
    unknown = [name for name in believed if name not in fit]
    if unknown:
        raise TableError(
            f"'joint_centres.believed': the fit of the subject's model believes nothing of {', '.join(unknown)}.",
            nearest(unknown[0], sorted(fit)),
        )
    millimetres = _by_name(table["sd_mm"]) | {name: fit[name] for name in believed}
    return {name: 1e-3 * np.broadcast_to(np.asarray(mm, dtype=float), 3) for name, mm in millimetres.items()}


def _by_name(rows: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for pattern, value in rows.items() for _, name in for_each_side(pattern)}


def _by_source(calibration: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {name.replace("_", " "): _by_segment(entry) for name, entry in calibration["sd_mm"].items()}


def _by_segment(millimetres: Mapping[str, float]) -> dict[str, float]:
    return {name: 1e-3 * float(mm) for name, mm in _by_name(millimetres).items()}
