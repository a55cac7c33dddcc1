"""Where in a C3D file the numbers lie: header and parameters tell it both, and the size of the file decides between them.

`_frame` tells how long a frame is; here are the number of frames, the rates, and the channels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN
from biodyn.io.format import RATES_HZ
from biodyn.io.formats.c3d._frame import (
    WORD_LIMIT,
    Frame,
    disagreements,
    frame_claims,
    frame_of_header,
    frame_of_parameters,
    frame_that_fits,
    is_padding,
    long_count,
    number,
)
from biodyn.io.formats.c3d._header import BLOCK_BYTES, C3dHeader, unsigned

_SAME_RATE = 1e-3  # relative
_SAME_SCALE = 1e-2  # relative: beyond, one of the two is wrong; up to
_ROUNDING = 1e-6  # they are one 4-byte float


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
    """The count that fills the file, else the smallest: a file is only called truncated when it breaks all of them."""
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
        "frame-count",
        "info" if fitting else "warning",
        f"The file announces different numbers of frames ({count}, {others}); {count} are read"
        f"{', which is what its size says' if fitting else ''}.",
        value=float(count),
    )
    return count, (note,)


def frame_rate(header: C3dHeader) -> tuple[float, tuple[Diagnostic, ...]]:
    """Frames a second; where header and parameter differ, the one that the analog rate supports, else the parameter."""
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
        "frame-rate",
        "warning",
        f"The file's header says {stored:g} frames per second, POINT:RATE {said:g}; {rate:g} Hz is used.",
        value=rate,
        unit="Hz",
        hint="Check the rate in the capture software: every velocity and torque depends on it.",
    )
    return rate, (note,)


def _channels(header: C3dHeader, frame: Frame, rate_hz: float) -> tuple[int, int, tuple[Diagnostic, ...]]:
    """Analog channels and samples of each per frame, and a note where ANALOG:RATE tells another number of samples."""
    if frame.analog == 0:
        return 0, 0, ()
    used, samples = unsigned(number(header, "ANALOG:USED") or 0.0), header.words.samples_per_frame
    splits = [s for s in (samples, frame.analog // used if used else 0) if s > 0 and frame.analog % s == 0]
    if not splits:
        raise InputFileError(
            f"'{header.path}' contradicts itself: {frame.analog} analog values a frame are no whole number of samples "
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
        "analog-layout",
        "warning",
        f"A frame holds {frame.analog} analog values, read as {split} samples a channel: {', '.join(problems)}.",
        hint="Correct the export; compare a few numbers with the capture software.",
    )
    return channels, split, (note,)


def _scale(header: C3dHeader) -> tuple[float, tuple[Diagnostic, ...]]:
    """File units a step of an integer file, POINT:SCALE before the header's; InputFileError where they contradict."""
    stored, said = header.words.scale, number(header, "POINT:SCALE")
    scales = [abs(s) for s in (stored, said) if s is not None and math.isfinite(s) and s != 0.0]
    texts = f"the header's scale is {stored:g}, POINT:SCALE {'missing' if said is None else f'{said:g}'}"
    if not scales or abs(scales[0] - scales[-1]) > _SAME_SCALE * scales[-1]:
        raise InputFileError(
            f"'{header.path}' does not tell the size of its integer coordinates: {texts}.", EXPORT_AGAIN
        )
    if len(scales) == 2 and abs(scales[0] - scales[1]) <= _ROUNDING * scales[1]:
        return scales[1], ()
    text = f"Header and parameters do not agree on the step of the coordinates: {texts}; {scales[-1]:g} is used."
    return scales[-1], (Diagnostic("point-scale", "warning", text, value=scales[-1], hint=EXPORT_AGAIN),)


def _first_frame(header: C3dHeader) -> int:
    """The file's number of its first frame, also beyond 16 bits (TRIAL:ACTUAL_START_FIELD)."""
    first = header.words.first_frame
    long = long_count(header.numbers.get("TRIAL:ACTUAL_START_FIELD", ()))
    return max(1, long if long is not None and long & WORD_LIMIT == first else first)
