"""The gait cycles of one trial as `cycles.packed`: what the data set of the study is collected from.

The values of 10,000 trials are read and written once, so they are kept small: a curve over 0-100 % of a cycle as the
differences between its points, in units of the last digit that is kept. Nothing is lost but digits that are not known.

File: `MAGIC`; CRC-32 of all after it (4 bytes); sizes of the text and of all that is packed (8 bytes each); then, packed by
Zstandard: the text, which is JSON, the four numbers of each curve (32 bits each), and the bytes that the text announces.
Zstandard is unpacked eight times as fast as zlib, to the same size.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from biodyn.conventions import CYCLE_POINTS, SIDES
from biodyn.errors import ResultError
from biodyn.output.tables.planes import from_planes, planes_of
from biodyn.study.collecting.reasons import FrameReasons, cycle_reasons
from biodyn.study.record import CYCLES_NAME
from biodyn.trial.result import TrialResult

MAGIC: Final = b"biodyn cycles 2\n"
_CHECKSUM, _SIZES = struct.Struct("<I"), struct.Struct("<QQ")
#: A microdegree, a microwatt a kilogram: finer than any of it is known. What study_wide.csv shows, too.
DECIMALS: Final = 6
_UNIT = 10.0**DECIMALS
_LEVEL = 9
_HIGHEST_ORDER = 4
_EXACT = 2.0**53
_TEXTS = ("side", "variable", "unit")
_NUMBER = np.dtype("<i4")
_ALIGNED = 8  # bytes: numpy reads numbers at such places without copying them


@dataclass(frozen=True)
class Words:
    """Words of C curves: `codes` (C,) of `words`."""

    codes: np.ndarray
    words: tuple[str, ...]


@dataclass(frozen=True)
class Curves:
    """The curves of a trial over 0-100 % of a cycle, row by row of its table of gait cycles.

    Attributes:
        cycle: (C,) number of each curve's cycle, from 1. side, variable, unit: of each curve.
        values: (C, 101), NaN where missing. reasons: (C, 101) why, codes of `reason_words`; 0 is "" (not missing).
    """

    cycle: np.ndarray
    side: Words
    variable: Words
    unit: Words
    values: np.ndarray
    reasons: np.ndarray
    reason_words: tuple[str, ...] = ("",)

    @property
    def rows(self) -> int:
        """Rows of the data set."""
        return int(self.values.size)


def write_cycles(result: TrialResult, folder: Path) -> None:
    """Write `cycles.packed` into an existing folder."""
    write_curves(curves_of(result), folder)


def curves_of(result: TrialResult) -> Curves:
    """Return the curves of a result, each missing value with its reason."""
    reasons = FrameReasons(result.analysis)
    rate_hz = result.analysis.recording.markers.rate_hz
    variables: dict[str, int] = {}
    units: dict[str, int] = {}
    cycle, side, variable, unit, values, codes = [], [], [], [], [], []
    for found in result.analysis.cycles:
        values.append(found.curves.T)
        codes.append(cycle_reasons(reasons, found, rate_hz).T)
        for signal in found.signals:
            cycle.append(found.cycle.number + 1)
            side.append(SIDES.index(found.cycle.side))
            variable.append(variables.setdefault(signal.variable, len(variables)))
            unit.append(units.setdefault(signal.unit, len(units)))
    used, place = _used(np.concatenate(codes) if codes else np.empty((0, CYCLE_POINTS), dtype=np.int64))
    return Curves(
        np.array(cycle, dtype=np.int64),
        Words(np.array(side, dtype=np.int64), SIDES),
        Words(np.array(variable, dtype=np.int64), tuple(variables)),
        Words(np.array(unit, dtype=np.int64), tuple(units)),
        np.concatenate(values) if values else np.empty((0, CYCLE_POINTS)),
        place,
        tuple(reasons.words[code] for code in used),
    )


def _used(codes: np.ndarray) -> tuple[list[int], np.ndarray]:
    """The codes that occur, 0 first, the others in the order of their first row, and the codes by their places in it."""
    found, first = np.unique(codes, return_index=True)
    others = [int(code) for code in found[np.argsort(first)] if code]
    place = np.zeros(max([0, *others]) + 1, dtype=np.int64)
    place[others] = np.arange(1, len(others) + 1)
    return [0, *others], place[codes]


def write_curves(curves: Curves, folder: Path) -> None:
    """Write curves as `cycles.packed` into an existing folder; numbers to `DECIMALS`."""
    known = np.isfinite(curves.values)
    order, differences = _smallest(_counts(curves.values, known))
    begin, rest = planes_of(differences[:, :order].reshape(-1)), planes_of(differences[:, order:].reshape(-1))
    marks = planes_of(curves.reasons.reshape(-1)) if curves.reasons.any() else rest[:0]
    head = {
        "curves": len(curves.cycle),
        **{name: text.words for name, text in _texts(curves)},
        "reasons": curves.reason_words,
        "order": order,
        "planes": [len(begin), len(rest), len(marks)],
        "missing": not bool(known.all()),
    }
    numbers = np.array([curves.cycle, *(text.codes for _, text in _texts(curves))], dtype=_NUMBER)
    unknown = np.packbits(~known.reshape(-1)).tobytes() if head["missing"] else b""
    text = json.dumps(head, separators=(",", ":")).encode()
    text = text.ljust(-(-len(text) // _ALIGNED) * _ALIGNED)
    body = b"".join((text, numbers.tobytes(), begin.tobytes(), rest.tobytes(), marks.tobytes(), unknown))
    packed = _SIZES.pack(len(text), len(body)) + _packing().compress(body, asbytes=True)
    (folder / CYCLES_NAME).write_bytes(MAGIC + _CHECKSUM.pack(zlib.crc32(packed)) + packed)


def _packing() -> pa.Codec:
    return pa.Codec("zstd", compression_level=_LEVEL)


def _unpacked(content: bytes) -> tuple[Any, memoryview]:
    """The text of a file as JSON values and the bytes after it; ValueError where a byte is not as it was written."""
    if not content.startswith(MAGIC):
        raise ValueError("it is of another version")
    rest = memoryview(content)[len(MAGIC) :]
    checksum, packed = rest[: _CHECKSUM.size], rest[_CHECKSUM.size :]
    if len(packed) < _SIZES.size or checksum != _CHECKSUM.pack(zlib.crc32(packed)):
        raise ValueError("its checksum is another")
    text, size = _SIZES.unpack_from(packed)
    body = memoryview(_packing().decompress(packed[_SIZES.size :], size))
    return json.loads(bytes(body[:text])), body[text:]


def _texts(curves: Curves) -> Sequence[tuple[str, Words]]:
    return [(name, getattr(curves, name)) for name in _TEXTS]


def _counts(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Values in units of their last digit; a missing one takes the last known of its curve: no difference."""
    points = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    last = np.maximum.accumulate(np.where(known, points, 0), axis=1)
    filled = np.take_along_axis(np.where(known, values, 0.0), last, axis=1)
    scaled = np.rint(filled * _UNIT)
    if not (np.abs(scaled) < _EXACT).all():
        raise ResultError(f"A value of a gait cycle, {np.abs(filled).max():.3g}, is beyond all measure.")
    return scaled.astype(np.int64)


def _smallest(counts: np.ndarray) -> tuple[int, np.ndarray]:
    """The order of the differences along the curves whose sizes have the smallest sum, and those differences."""
    best, least = (0, counts), np.inf
    found = counts
    for order in range(_HIGHEST_ORDER + 1):
        if order:
            found = np.concatenate([found[:, :1], np.diff(found, axis=1)], axis=1)
        size = float(np.abs(found).sum(dtype=np.float64))
        if size < least:
            best, least = (order, found), size
    return best


def read_curves(folder: Path) -> Curves:
    """Return the curves of a trial's folder; ResultError where they are missing, damaged or of another version."""
    hint = f"Remove the folder '{folder.name}' and run the study again."
    try:
        return _curves(*_unpacked((folder / CYCLES_NAME).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ResultError(f"'{CYCLES_NAME}' of trial '{folder.name}' cannot be read.", hint) from error


def _curves(head: dict[str, Any], body: memoryview) -> Curves:
    count, order, planes = int(head["curves"]), int(head["order"]), [int(number) for number in head["planes"]]
    shape = (count, CYCLE_POINTS)
    sizes = [count * order, count * (CYCLE_POINTS - order), count * CYCLE_POINTS]
    if not (0 <= order <= _HIGHEST_ORDER and len(planes) == 3 and all(0 <= number <= 8 for number in planes)):
        raise ValueError("it is not described as this version does")
    numbers = np.frombuffer(body, dtype=_NUMBER, count=4 * count).reshape(4, count)
    parts, at = [], numbers.nbytes
    for number, size in zip(planes, sizes, strict=True):
        parts.append(np.frombuffer(body, dtype=np.uint8, count=number * size, offset=at).reshape(number, size))
        at += number * size
    values = _summed(_whole(parts[0], (count, order)), _whole(parts[1], (count, CYCLE_POINTS - order))) / _UNIT
    if head["missing"]:
        unknown = np.unpackbits(np.frombuffer(body, dtype=np.uint8, offset=at), count=values.size)
        values[unknown.view(np.bool_).reshape(shape)] = np.nan
    elif at != len(body):
        raise ValueError("its bytes are not those it announces")
    side, variable, unit = (Words(codes, tuple(head[name])) for name, codes in zip(_TEXTS, numbers[1:], strict=True))
    found = Curves(numbers[0], side, variable, unit, values, _marks(parts[2], shape), tuple(head["reasons"]))
    _require_words(found)
    return found


def _whole(planes: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    return (from_planes(planes) if len(planes) else np.zeros(shape, dtype=np.int32)).reshape(shape)


def _marks(planes: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Codes that are not negative, of a byte where they fit, as they nearly always do: half of a byte's plane is the sign."""
    return (planes[0] >> 1).reshape(shape) if len(planes) == 1 else _whole(planes, shape)


def _summed(begin: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """The whole numbers that `_smallest` took differences of: the first points of each curve, then the others."""
    order = begin.shape[1]
    found = np.empty((len(begin), order + rest.shape[1]), dtype=np.int64)
    found[:, :order], found[:, order:] = begin, rest
    for _ in range(order):
        np.cumsum(found, axis=1, out=found)
    return found


def _require_words(curves: Curves) -> None:
    """Raise ValueError where a code has no word, or a curve no entry."""
    texts = [text for _, text in _texts(curves)]
    lists = [(curves.reasons, curves.reason_words), *((text.codes, text.words) for text in texts)]
    if any(codes.size and not 0 <= codes.min() <= codes.max() < len(words) for codes, words in lists):
        raise ValueError("its words are not those it announces")
    if any(len(one) != len(curves.values) for one in (curves.cycle, *(text.codes for text in texts))):
        raise ValueError("its curves are not those it announces")
