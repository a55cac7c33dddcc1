"""Detection of offsets, wrong units and channels without signal of force plates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.checks.estimators.plate_evidence import FIRM_SHARE, MatchedStep, PlateEvidence, is_on_plate, plate_cop
from biodyn.conventions import STANDARD_GRAVITY_M_S2, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.rotations import cross
from biodyn.library.toml_files import load_table
from biodyn.processing.contacts.foot_motion import frames_clear_of_plate
from biodyn.recording import PlateWrench

CODE = "plate-not-zeroed"
# Vertical force of an unloaded plate, N, above which an offset is reported.
BASELINE_N = 10.0


@dataclass(frozen=True)
class UnloadedWrench:
    """Wrench F_Wo_W (6,) of an unloaded plate, number of frames, first and last frame."""

    wrench: FloatArray
    frames: int
    first: int
    last: int

    @property
    def force_n(self) -> float:
        """Vertical force, N."""
        return float(self.wrench[4])


def find_unloaded_forces(
    plates: Sequence[PlateWrench],
    foot_outlines: Mapping[Side, FloatArray],
    rate_hz: float,
    weight_n: float,
    limit_n: float,
) -> tuple[Diagnostic, ...]:
    """Report plates with a force while unloaded.

    plates: filtered wrenches at the marker rate. foot_outlines: outline (T, K, 3) m in World of each foot, NaN where unknown.
    """
    notes = []
    for plate in plates:
        removed = removed_offset_n(plate)
        level = unloaded_wrench(plate, foot_outlines, rate_hz)
        if level is not None and abs(level.force_n) > limit_n:
            notes.append(_remaining_offset_note(plate, level, rate_hz, weight_n, limit_n))
        elif abs(removed) > limit_n:
            text = f"has an offset of {removed:.0f} N, which was removed."
            notes.append(_offset_note(plate, "warning", removed, limit_n, text))
    return tuple(notes)


def removed_offset_n(plate: PlateWrench) -> float:
    """Return the removed vertical offset, N; the largest if it drifts."""
    if plate.zero is None:
        return 0.0
    half = 0.5 * plate.zero.drift_n
    return max(plate.zero.offset_n - half, plate.zero.offset_n + half, key=abs)


def unloaded_wrench(
    plate: PlateWrench, foot_outlines: Mapping[Side, FloatArray], rate_hz: float
) -> UnloadedWrench | None:
    """Return the wrench in frames with both feet off the plate; None if there are too few frames or it varies."""
    # Largest range of 80 % of the frames for an offset; it is larger with hands or sticks on the plate.
    steady_n = 10.0
    least_s = 0.25
    if not plate.outlined:  # without corners the feet on the plate are unknown
        return None
    free = np.isfinite(plate.wrench).all(axis=1)
    for sole in foot_outlines.values():
        free &= frames_clear_of_plate(plate.corners, sole)
    rows = np.flatnonzero(free)
    if len(rows) < least_s * rate_hz:
        return None
    low, high = np.percentile(plate.wrench[rows, 4], [10.0, 90.0])
    if high - low > steady_n:
        return None
    return UnloadedWrench(np.median(plate.wrench[rows], axis=0), len(rows), int(rows[0]), int(rows[-1]))


def remaining_offsets(notes: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the findings of `find_unloaded_forces` about offsets that remain in the forces."""
    return tuple(note for note in notes if note.frames is not None)


def _remaining_offset_note(
    plate: PlateWrench, level: UnloadedWrench, rate_hz: float, weight_n: float, limit_n: float
) -> Diagnostic:
    # Fraction of body weight beyond which torques of a stance on the plate are unusable.
    severe_share = 0.05
    severity = "error" if abs(level.force_n) > severe_share * weight_n else "warning"
    text = (
        f"measures {level.force_n:.0f} N without a foot on it ({level.frames / rate_hz:.1f} s). It was not zeroed, "
        f"and no offset could be removed. {_offset_effect_text(plate, level)} Nothing was changed."
    )
    return _offset_note(plate, severity, level.force_n, limit_n, text, (level.first, level.last))


def _offset_effect_text(plate: PlateWrench, level: UnloadedWrench) -> str:
    """Return a description of the effect of removing the offset on peak force and centre of pressure."""
    zeroed = PlateWrench(plate.number, plate.corners, plate.wrench - level.wrench, plate.rate_hz)
    peak, right = float(np.nanmax(plate.wrench[:, 4])), float(np.nanmax(zeroed.wrench[:, 4]))
    if right < abs(level.force_n):
        return "There is no contact on this plate."
    text = f"Removing the offset would change its peak force from {peak:.0f} to {right:.0f} N"
    rows = np.flatnonzero((zeroed.wrench[:, 4] > FIRM_SHARE * right) & (plate.wrench[:, 4] > FIRM_SHARE * right))
    if len(rows):
        shift = np.linalg.norm(plate_cop(zeroed, rows) - plate_cop(plate, rows), axis=1)
        text += f" and shift its centre of pressure by {100 * float(np.median(shift)):.1f} cm"
    return text + "."


def _offset_note(
    plate: PlateWrench, severity: str, level_n: float, limit_n: float, text: str, frames: tuple[int, int] | None = None
) -> Diagnostic:
    return Diagnostic(
        CODE,
        "error" if severity == "error" else "warning",
        f"Plate {plate.number} {text}",
        value=level_n,
        limit=limit_n,
        unit="N",
        frames=frames,
        hint="Zero the plates before the recording, and include a short period without load.",
    )


# -- channels without signal ----------------------------------------------------------------------------------------------


def find_silent_channels(
    evidence: PlateEvidence, channels_of: Callable[[int], FloatArray]
) -> tuple[tuple[int, int], ...]:
    """Return the channels (indices of plate and channel) without signal during single support on the plate.

    channels_of: function that returns the contribution F_Wo_W (C, T, 6) of each channel of a plate, given its index.
    """
    # Largest force (fraction of body weight) and moment about the plate centre (divided by body weight) of a channel
    # without signal; the smallest values of a measured walk are 0.024 and 0.0024 m.
    silent_force, silent_moment_m = 0.003, 0.0003
    silent = []
    steps = [step for step in evidence.steps if _is_single_support(evidence, step)]
    for plate in sorted({step.plate for step in steps}):
        rows = np.unique(np.concatenate([step.high_force for step in steps if step.plate == plate]))
        centre = evidence.plates[plate].corners.mean(axis=0)
        for channel, share in enumerate(channels_of(plate)):
            force = share[rows, 3:] / evidence.weight_n
            moment = share[rows, :3] / evidence.weight_n - cross(centre, force)
            if np.abs(force).max() < silent_force and np.abs(moment).max() < silent_moment_m:
                silent.append((plate, channel))
    return tuple(silent)


def silent_channel_findings(
    evidence: PlateEvidence, channels: Sequence[tuple[int, int]], labels: Sequence[Sequence[str]]
) -> tuple[Diagnostic, ...]:
    """Return one finding per plate with `silent_channels`; labels: channel labels of every plate."""
    notes = []
    for plate in sorted({plate for plate, _ in channels}):
        number, steps = evidence.plates[plate].number, [step for step in evidence.steps if step.plate == plate]
        columns = [channel for at, channel in channels if at == plate]
        names = ", ".join((labels[plate][c] if c < len(labels[plate]) else "") or f"number {c + 1}" for c in columns)
        what = "channels" if len(columns) > 1 else "channel"
        notes.append(
            Diagnostic(
                "plate-channel-gain",
                "error",
                f"Plate {number}: {what} {names} {('have' if len(columns) > 1 else 'has')} no signal during a foot "
                "contact. Nothing was changed.",
                value=0.0,
                limit=1.0,
                frames=(min(step.first for step in steps), max(step.stop for step in steps) - 1),
                hint="Check its cable, amplifier and FORCE_PLATFORM:CHANNEL. Moments and centre of pressure need all "
                "channels.",
                about=f"plate {number}, {names}",
            )
        )
    return tuple(notes)


def _is_single_support(evidence: PlateEvidence, step: MatchedStep) -> bool:
    """Return whether the whole foot was on its plate, and alone for a while."""
    least_single_support_frames = 8
    is_alone = step.side is not None and step.on_single_plate
    return is_alone and len(step.single_support) >= least_single_support_frames and is_on_plate(evidence, step)


# Least factor of a wrong unit; shifted and rotated plates and differences between people cause smaller factors. Even
# with moments near zero, the force at the sensor below the surface moves the centre of pressure.
LARGEST_FACTOR = 7.0
_LEAST_FRAMES = 5
NEWTON_A_POUND = 4.448  # lbf


def report_force_unit(evidence: PlateEvidence) -> tuple[Diagnostic, ...]:
    """Report vertical forces of the plates that differ from the required force by the factor of a wrong unit."""
    factor = force_ratio(evidence)
    unit = _unit_text(factor, {"kN": 1e-3, "kgf": 1.0 / STANDARD_GRAVITY_M_S2, "lbf": 1.0 / NEWTON_A_POUND, "mN": 1e3})
    # otherwise a foot may be partly on a plate
    alone = any(len(step.single_support) >= _LEAST_FRAMES for step in evidence.steps)
    is_usual = not (unit and alone) and 1.0 / LARGEST_FACTOR < factor < LARGEST_FACTOR
    if not np.isfinite(factor) or is_usual:
        return ()
    message = f"The plates measure {factor:.2g} times the force expected from body weight and motion{unit}."
    return (_unit_note("force-unit", message, factor, "forces"),)


def _unit_text(factor: float, units: Mapping[str, float], tolerance: float = 0.1) -> str:
    """Return a text with the unit that explains a factor within a tolerance; "" if none exists."""
    for name, value in units.items():
        if abs(factor / value - 1.0) < tolerance:
            return f", as if they were stored in {name}"
    return ""


def force_ratio(evidence: PlateEvidence) -> float:
    """Return the median over the steps of the ratio of measured to required vertical force; NaN without steps."""
    ratios = [
        float(
            evidence.plates[step.plate].wrench[step.single_support, 4].sum()
            / evidence.required[step.single_support, 4].sum()
        )
        for step in evidence.steps
        if len(step.single_support) >= _LEAST_FRAMES
    ]
    if not ratios:
        peaks = [float(evidence.plates[step.plate].wrench[step.first : step.stop, 4].max()) for step in evidence.steps]
        ratios = [max(peaks) / evidence.weight_n] if peaks else []
    return float(np.median(ratios)) if ratios else float("nan")


def report_moment_unit(evidence: PlateEvidence) -> tuple[Diagnostic, ...]:
    """Report moments whose centre of pressure differs from the foot by the factor of a wrong unit."""
    factor = lever_arm_ratio(evidence)
    if not np.isfinite(factor) or 1.0 / LARGEST_FACTOR < factor < LARGEST_FACTOR:
        return ()
    unit = _unit_text(factor, {"Nmm": 1e3, "Ncm": 100.0, "tenths of Nm": 10.0, "kNm": 1e-3}, tolerance=0.25)
    message = f"The centre of pressure is {factor:.2g} times as far from the centre of the plate as the foot{unit}."
    return (_unit_note("moment-unit", message, factor, "moments"),)


def lever_arm_ratio(evidence: PlateEvidence) -> float:
    """Return the median ratio of the distances of centre of pressure and foot from the plate centre; NaN without steps."""
    share = load_table("checks/checks")["pressure_path"]["share"]
    ratios = []
    for step in evidence.steps:
        high_force = step.high_force
        if (
            step.side is None
            or not step.heel_to_toe
            or len(high_force) < _LEAST_FRAMES
            or not np.isfinite(step.heel).all()
        ):
            continue
        plate = evidence.plates[step.plate]
        centre = plate.corners.mean(axis=0)
        along = np.interp(np.linspace(0.0, 1.0, len(high_force)), (0.0, 0.5, 1.0), share)[:, None]
        foot = (1.0 - along) * step.heel + along * step.toe + evidence.belt_displacement(step, high_force) - centre
        foot = foot * (1.0, 0.0, 1.0)
        ratios.append(_rms_magnitude(plate_cop(plate, high_force) - centre) / _rms_magnitude(foot))
    return float(np.median(ratios)) if ratios else float("nan")


def reason_for_unloaded_plates(plates: Sequence[PlateWrench]) -> str:
    """Return a sentence with the probable cause if no plate was loaded by a person."""
    # Lightest and heaviest person, N.
    people_n = (80.0, 3000.0)
    vertical = [plate.wrench[np.isfinite(plate.wrench[:, 4]), 4] for plate in plates]
    swing = max((float(np.ptp(force)) for force in vertical if len(force)), default=0.0)
    if swing == 0.0:
        return "The force channels are constant, so that the plates were probably not recorded or not exported."
    if people_n[0] <= 1000.0 * swing <= people_n[1]:
        return (
            f"The force changes by at most {swing:.3g} N, a thousandth of a person's weight. It seems to be stored "
            "in kN or with a wrong scale."
        )
    return f"The force changes by at most {swing:.3g} N. Nobody stepped on the plates, or they were switched off."


def find_impossible_load(plates: Sequence[PlateWrench]) -> float | None:
    """Return a vertical force (N) of implausible size and duration; None if none exists."""
    # Largest plausible force over this duration: ten times the weight of the heaviest person in a landing.
    most_n, most_s = 30e3, 0.1
    for plate in plates:
        size = np.sort(np.abs(plate.wrench[np.isfinite(plate.wrench[:, 4]), 4]))
        longest = max(1, round(most_s * plate.rate_hz))
        if len(size) >= longest and size[-longest] > most_n:
            return float(size[-longest])
    return None


def _rms_magnitude(vectors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.sum(vectors**2, axis=1))))


def _unit_note(code: str, message: str, factor: float, what: str) -> Diagnostic:
    return Diagnostic(
        code,
        "error",
        f"{message} Nothing was changed.",
        value=factor,
        limit=LARGEST_FACTOR if factor > 1.0 else 1.0 / LARGEST_FACTOR,
        hint=f"The {what} of the plates probably have a wrong unit (usually N and Nmm) or scale. Check "
        "ANALOG:UNITS, ANALOG:SCALE and GEN_SCALE, and export the trial again.",
    )
