"""Determine the layout of the data section of a C3D file from the header, the parameters and the file size.

In some files only the header is correct, in others only the parameters. With the wrong layout, coordinates are assigned to the
wrong markers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.file_access import COPY_AGAIN, EXPORT_AGAIN
from biodyn.io.format import RATES_HZ
from biodyn.io.formats.c3d.header import BLOCK_BYTES, C3dHeader, unsigned_count

WORD_LIMIT = 0xFFFF  # a 16-bit count holds this for any larger number


@dataclass(frozen=True)
class FrameDescription:
    """Numbers of points, analog values and data block that determine the length of a frame and the position of the first one."""

    points: int
    analog: int
    is_float: bool
    block: int

    @property
    def byte_count(self) -> int:
        return (4 * self.points + self.analog) * (4 if self.is_float else 2)

    def complete_frames(self, size_bytes: int) -> tuple[int, int]:
        """Return the number of complete frames in a file of this size, and the number of bytes after the start of the data."""
        room = max(0, size_bytes - (self.block - 1) * BLOCK_BYTES) if self.block > 1 else 0
        return (room // self.byte_count if self.byte_count else 0), room

    def fits_file(self, frames: int, size_bytes: int) -> bool:
        """Return whether the last of `frames` frames ends in the last block of a file of this size."""
        return frames > 0 and 0 <= self.complete_frames(size_bytes)[1] - frames * self.byte_count < BLOCK_BYTES


def finite_parameter(header: C3dHeader, key: str) -> float | None:
    """Return the first value of a parameter; None if it is missing or not finite."""
    values = header.numbers.get(key, ())
    return float(values[0]) if values and math.isfinite(values[0]) else None


def header_frame_layout(header: C3dHeader) -> FrameDescription:
    """Return the frame layout stated in the header block."""
    words = header.words
    return FrameDescription(words.points, words.analog_per_frame, words.scale < 0, words.data_block)


def parameter_frame_layout(header: C3dHeader) -> FrameDescription:
    """Return the frame layout stated in the parameters; missing values are taken from the header."""
    frame = header_frame_layout(header)
    points, scale = finite_parameter(header, "POINT:USED"), finite_parameter(header, "POINT:SCALE")
    block = finite_parameter(header, "POINT:DATA_START")
    if points is not None:
        frame = replace(frame, points=unsigned_count(points))
    if scale is not None and scale != 0.0:
        frame = replace(frame, is_float=scale < 0)
    if block is not None and unsigned_count(block) > 1:
        frame = replace(frame, block=unsigned_count(block))
    used, analog_rate, rate = (finite_parameter(header, key) for key in ("ANALOG:USED", "ANALOG:RATE", "POINT:RATE"))
    if used == 0:
        return replace(frame, analog=0)
    if used and analog_rate and rate and rate > 0 and 0 < analog_rate / rate < WORD_LIMIT:
        return replace(frame, analog=unsigned_count(used) * max(1, round(analog_rate / rate)))
    return frame


def stated_frame_counts(header: C3dHeader) -> list[int]:
    """Return the frame counts stated in header and parameters, the most reliable first; saturated 16-bit counts are last."""
    numbers, words = header.numbers, header.words
    claims: list[int] = []
    full: list[int] = []
    (full if words.last_frame == WORD_LIMIT else claims).append(words.last_frame - words.first_frame + 1)
    stored = finite_parameter(header, "POINT:FRAMES")
    if stored is not None:
        count = unsigned_count(stored)
        (full if count == WORD_LIMIT else claims).append(count)
    claims.append(unsigned_count(finite_parameter(header, "POINT:LONG_FRAMES") or 0.0))
    start, end = (count_from_two_words(numbers.get(f"TRIAL:ACTUAL_{word}_FIELD", ())) for word in ("START", "END"))
    if start is not None and end is not None:
        claims.append(end - start + 1)
    return [claim for claim in dict.fromkeys([*claims, *full]) if claim > 0]


def count_from_two_words(values: tuple[float, ...]) -> int | None:
    """Return a count stored in two 16-bit words, the low word first."""
    if len(values) != 2:
        return None
    return unsigned_count(values[0]) + 65536 * unsigned_count(values[1])


def choose_frame_layout(
    header: C3dHeader, first: FrameDescription, second: FrameDescription, claims: list[int]
) -> FrameDescription:
    """Return the frame layout of the header (`first`) if it fits the file size, else of the parameters (`second`) if this fits.

    In a small file both layouts may end in the last block. The correct one is then followed by padding only. `claims`: stated
    frame counts. Raises InputFileError if neither layout fits.
    """
    size = header.data_end
    if first.block <= 1:  # the header itself
        first = replace(first, block=second.block)
    most_slips = 2  # one or two wrong values of a header may be an export fault; with more the header is damaged
    differing = sum(getattr(first, name) != getattr(second, name) for name, _, _ in _NAMES)
    candidates = (first, second) if differing <= most_slips else (first,)
    fitting = [frame for frame in candidates if any(frame.fits_file(n, size) for n in claims)]
    if fitting:
        padded = [frame for frame in fitting if any(is_padded_to_end(header, frame, n) for n in claims)]
        return (padded or fitting)[0]
    if first == second or any(0 < n <= first.complete_frames(size)[0] for n in claims):
        return first
    raise InputFileError(
        f"'{header.path}' is damaged: header and parameters contradict each other and the file size of "
        f"{header.size_bytes} bytes: "
        f"{_frame_differences(first, second)}.",
        COPY_AGAIN,
    )


def is_padded_to_end(header: C3dHeader, frame: FrameDescription, frames: int) -> bool:
    """Return whether this number of frames fills the file except for zeros at its end."""
    rest = frame.complete_frames(header.data_end)[1] - frames * frame.byte_count
    return frame.fits_file(frames, header.data_end) and not any(header.tail[len(header.tail) - rest :])


_NAMES = (
    ("points", "points per frame", "POINT:USED"),
    ("analog", "analog values per frame", "ANALOG:USED and RATE"),
    ("is_float", "floats", "POINT:SCALE"),
    ("block", "first data block", "POINT:DATA_START"),
)


def _frame_differences(first: FrameDescription, second: FrameDescription) -> str:
    """Return the differences of two frames as text: 'points per frame (header 20, POINT:USED 24)'."""
    return ", ".join(
        f"{title} (header {getattr(first, name):d}, {parameter} {getattr(second, name):d})"
        for name, title, parameter in _NAMES
        if getattr(first, name) != getattr(second, name)
    )


def disagreement_note(
    taken: FrameDescription, first: FrameDescription, second: FrameDescription
) -> tuple[Diagnostic, ...]:
    """Return a note on the differences of header (`first`) and parameters (`second`), and on the layout `taken`; () if
    equal."""
    if first == second:
        return ()
    which = (
        "header values" if taken == first else "parameters" if taken == second else "values that fit the file's size"
    )
    return (
        Diagnostic(
            "recording-repaired",
            "warning",
            f"Header and parameters of the file disagree on the data layout: {_frame_differences(first, second)}; "
            f"the {which} were used.",
            hint="Correct the export settings, and compare some marker positions with the capture software.",
        ),
    )


_SAME_RATE = 1e-3  # relative


@dataclass(frozen=True)
class DataLayout:
    """Layout of the data section.

    Attributes:
        point_count: points per frame. channel_count: analog channels. samples_per_frame: samples per channel and frame.
        is_float: whether numbers are 4-byte floats, else 2-byte integers. scale: file units per integer step.
        start_byte: position of the first frame. frame_count: number of frames. first_frame: stored number of the first frame.
        rate_hz: frames per second. notes: disagreements of header and parameters, and the values that were used.
    """

    point_count: int
    channel_count: int
    samples_per_frame: int
    is_float: bool
    scale: float
    start_byte: int
    frame_count: int
    first_frame: int
    rate_hz: float
    notes: tuple[Diagnostic, ...] = ()

    @property
    def frame_words(self) -> int:
        """Number of words of one frame."""
        return 4 * self.point_count + self.channel_count * self.samples_per_frame


def data_layout(header: C3dHeader, needs_motion: bool = True) -> DataLayout:
    """Return the layout of the data section; InputFileError if the file is truncated, inconsistent or without needed motion."""
    from_header, from_parameters = header_frame_layout(header), parameter_frame_layout(header)
    claims = stated_frame_counts(header)
    frame = choose_frame_layout(header, from_header, from_parameters, claims)
    if needs_motion and frame.points == 0 and not finite_parameter(header, "ROTATION:USED"):
        raise InputFileError(
            f"'{header.path}' contains neither marker trajectories nor segment poses.", "Give a motion capture file."
        )
    frames, frame_notes = _frame_count(header, frame, claims)
    rate_hz, rate_notes = frame_rate(header)
    channels, samples, analog_notes = _analog_channel_counts(header, frame, rate_hz)
    scale, scale_notes = (1.0, ()) if frame.is_float else _coordinate_scale(header)
    return DataLayout(
        point_count=frame.points,
        channel_count=channels,
        samples_per_frame=samples,
        is_float=frame.is_float,
        scale=scale,
        start_byte=(frame.block - 1) * BLOCK_BYTES,
        frame_count=frames,
        first_frame=_first_frame(header),
        rate_hz=rate_hz,
        notes=(
            *disagreement_note(frame, from_header, from_parameters),
            *frame_notes,
            *scale_notes,
            *rate_notes,
            *analog_notes,
        ),
    )


def _frame_count(header: C3dHeader, frame: FrameDescription, claims: list[int]) -> tuple[int, tuple[Diagnostic, ...]]:
    """Return the stated frame count that fits the file size, else the smallest one; InputFileError if the file is too short."""
    stored, _ = frame.complete_frames(header.data_end)
    if not claims:
        raise InputFileError(
            f"'{header.path}' holds no frames: its header states frames {header.words.first_frame} to "
            f"{header.words.last_frame}.",
            EXPORT_AGAIN,
        )
    if not frame.byte_count:  # a file of segment poses only: their completeness is checked in their own section
        return claims[0], ()
    fitting = [count for count in claims if frame.fits_file(count, header.data_end)]
    # stable: among equals the most reliable comes first
    fitting.sort(key=lambda count: not is_padded_to_end(header, frame, count))
    count = fitting[0] if fitting else min(claims)
    if count == WORD_LIMIT and not fitting and stored > count:
        count = stored  # only saturated 16-bit counts, and more frames than they can express
    if count > stored:
        raise InputFileError(
            f"'{header.path}' is truncated: the header specifies {count} frames but the file contains {stored} "
            f"({header.size_bytes} bytes).",
            COPY_AGAIN,
        )
    if all(claim in (count, WORD_LIMIT) for claim in claims):
        return count, ()
    others = ", ".join(str(claim) for claim in claims if claim != count)
    note = Diagnostic(
        "recording-repaired",
        "info" if fitting else "warning",
        f"The file states different numbers of frames ({count}, {others}); {count} are read"
        f"{', which fits the file size' if fitting else ''}.",
        value=float(count),
    )
    return count, (note,)


def frame_rate(header: C3dHeader) -> tuple[float, tuple[Diagnostic, ...]]:
    """Return the frame rate, Hz, and a note if header and POINT:RATE differ.

    Of two different rates the one that fits the analog rate is used, else POINT:RATE.
    """
    stored, said = header.words.rate_hz, finite_parameter(header, "POINT:RATE")
    rates = [rate for rate in (stored, said) if rate is not None and RATES_HZ[0] <= rate <= RATES_HZ[1]]
    if not rates:
        shown = next((f"{rate:g}" for rate in (*header.numbers.get("POINT:RATE", ()), stored)), "missing")
        raise InputFileError(
            f"'{header.path}' does not state a valid frame rate: POINT:RATE is {shown}; expected {RATES_HZ[0]:g} to "
            f"{RATES_HZ[1]:g} Hz.",
            EXPORT_AGAIN,
        )
    if said is None or (len(rates) == 2 and abs(rates[0] - rates[1]) <= _SAME_RATE * rates[1]):
        return rates[0], ()
    analog, samples = finite_parameter(header, "ANALOG:RATE"), header.words.samples_per_frame
    supported = [r for r in rates if analog and abs(samples * r - analog) <= _SAME_RATE * analog]
    rate = supported[0] if supported else rates[-1]
    note = Diagnostic(
        "recording-repaired",
        "warning",
        f"The header states {stored:g} frames per second, but POINT:RATE {said:g}; {rate:g} Hz is used.",
        value=rate,
        unit="Hz",
        hint="Check the rate in the capture software: all velocities and joint moments depend on it.",
    )
    return rate, (note,)


def _analog_channel_counts(
    header: C3dHeader, frame: FrameDescription, rate_hz: float
) -> tuple[int, int, tuple[Diagnostic, ...]]:
    """Return the number of analog channels and their samples per frame, and a note if the stated numbers are inconsistent."""
    if frame.analog == 0:
        return 0, 0, ()
    used, samples = unsigned_count(finite_parameter(header, "ANALOG:USED") or 0.0), header.words.samples_per_frame
    splits = [s for s in (samples, frame.analog // used if used else 0) if s > 0 and frame.analog % s == 0]
    if not splits:
        raise InputFileError(
            f"'{header.path}' is inconsistent: {frame.analog} analog values per frame are a multiple neither of "
            f"{used} channels (ANALOG:USED) nor of {samples} samples per channel (header).",
            EXPORT_AGAIN,
        )
    stated = finite_parameter(header, "ANALOG:RATE")
    matching = [s for s in splits if stated and abs(s * rate_hz - stated) <= _SAME_RATE * stated]
    split = matching[0] if matching else splits[0]
    channels = frame.analog // split
    problems = []
    if samples != split:
        problems.append(f"the header states {samples}")
    if used and channels != used:
        problems.append(f"{channels} channels (ANALOG:USED states {used})")
    if stated is not None and not matching:
        problems.append(f"{split * rate_hz:g} Hz (ANALOG:RATE states {stated:g})")
    if not problems:
        return channels, split, ()
    note = Diagnostic(
        "recording-repaired",
        "warning",
        f"A frame holds {frame.analog} analog values, read as {split} samples per channel: {', '.join(problems)}.",
        hint="Correct the export settings, and compare some marker positions with the capture software.",
    )
    return channels, split, (note,)


def _coordinate_scale(header: C3dHeader) -> tuple[float, tuple[Diagnostic, ...]]:
    """Return the file units per integer step, by POINT:SCALE or the header, and a note; InputFileError if they disagree."""
    rounding = 1e-6  # both are stored as a 4-byte float
    same_scale = 1e-2  # largest relative difference of two values that are both usable
    stored, said = header.words.scale, finite_parameter(header, "POINT:SCALE")
    scales = [abs(s) for s in (stored, said) if s is not None and math.isfinite(s) and s != 0.0]
    texts = f"the header's scale is {stored:g}, POINT:SCALE {'missing' if said is None else f'{said:g}'}"
    if not scales or abs(scales[0] - scales[-1]) > same_scale * scales[-1]:
        raise InputFileError(
            f"'{header.path}' does not state a valid scale of its integer coordinates: {texts}.", EXPORT_AGAIN
        )
    if len(scales) == 2 and abs(scales[0] - scales[1]) <= rounding * scales[1]:
        return scales[1], ()
    text = f"Header and parameters disagree on the scale of the coordinates: {texts}; {scales[-1]:g} is used."
    return scales[-1], (Diagnostic("recording-repaired", "warning", text, value=scales[-1], hint=EXPORT_AGAIN),)


def _first_frame(header: C3dHeader) -> int:
    """Return the stated number of the first frame; TRIAL:ACTUAL_START_FIELD also states numbers beyond 16 bits."""
    first = header.words.first_frame
    long = count_from_two_words(header.numbers.get("TRIAL:ACTUAL_START_FIELD", ()))
    return max(1, long if long is not None and long & WORD_LIMIT == first else first)
