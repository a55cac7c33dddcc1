"""How long a frame of a C3D file is and where the first one begins: header and parameters say it both, the size decides.

Readers that trust one of the two scramble the markers of files where the other is right, so both are held against the
bytes that are there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN
from biodyn.io.formats.c3d._header import BLOCK_BYTES, C3dHeader, unsigned

WORD_LIMIT = 0xFFFF  # what a 16-bit count says of all that is more
_MOST_SLIPS = 2  # of the values that tell where the numbers lie


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
        """True where so many frames end in the file's last block."""
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
    """What the parameters say, the header's word where they are silent."""
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
    """A count in two 16-bit words, the low one first."""
    if len(values) != 2:
        return None
    return unsigned(values[0]) + 65536 * unsigned(values[1])


def frame_that_fits(header: C3dHeader, first: Frame, second: Frame, claims: list[int]) -> Frame:
    """The header's frame where it fills the file, else the nearest to it of those the parameters allow that do.

    In a small file several may end in its last block; then behind the right one is nothing but padding.
    """
    size = header.data_end
    if first.block <= 1:  # that is the header itself
        first = replace(first, block=second.block)
    fitting = [frame for frame in _between(first, second) if any(frame.fits(n, size) for n in claims)]
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
    """True where so many frames fill the file, up to zeros at its end."""
    rest = frame.stored(header.data_end)[1] - frames * frame.bytes
    return frame.fits(frames, header.data_end) and not any(header.tail[len(header.tail) - rest :])


def _between(first: Frame, second: Frame) -> Iterator[Frame]:
    """Mixtures of two frames, those with most of the first before the others.

    One or two values of a header may be an exporter's slip; where more are wrong the header is damaged.
    """
    pairs = [(getattr(first, name), getattr(second, name)) for name, _, _ in _NAMES]
    for ways in sorted(itertools.product((0, 1), repeat=len(pairs)), key=sum):
        if sum(a != b for (a, b), way in zip(pairs, ways, strict=True) if way) > _MOST_SLIPS:
            continue
        yield Frame(*(pair[way] for pair, way in zip(pairs, ways, strict=True)))


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
            "layout-disagreement",
            "warning",
            f"Header and parameters of the file disagree on its layout: {_difference(first, second)}; "
            f"the data were read by the {which}.",
            hint="Correct the export; compare a few numbers with the capture software.",
        ),
    )
