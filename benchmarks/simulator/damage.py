"""What happens to files between the laboratory and the analysis, on purpose: seeded damage of every kind.

Only for files of this project's own writer: Intel floats, one header block, the parameters behind it.
"""

from __future__ import annotations

import csv
import os
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from biodyn.errors import BiodynError

LIST_NAME = "damaged.csv"
_BLOCK = 512
_PARAMETERS = _BLOCK + 4  # behind the four bytes every parameter section begins with
_LARGEST_WORD = 32767

Hurt = Callable[["_Content", np.random.Generator, int], bytes | None]


@dataclass(frozen=True)
class Damage:
    """One kind of damage.

    Attributes:
        name: of the kind. expected: one of these stands in what the trial fails with.
        hurt: returns the damaged bytes of a file's content; the number counts the files of the kind, for variants.
            None = a named pipe takes the file's place.
    """

    name: str
    expected: tuple[str, ...]
    hurt: Hurt


@dataclass(frozen=True)
class DamagedFile:
    """A file and what was done to it."""

    path: Path
    kind: str
    variant: int


class _Content:
    """The parts of a C3D file as `simulator.c3d_writer` lays them out."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.points, self.samples, first, last = struct.unpack_from("<4H", data, 2)
        (block,) = struct.unpack_from("<H", data, 16)
        self.start = (block - 1) * _BLOCK
        self.frames = last - first + 1
        if data[1] != 0x50 or len(data) != self.start + 4 * self.frames * (4 * self.points + self.samples):
            raise BiodynError("The simulated damage is for C3D files of this project's own writer only.")

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Points (T, N, 4) and analog samples (T, S) as stored, to be changed."""
        block = np.frombuffer(self.data, dtype="<f4", offset=self.start).reshape(self.frames, -1).copy()
        return block[:, : 4 * self.points].reshape(self.frames, self.points, 4), block[:, 4 * self.points :]

    def with_values(self, points: np.ndarray, samples: np.ndarray) -> bytes:
        """The file with other values."""
        block = np.concatenate([points.reshape(self.frames, -1), samples], axis=1)
        return self.data[: self.start] + block.astype("<f4").tobytes()

    def replaced(self, at: int, value: bytes) -> bytes:
        """The file with other bytes from a place on."""
        return self.data[:at] + value + self.data[at + len(value) :]


def _truncated(content: _Content, rng: np.random.Generator, number: int) -> bytes:
    return content.data[: int(len(content.data) * rng.uniform(0.0005, 0.95))]


def _random_header(content: _Content, rng: np.random.Generator, number: int) -> bytes:
    """The whole first block, or all but what says that this is a C3D file and where its parameters are."""
    first = 2 * (number % 2)
    block = bytearray(rng.bytes(_BLOCK - first))
    if first == 0 and block[1] == content.data[1]:
        block[1] ^= 0xFF
    return content.replaced(first, bytes(block))


def _random_parameters(content: _Content, rng: np.random.Generator, number: int) -> bytes:
    return content.replaced(_PARAMETERS, rng.bytes(content.start - _PARAMETERS))


def _random_data(content: _Content, rng: np.random.Generator, number: int) -> bytes:
    """All frames, or all from somewhere in the first half on."""
    size = len(content.data) - content.start
    intact = int(rng.uniform(0.0, 0.5) * size) if number % 2 else 0
    return content.replaced(content.start + intact, rng.bytes(size - intact))


def _zero_bytes(content: _Content, rng: np.random.Generator, number: int) -> bytes:
    """A file of no bytes, or all its bytes zero."""
    return bytes(len(content.data)) if number % 2 else b""


def _huge(content: _Content, rng: np.random.Generator, number: int) -> bytes:
    """Points and frames of 10 GB and more announced, in the header and in the parameters."""
    words = struct.pack("<4H", 20000, content.samples, 1, _LARGEST_WORD)
    data = _integer_parameter(content.replaced(2, words), "USED", 20000)
    return _integer_parameter(data, "FRAMES", _LARGEST_WORD)


def _wrong_units(content: _Content, rng: np.random.Generator, number: int) -> bytes:
    """Plate forces a thousand times too small or too large for the stated unit."""
    points, samples = content.values()
    return content.with_values(points, samples * (1e-3, 1e3)[number % 2])


def _wrong_lengths(content: _Content, rng: np.random.Generator, number: int) -> bytes:
    """Markers a thousand times too far or too near for the stated unit."""
    points, samples = content.values()
    points[..., :3] *= (1e-3, 1e3)[number % 2]
    return content.with_values(points, samples)


def _no_markers(content: _Content, rng: np.random.Generator, number: int) -> bytes:
    """No points at all; points that no camera ever saw."""
    points, samples = content.values()
    if number % 2 == 0:
        block = samples.astype("<f4").tobytes()
        data = _integer_parameter(content.replaced(2, b"\0\0"), "USED", 0)
        return data[: content.start] + block
    points[...] = (0.0, 0.0, 0.0, -1.0)
    return content.with_values(points, samples)


def _hanging(content: _Content, rng: np.random.Generator, number: int) -> None:
    """A named pipe: opening it waits for somebody to write."""
    return None


# Expected words are of the reason or the hint; a variant may be told in another sentence.
KINDS = (
    Damage("truncated", ("truncated", "damaged"), _truncated),
    Damage("random header", ("not a C3D file", "truncated", "damaged", "could not be read"), _random_header),
    Damage("random parameters", ("could not be read", "damaged", "contains no marker"), _random_parameters),
    Damage("random data", ("damaged",), _random_data),
    Damage("zero bytes", ("is empty", "not a C3D file"), _zero_bytes),
    Damage("10 GB claimed", ("truncated", "could not be read"), _huge),
    Damage("wrong units", ("in kN", "wrong unit"), _wrong_units),
    Damage(
        "no markers",
        ("neither marker trajectories", "no marker among", "contains no marker", "no marker is seen"),
        _no_markers,
    ),
    Damage("hanging input", ("not a regular file",), _hanging),
)
# Corrected by the size of the body, with a warning; the trial does not fail.
PUT_RIGHT = Damage("wrong unit of lengths", ("in which the markers would span",), _wrong_lengths)


def damage_files(paths: Sequence[Path], share: float, seed: int) -> list[DamagedFile]:
    """Damage `share` of the files (at least one) in each way; which ones, and the damage itself, follow from the seed."""
    each = max(1, round(share * len(paths)))
    if each * len(KINDS) > len(paths):
        raise BiodynError(f"{len(KINDS)} kinds of damage for {each} files each need more than {len(paths)} files.")
    order = np.random.default_rng([seed, len(paths)]).permutation(len(paths))
    damaged = []
    for k, kind in enumerate(KINDS):
        for number in range(each):
            path = paths[int(order[k * each + number])]
            damage_file(path, kind, number, np.random.default_rng([seed, k, number]))
            damaged.append(DamagedFile(path, kind.name, number))
    return damaged


def damage_file(path: Path, kind: Damage, number: int, rng: np.random.Generator) -> None:
    """Damage one file in place."""
    content = _Content(path.read_bytes())
    data = kind.hurt(content, rng, number)
    if data is not None:
        path.write_bytes(data)
        return
    path.unlink()
    if sys.platform != "win32":  # there no folder holds a pipe: the file is missing
        os.mkfifo(path)


def write_damage_list(damaged: Sequence[DamagedFile], folder: Path) -> None:
    """Write FOLDER/damaged.csv: file, kind, number."""
    with (folder / LIST_NAME).open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["file", "kind", "number"])
        table.writerows([entry.path.relative_to(folder).as_posix(), entry.kind, entry.variant] for entry in damaged)


def _integer_parameter(data: bytes, name: str, value: int) -> bytes:
    """Set the first integer parameter of that name, POINT's own: name, offset, type 2, no dimensions, value."""
    at = data.index(name.encode(), _PARAMETERS) + len(name) + 2 + 2
    return data[:at] + struct.pack("<h", value) + data[at + 2 :]
