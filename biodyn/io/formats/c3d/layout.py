"""Layout of the data section of a C3D file, from header, parameters and the size of the file.

A reader that only uses the header or only the parameters scrambles the markers of files in which the other is right."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN
from biodyn.io.format import RATES_HZ
from biodyn.io.formats.c3d.header import BLOCK_BYTES, C3dHeader, unsigned

WORD_LIMIT = 0xFFFF  # what a 16-bit count says of all that is more


@dataclass(frozen=True)
class Frame:
    """Numbers that make the length of a frame and its place in the file."""

    points: int
    analog: int
    is_float: bool
    block: int

    @property
    def bytes(self) -> int:
        return (4 * self.points + self.analog) * (4 if self.is_float else 2)

    def stored(self, size_bytes: int) -> tuple[int, int]:
        """Whole frames for which a file of this size has bytes, and the bytes behind the data's start: no data in the header."""
        room = max(0, size_bytes - (self.block - 1) * BLOCK_BYTES) if self.block > 1 else 0
        return (room // self.bytes if self.bytes else 0), room

    def fits(self, frames: int, size_bytes: int) -> bool:
        """Return whether so many frames end in the file's last block."""
        return frames > 0 and 0 <= self.stored(size_bytes)[1] - frames * self.bytes < BLOCK_BYTES


def number(header: C3dHeader, key: str) -> float | None:
    """First value of a parameter, None where it is missing or no finite number."""
    values = header.numbers.get(key, ())
    return float(values[0]) if values and math.isfinite(values[0]) else None


def frame_of_header(header: C3dHeader) -> Frame:
    """Return what the header block says."""
    words = header.words
    return Frame(words.points, words.analog_per_frame, words.scale < 0, words.data_block)


def frame_of_parameters(header: C3dHeader) -> Frame:
    """Return the frame of the parameters, with the header's values for missing ones."""
    frame = frame_of_header(header)
    points, scale = number(header, "POINT:USED"), number(header, "POINT:SCALE")
    block = number(header, "POINT:DATA_START")
    if points is not None:
        frame = replace(frame, points=unsigned(points))
    if scale is not None and scale != 0.0:
        frame = replace(frame, is_float=scale < 0)
    if block is not None and unsigned(block) > 1:
        frame = replace(frame, block=unsigned(block))
    used, analog_rate, rate = (number(header, key) for key in ("ANALOG:USED", "ANALOG:RATE", "POINT:RATE"))
    if used == 0:
        return replace(frame, analog=0)
    if used and analog_rate and rate and rate > 0 and 0 < analog_rate / rate < WORD_LIMIT:
        return replace(frame, analog=unsigned(used) * max(1, round(analog_rate / rate)))
    return frame


def frame_claims(header: C3dHeader) -> list[int]:
    """Numbers of frames the file claims, the most trustworthy first; counts of 16 bits that are full come last."""
    numbers, words = header.numbers, header.words
    claims: list[int] = []
    full: list[int] = []
    (full if words.last_frame == WORD_LIMIT else claims).append(words.last_frame - words.first_frame + 1)
    stored = number(header, "POINT:FRAMES")
    if stored is not None:
        count = unsigned(stored)
        (full if count == WORD_LIMIT else claims).append(count)
    claims.append(unsigned(number(header, "POINT:LONG_FRAMES") or 0.0))
    start, end = (long_count(numbers.get(f"TRIAL:ACTUAL_{word}_FIELD", ())) for word in ("START", "END"))
    if start is not None and end is not None:
        claims.append(end - start + 1)
    return [claim for claim in dict.fromkeys([*claims, *full]) if claim > 0]


def long_count(values: tuple[float, ...]) -> int | None:
    """Return a count in two 16-bit words, the low one first."""
    if len(values) != 2:
        return None
    return unsigned(values[0]) + 65536 * unsigned(values[1])


def frame_that_fits(header: C3dHeader, first: Frame, second: Frame, claims: list[int]) -> Frame:
    """Return the header's frame where it fills the file, else the parameters' where that does.

    In a small file several may end in its last block; then behind the right one is nothing but padding.
    """
    size = header.data_end
    if first.block <= 1:  # that is the header itself
        first = replace(first, block=second.block)
    most_slips = (
        2  # one or two values of a header may be an exporter's slip; where more are wrong the header is damaged
    )
    differing = sum(getattr(first, name) != getattr(second, name) for name, _, _ in _NAMES)
    candidates = (first, second) if differing <= most_slips else (first,)
    fitting = [frame for frame in candidates if any(frame.fits(n, size) for n in claims)]
    if fitting:
        padded = [frame for frame in fitting if any(is_padding(header, frame, n) for n in claims)]
        return (padded or fitting)[0]
    if first == second or any(0 < n <= first.stored(size)[0] for n in claims):
        return first
    raise InputFileError(
        f"'{header.path}' is damaged: header and parameters contradict each other and its size of {header.size_bytes} bytes: "
        f"{_difference(first, second)}.",
        COPY_AGAIN,
    )


def is_padding(header: C3dHeader, frame: Frame, frames: int) -> bool:
    """Return whether so many frames fill the file, up to zeros at its end."""
    rest = frame.stored(header.data_end)[1] - frames * frame.bytes
    return frame.fits(frames, header.data_end) and not any(header.tail[len(header.tail) - rest :])


_NAMES = (
    ("points", "points a frame", "POINT:USED"),
    ("analog", "analog values a frame", "ANALOG:USED and RATE"),
    ("is_float", "floats", "POINT:SCALE"),
    ("block", "first data block", "POINT:DATA_START"),
)


def _difference(first: Frame, second: Frame) -> str:
    """Where two frames differ: 'points a frame (header 20, POINT:USED 24)'."""
    return ", ".join(
        f"{title} (header {getattr(first, name):d}, {parameter} {getattr(second, name):d})"
        for name, title, parameter in _NAMES
        if getattr(first, name) != getattr(second, name)
    )


def disagreements(taken: Frame, first: Frame, second: Frame) -> tuple[Diagnostic, ...]:
    """Say where header (`first`) and parameters (`second`) differ, and which of them was taken."""
    if first == second:
        return ()
    which = "header" if taken == first else "parameters" if taken == second else "values that fit the file's size"
    return (
        Diagnostic(
            "recording-repaired",
            "warning",
            f"Header and parameters of the file disagree on its layout: {_difference(first, second)}; "
            f"the data were read by the {which}.",
            hint="Correct the export; compare a few numbers with the capture software.",
        ),
    )


_SAME_RATE = 1e-3  # relative


@dataclass(frozen=True)
class DataLayout:
    """How the data section is to be read.

    Attributes:
        point_count: of a frame. channel_count: analog channels. samples_per_frame: of each channel.
        is_float: 4-byte floats, else 2-byte integers. scale: file units a step of an integer file.
        start_byte: where the first frame begins. frame_count: frames. first_frame: the file's own number of the first.
        rate_hz: frames per second. notes: where header and parameters disagreed, and what was taken.
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
        """Numbers of one frame."""
        return 4 * self.point_count + self.channel_count * self.samples_per_frame


def data_layout(header: C3dHeader) -> DataLayout:
    """Return the layout of the data section; InputFileError where the file is truncated or contradicts itself."""
    from_header, from_parameters = frame_of_header(header), frame_of_parameters(header)
    claims = frame_claims(header)
    frame = frame_that_fits(header, from_header, from_parameters, claims)
    if frame.points == 0 and not number(header, "ROTATION:USED"):
        raise InputFileError(
            f"'{header.path}' holds no points and no segment poses; expected marker trajectories or poses.",
            "Give a motion capture file.",
        )
    frames, frame_notes = _frame_count(header, frame, claims)
    rate_hz, rate_notes = frame_rate(header)
    channels, samples, analog_notes = _channels(header, frame, rate_hz)
    scale, scale_notes = (1.0, ()) if frame.is_float else _scale(header)
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
            *disagreements(frame, from_header, from_parameters),
            *frame_notes,
            *scale_notes,
            *rate_notes,
            *analog_notes,
        ),
    )


def _frame_count(header: C3dHeader, frame: Frame, claims: list[int]) -> tuple[int, tuple[Diagnostic, ...]]:
    """Return the count that fills the file, else the smallest: a file is only called truncated when it breaks all of them."""
    stored, _ = frame.stored(header.data_end)
    if not claims:
        raise InputFileError(
            f"'{header.path}' holds no frames: its header names frames {header.words.first_frame} to "
            f"{header.words.last_frame}.",
            EXPORT_AGAIN,
        )
    if not frame.bytes:  # nothing but segment poses: their own section tells whether all of them are there
        return claims[0], ()
    fitting = [count for count in claims if frame.fits(count, header.data_end)]
    fitting.sort(key=lambda count: not is_padding(header, frame, count))  # stable: of equals the most trustworthy
    count = fitting[0] if fitting else min(claims)
    if count == WORD_LIMIT and not fitting and stored > count:
        count = stored  # only full 16-bit counts, and more frames than they can say
    if count > stored:
        raise InputFileError(
            f"'{header.path}' is truncated: it announces {count} frames, bytes for {stored} are there "
            f"({header.size_bytes} bytes).",
            COPY_AGAIN,
        )
    if all(claim in (count, WORD_LIMIT) for claim in claims):
        return count, ()
    others = ", ".join(str(claim) for claim in claims if claim != count)
    note = Diagnostic(
        "recording-repaired",
        "info" if fitting else "warning",
        f"The file announces different numbers of frames ({count}, {others}); {count} are read"
        f"{', which is what its size says' if fitting else ''}.",
        value=float(count),
    )
    return count, (note,)


def frame_rate(header: C3dHeader) -> tuple[float, tuple[Diagnostic, ...]]:
    """Return frames a second; where header and parameter differ, the one that the analog rate supports, else the parameter."""
    stored, said = header.words.rate_hz, number(header, "POINT:RATE")
    rates = [rate for rate in (stored, said) if rate is not None and RATES_HZ[0] <= rate <= RATES_HZ[1]]
    if not rates:
        shown = next((f"{rate:g}" for rate in (*header.numbers.get("POINT:RATE", ()), stored)), "missing")
        raise InputFileError(
            f"'{header.path}' does not tell its frame rate: POINT:RATE is {shown}; expected {RATES_HZ[0]:g} to "
            f"{RATES_HZ[1]:g} Hz.",
            EXPORT_AGAIN,
        )
    if said is None or (len(rates) == 2 and abs(rates[0] - rates[1]) <= _SAME_RATE * rates[1]):
        return rates[0], ()
    analog, samples = number(header, "ANALOG:RATE"), header.words.samples_per_frame
    supported = [r for r in rates if analog and abs(samples * r - analog) <= _SAME_RATE * analog]
    rate = supported[0] if supported else rates[-1]
    note = Diagnostic(
        "recording-repaired",
        "warning",
        f"The file's header says {stored:g} frames per second, POINT:RATE {said:g}; {rate:g} Hz is used.",
        value=rate,
        unit="Hz",
        hint="Check the rate in the capture software: every velocity and torque depends on it.",
    )
    return rate, (note,)


def _channels(header: C3dHeader, frame: Frame, rate_hz: float) -> tuple[int, int, tuple[Diagnostic, ...]]:
    """Return analog channels and samples of each per frame, and a note where ANALOG:RATE tells another number of samples."""
    if frame.analog == 0:
        return 0, 0, ()
    used, samples = unsigned(number(header, "ANALOG:USED") or 0.0), header.words.samples_per_frame
    splits = [s for s in (samples, frame.analog // used if used else 0) if s > 0 and frame.analog % s == 0]
    if not splits:
        raise InputFileError(
            f"'{header.path}' contradicts itself: {frame.analog} analog values per frame are not a whole number of samples "
            f"of {used} channels (ANALOG:USED) nor of {samples} samples a channel (header).",
            EXPORT_AGAIN,
        )
    stated = number(header, "ANALOG:RATE")
    matching = [s for s in splits if stated and abs(s * rate_hz - stated) <= _SAME_RATE * stated]
    split = matching[0] if matching else splits[0]
    channels = frame.analog // split
    problems = []
    if samples != split:
        problems.append(f"the header says {samples}")
    if used and channels != used:
        problems.append(f"{channels} channels (ANALOG:USED says {used})")
    if stated is not None and not matching:
        problems.append(f"{split * rate_hz:g} Hz (ANALOG:RATE says {stated:g})")
    if not problems:
        return channels, split, ()
    note = Diagnostic(
        "recording-repaired",
        "warning",
        f"A frame holds {frame.analog} analog values, read as {split} samples a channel: {', '.join(problems)}.",
        hint="Correct the export; compare a few numbers with the capture software.",
    )
    return channels, split, (note,)


def _scale(header: C3dHeader) -> tuple[float, tuple[Diagnostic, ...]]:
    """File units a step of an integer file, POINT:SCALE before the header's; InputFileError where they contradict."""
    rounding = 1e-6  # they are one 4-byte float
    same_scale = 1e-2  # relative: beyond, one of the two is wrong; up to
    stored, said = header.words.scale, number(header, "POINT:SCALE")
    scales = [abs(s) for s in (stored, said) if s is not None and math.isfinite(s) and s != 0.0]
    texts = f"the header's scale is {stored:g}, POINT:SCALE {'missing' if said is None else f'{said:g}'}"
    if not scales or abs(scales[0] - scales[-1]) > same_scale * scales[-1]:
        raise InputFileError(
            f"'{header.path}' does not tell the size of its integer coordinates: {texts}.", EXPORT_AGAIN
        )
    if len(scales) == 2 and abs(scales[0] - scales[1]) <= rounding * scales[1]:
        return scales[1], ()
    text = f"Header and parameters do not agree on the step of the coordinates: {texts}; {scales[-1]:g} is used."
    return scales[-1], (Diagnostic("recording-repaired", "warning", text, value=scales[-1], hint=EXPORT_AGAIN),)


def _first_frame(header: C3dHeader) -> int:
    """Return the file's number of its first frame, also beyond 16 bits (TRIAL:ACTUAL_START_FIELD)."""
    first = header.words.first_frame
    long = long_count(header.numbers.get("TRIAL:ACTUAL_START_FIELD", ()))
    return max(1, long if long is not None and long & WORD_LIMIT == first else first)
