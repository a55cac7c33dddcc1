"""Reaction wrench of a force plate about the world origin from stored channels, C3D types 1 to 7.

Formulas of the C3D manual (c3d.org), checked against BTK and recordings. In plate axes (x, y in the surface, z = x × y, usually
pointing down), with r_SO the stored ORIGIN, which points from the origin of the sensor to the surface centre S:

    M_S = M_O + F × ORIGIN          moment about the surface centre, then the correction of the manufacturer, if any
    [F; M_S] = C [F; M_S]           where the plate was calibrated (`recording.plate_calibration`)
    F_W = R F
    M_Wo = R M_S + p_WS × F_W
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import PlateError
from biodyn.geometry.rotations import cross
from biodyn.processing.signals.plate_channels import (
    channel_findings,
    channel_offset_findings,
    find_offset,
    find_saturation,
    missing_samples_note,
    missing_times,
    remove_spikes,
    saturated_times,
)
from biodyn.recording import ForcePlate, PlateWrench

# Force above which a plate is loaded, for the decision about signs (not the contact threshold of the settings).
_LOADED_N = 50.0


class PlateAxes(NamedTuple):
    """Pose of the plate surface: axes R_WP (3, 3) as columns, surface centre p_WS (3,) m, and half side lengths, m."""

    R_WP: FloatArray
    p_WS: FloatArray
    half_sides: FloatArray


def plate_wrench(
    plate: ForcePlate, frame_count: int, marker_rate_hz: float, unloaded: BoolArray | None = None
) -> PlateWrench:
    """Return the reaction of a plate on its load, as F_Wo_W [moment; force] at the analog rate.

    `plate.corners` must already be in World (Y up). The offset is removed; the signs of the force and of ORIGIN are checked
    against the data. unloaded: (frame_count,) marker frames in which no foot is above the plate, None if the feet are not known
    yet. Raises PlateError for an unsupported type or inconsistent channels.
    """
    supported_types = (1, 2, 3, 4, 5, 6, 7)
    fastest_hz = 1e7  # faster than any converter; a larger number is damaged
    if plate.type not in supported_types:
        raise PlateError(
            f"Force plate {plate.number} is of type {plate.type}; supported are {supported_types}.",
            "Export the plate as type 2 (forces and moments) from the capture software.",
        )
    rates = (plate.rate_hz, marker_rate_hz)
    if not all(np.isfinite(rate) and 0.0 < rate < fastest_hz for rate in rates):
        raise PlateError(
            f"Force plate {plate.number} has {rates[0]:g} samples per second at {rates[1]:g} frames per second; expected "
            f"positive numbers below {fastest_hz:g}.",
            "Check POINT:RATE and ANALOG:RATE, and export the trial again.",
        )
    expected = round(frame_count * plate.rate_hz / marker_rate_hz)
    if plate.channels.shape[0] != expected:
        raise PlateError(
            f"Force plate {plate.number} has {plate.channels.shape[0]} samples; expected {expected} "
            f"({frame_count} frames at {marker_rate_hz:g} Hz, forces at {plate.rate_hz:g} Hz)."
        )
    axes = plate_axes(plate)
    plate, spike_notes = remove_spikes(plate)
    stored_up = _vertical_force(plate, axes, plate.channels)
    offset, zero, offset_findings = find_offset(plate, stored_up, marker_rate_hz, unloaded)
    wrench, sign_notes, other_notes = _signed_reaction(plate, axes, plate.channels - offset)
    # The offset is reported with the sign of the reaction.
    sense = -1.0 if sign_notes else 1.0
    zero = replace(zero, offset_n=sense * zero.offset_n, drift_n=sense * zero.drift_n)
    rest = offset[len(offset) // 2] if len(offset) else np.zeros(plate.channels.shape[1])
    cut = find_saturation(plate, rest)
    F_W = wrench[:, 3:]
    largest = float(np.nanmax(np.abs(F_W[:, 1]), initial=0.0))
    silent_s = missing_times(np.where(np.isfinite(wrench).all(axis=1), F_W[:, 1], np.nan), plate.rate_hz)
    return PlateWrench(
        number=plate.number,
        corners=plate.corners,
        wrench=wrench,
        rate_hz=plate.rate_hz,
        diagnostics=(
            *spike_notes,
            *offset_findings,
            *channel_offset_findings(plate.number, zero, unloaded is not None, largest),
            *sign_notes,
            *other_notes,
            *channel_findings(plate, cut, float(np.nanmax(np.abs(F_W), initial=0.0))),
            *missing_samples_note(plate.number, silent_s),
        ),
        zero=zero,
        saturated_s=saturated_times(plate, cut),
        unrecorded_s=silent_s,
        outlined=plate.outlined,
        side=plate.side,
    )


def channel_contributions(
    plate: ForcePlate, smoothed: Callable[[FloatArray], FloatArray], marker_rate_hz: float
) -> FloatArray:
    """Return the contribution of each channel to the reaction, F_Wo_W (C, T, 6).

    A gain g of a channel changes the reaction by g - 1 times its contribution. `plate.corners` must be in World. `smoothed`
    filters offset-free channels (Ta, C) and resamples them to the marker frames (T, C), like the wrench of the plate. The signs
    of force and ORIGIN follow from the whole plate. The result is exact except for a manufacturer's correction of the centre of
    pressure, which is linearised.
    """
    # Relative change of a channel for its contribution, too small to change a sign.
    gain_step = 1e-3
    axes = plate_axes(plate)
    plate, _ = remove_spikes(plate)
    offset, _, _ = find_offset(plate, _vertical_force(plate, axes, plate.channels), marker_rate_hz)
    channels = smoothed(plate.channels - offset)
    whole, _, _ = _signed_reaction(plate, axes, channels)
    shares = []
    for column in range(channels.shape[1]):
        more = channels.copy()
        more[:, column] *= 1.0 + gain_step
        shares.append((_signed_reaction(plate, axes, more)[0] - whole) / gain_step)
    return np.array(shares)


def resample_wrench(plate_wrench: PlateWrench, frame_count: int, marker_rate_hz: float) -> PlateWrench:
    """Return the wrench at the marker frames, i.e. the first analog sample of each frame.

    The wrench must be filtered before, because resampling aliases higher frequencies.
    """
    picked = frame_samples(plate_wrench.wrench, plate_wrench.rate_hz, frame_count, marker_rate_hz)
    return replace(plate_wrench, wrench=picked, rate_hz=marker_rate_hz)


def frame_samples(samples: FloatArray, rate_hz: float, frame_count: int, marker_rate_hz: float) -> FloatArray:
    """Return samples (Ta, C) at the marker frames, as (T, C); see `resample_wrench`."""
    ratio = rate_hz / marker_rate_hz
    step = round(ratio)
    if abs(ratio - step) < 1e-6 * ratio and samples.shape[0] >= (frame_count - 1) * step + 1:
        picked = samples[: (frame_count - 1) * step + 1 : step]
    else:
        at = np.arange(frame_count) / marker_rate_hz * rate_hz
        picked = np.column_stack([np.interp(at, np.arange(samples.shape[0]), column) for column in samples.T])
    return np.ascontiguousarray(picked)


def plate_axes(plate: ForcePlate | PlateWrench) -> PlateAxes:
    """Return the plate axes from the corners (+x+y, -x+y, -x-y, +x-y), which need not be an exact rectangle."""
    c = plate.corners
    x = (c[0] - c[1]) + (c[3] - c[2])
    y = (c[0] - c[3]) + (c[1] - c[2])
    z = cross(x, y)
    lengths = np.linalg.norm([x, y], axis=1) / 2
    if not np.isfinite(c).all() or np.linalg.norm(z) < 1e-9:
        raise PlateError(f"The corners of force plate {plate.number} do not span a surface.", "Check FORCE_PLATFORM.")
    x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
    return PlateAxes(np.column_stack([x, cross(z, x), z]), c.mean(axis=0), lengths / 2)


def _signed_reaction(
    plate: ForcePlate, axes: PlateAxes, channels: FloatArray
) -> tuple[FloatArray, tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """Return F_Wo_W (T, 6) for offset-free channels (T, C), findings about its sign, and other findings."""
    force, moment_at_sensor, origin = _sensor_wrench(plate, channels)
    force, moment_at_sensor, sign_notes = _correct_reaction_sign(plate, axes, force, moment_at_sensor)
    moment, origin_notes = _moment_about_surface_centre(plate, axes, force, moment_at_sensor, origin)
    moment, cop_notes = _corrected_moment(plate, force, moment)
    if plate.sensitivity is not None:
        force, moment = np.split(np.hstack([force, moment]) @ plate.sensitivity.T, 2, axis=1)
    F_W = force @ axes.R_WP.T
    M_Wo = moment @ axes.R_WP.T + cross(axes.p_WS, F_W)
    return np.hstack([M_Wo, F_W]), sign_notes, (*origin_notes, *cop_notes)


def _calibrated_channels(plate: ForcePlate, channels: FloatArray) -> FloatArray:
    """Return the channels (T, C), multiplied by the calibration matrix if the plate type has one."""
    if plate.type not in (4, 5, 6, 7):
        return channels
    if plate.cal_matrix is None:
        raise PlateError(
            f"Force plate {plate.number} is of type {plate.type} but has no calibration matrix.",
            "Export the trial with FORCE_PLATFORM:CAL_MATRIX, or as type 2.",
        )
    return channels @ plate.cal_matrix.T


def _sensor_wrench(plate: ForcePlate, channels: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return force and moment (T, 3) about the sensor origin in plate axes, and the vector ORIGIN (3,) to the surface centre."""
    c = _calibrated_channels(plate, channels)
    force = c[:, :3]
    if plate.type == 1:  # Fx Fy Fz, centre of pressure x y on the surface, free moment
        p = np.column_stack([c[:, 3:5], np.zeros(len(c))])
        moment = cross(p, force)
        moment[:, 2] += c[:, 5]
        return force, moment, np.zeros(3)
    if plate.type in (3, 7):  # Fx12 Fx34 Fy14 Fy23 Fz1 Fz2 Fz3 Fz4, sensors at (±a, ±b)
        a, b = abs(plate.origin[0]), abs(plate.origin[1])
        x12, x34, y14, y23, z1, z2, z3, z4 = c.T
        force = np.column_stack([x12 + x34, y14 + y23, z1 + z2 + z3 + z4])
        moment = np.column_stack([b * (z1 + z2 - z3 - z4), a * (-z1 + z2 + z3 - z4), b * (x34 - x12) + a * (y14 - y23)])
        return force, moment, np.array([0.0, 0.0, plate.origin[2]])
    if plate.type == 6:  # three forces of each of the sensors 1 to 4 at (a, b), (-a, b), (-a, -b), (a, -b)
        a, b = abs(plate.origin[0]), abs(plate.origin[1])
        of_sensor = _sensor_forces(c)
        places = np.array([[a, b, 0.0], [-a, b, 0.0], [-a, -b, 0.0], [a, -b, 0.0]])
        moment = cross(places, of_sensor).sum(axis=1)
        return of_sensor.sum(axis=1), moment, np.array([0.0, 0.0, plate.origin[2]])
    return force, c[:, 3:6], plate.origin  # types 2, 4 and, after its matrix, 5


def _sensor_forces(channels: FloatArray) -> FloatArray:
    """Return the forces (T, 4, 3) of the four sensors of a type 6 plate.

    Descriptions of the type disagree: Fx1 Fy1 Fz1 Fx2 ... (Visual3D) or Fx1..4 Fy1..4 Fz1..4 (BTK). The order with the larger
    vertical force is used, because a person loads a plate mainly downwards.
    """
    interleaved = channels.reshape(-1, 4, 3)
    blocks = channels.reshape(-1, 3, 4).transpose(0, 2, 1)
    vertical = [float(np.nansum(order[..., 2].sum(axis=1) ** 2)) for order in (interleaved, blocks)]
    return interleaved if vertical[0] >= vertical[1] else blocks


def _correct_reaction_sign(
    plate: ForcePlate, axes: PlateAxes, force: FloatArray, moment: FloatArray
) -> tuple[FloatArray, FloatArray, tuple[Diagnostic, ...]]:
    """Reverse all signs if the stored force pulls the person down, because a person can only push a plate down."""
    up = (force @ axes.R_WP.T)[:, 1]
    up = up[np.isfinite(up)]
    low, high = np.percentile(up, [1.0, 99.0]) if up.size else (0.0, 0.0)
    if max(high, -low) < _LOADED_N or high > -low:
        return force, moment, ()
    note = Diagnostic(
        "plate-sign",
        "warning",
        f"The stored force of plate {plate.number} pulls the person down (range {low:.0f} to {high:.0f} N); its "
        "opposite is used as the reaction.",
        value=float(low),
        limit=0.0,
        unit="N",
        hint="The file stores the action on the plate, or the corners are in the wrong order.",
    )
    return -force, -moment, (note,)


def _moment_about_surface_centre(
    plate: ForcePlate, axes: PlateAxes, force: FloatArray, moment: FloatArray, origin: FloatArray
) -> tuple[FloatArray, tuple[Diagnostic, ...]]:
    """Return the moment about the surface centre, after determining the sign of ORIGIN.

    Exporters disagree on this sign. The surface is above the sensor, so that in the axes of the format (z down) the z of ORIGIN
    is negative; with z up it is positive. If the centre of pressure is then outside the plate, the opposite sign is used if
    only this sign moves it onto the plate.
    """
    by_rule = -origin if origin[2] * axes.R_WP[1, 2] < 0.0 else origin
    arm = cross(force, by_rule)
    at_surface = moment + arm
    share = _fraction_of_pressure_on_plate(axes, force, at_surface)
    notes: tuple[Diagnostic, ...] = ()
    if share >= 0.5:
        return at_surface, notes
    other = _fraction_of_pressure_on_plate(axes, force, moment - arm)
    if other >= 0.5:
        at_surface = moment - arm
        notes = (
            Diagnostic(
                "plate-sign",
                "warning",
                f"FORCE_PLATFORM:ORIGIN of plate {plate.number} is used with the opposite sign: the centre of "
                f"pressure is then on the plate in {100 * other:.0f} % of the loaded samples (otherwise in "
                f"{100 * share:.0f} %).",
                value=share,
                limit=0.5,
            ),
        )
    else:
        notes = (
            Diagnostic(
                "plate-cop-outside",
                "warning",
                f"The centre of pressure of plate {plate.number} is outside the plate in "
                f"{100 * (1 - share):.0f} % of the loaded samples.",
                value=1 - share,
                limit=0.5,
                hint="Check corners, origin, channel order and units of the plate in the capture software.",
            ),
        )
    return at_surface, notes


def _corrected_moment(
    plate: ForcePlate, force: FloatArray, moment: FloatArray
) -> tuple[FloatArray, tuple[Diagnostic, ...]]:
    """Apply the manufacturer's correction of the centre of pressure to the moment about the surface centre (not its vertical
    part)."""
    if plate.cop_correction is None:
        return moment, ()
    vertical = force[:, 2:3]
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.column_stack([-moment[:, 1], moment[:, 0]]) / vertical
    errors = plate.cop_correction.errors(places)
    dx, dy = np.where(vertical == 0.0, 0.0, errors * vertical).T
    corrected = moment + np.column_stack([-dy, dx, np.zeros_like(dx)])
    sizes = np.linalg.norm(errors[np.abs(vertical[:, 0]) > _LOADED_N], axis=1)
    if not sizes.size:
        return corrected, ()
    largest = float(np.nanmax(sizes))
    note = Diagnostic(
        "plate-cop-corrected",
        "info",
        f"The manufacturer's correction in the file (FORCE_PLATFORM:FPCOPPOLY) moves the centre of pressure of plate "
        f"{plate.number} by up to {1e3 * largest:.1f} mm under load.",
        value=largest,
        unit="m",
    )
    return corrected, (note,)


def _fraction_of_pressure_on_plate(axes: PlateAxes, force: FloatArray, moment: FloatArray) -> float:
    """Return the fraction of loaded samples with the centre of pressure on the plate (2 cm tolerance); 1 if never loaded."""
    loaded = np.abs(force[:, 2]) > _LOADED_N
    if not loaded.any():
        return 1.0
    p = np.column_stack([-moment[loaded, 1], moment[loaded, 0]]) / force[loaded, 2:3]
    return float((np.abs(p) <= axes.half_sides + 0.02).all(axis=1).mean())


def _vertical_force(plate: ForcePlate, axes: PlateAxes, channels: FloatArray) -> FloatArray:
    """Return the force (T,) N along World Y, with the sign of the file."""
    force, _, _ = _sensor_wrench(plate, channels)
    vertical: FloatArray = (force @ axes.R_WP.T)[:, 1]
    return vertical
