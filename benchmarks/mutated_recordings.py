"""Does a damaged C3D file ever crash, hang or deceive the reader? `python benchmarks/mutated_recordings.py`.

Sound recordings (sample_data, and the folder that BIODYN_TEST_DATA names) are damaged by a seeded hand: bits, header words,
records of the parameter section, counts, scales, blocks moved, cut off, appended. Every file is read by biodyn and looked
into by `check`. Of those that are read, points, plate channels, rate and numeric parameters are compared with the plain
reader of the tests, wherever that one can read the file and nothing was said about its layout. A difference is silent if no
finding of biodyn tells it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import struct
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, files_below, parser_of, recordings_at_hand
from support.independent_reader import PlainFile, read_plainly
from support.several import read_many

from biodyn.errors import InputFileError
from biodyn.io.formats.c3d.data_layout import data_layout
from biodyn.io.formats.c3d.data_section import decode_data_section
from biodyn.io.formats.c3d.header import read_header
from biodyn.recording import Recording
from biodyn.trial.inspection import check_file

LARGEST_BYTES = 550_000
BATCH = 40
TIMEOUT_S = 5.0  # of one file
# Findings that tell that the layout, the count or the numbers are not what the header's words alone say.
TOLD = {"recording-repaired"}
_SAME = 1e-6  # two readers of the same 4-byte numbers

Mutation = Callable[[bytearray, np.random.Generator], None]


# -- damage -----------------------------------------------------------------------------------------------------------


def _section(data: bytearray) -> tuple[int, int]:
    """First byte behind the prefix of the parameter section, and its end."""
    start = max(0, data[0] - 1) * 512
    return start + 4, min(len(data), start + 512 * max(1, data[start + 2]))


def _records(data: bytearray) -> list[int]:
    """Where the records of the parameter section begin."""
    at, end = _section(data)
    order = ">" if data[at - 1] == 86 else "<"
    places = []
    while at + 2 < end and data[at] and data[at + 1]:
        places.append(at)
        here = at + 2 + abs(struct.unpack_from("b", data, at)[0])
        if here + 2 > end:
            break
        (step,) = struct.unpack_from(f"{order}H", data, here)
        if step == 0:
            break
        at = here + step
    return places


def _flip(data: bytearray, rng: np.random.Generator, low: int, high: int, count: int) -> None:
    low = min(low, len(data) - 1)
    for at in rng.integers(low, max(high, low + 1), count):
        data[at] ^= 1 << int(rng.integers(8))


def header_bits(data: bytearray, rng: np.random.Generator) -> None:
    _flip(data, rng, 0, 24, int(rng.integers(1, 4)))


def header_words(data: bytearray, rng: np.random.Generator) -> None:
    """One of points, analog values, first, last frame, gap, scale, data block, samples, rate."""
    at = 2 * int(rng.integers(1, 12))
    struct.pack_into(
        "<H", data, at, int(rng.choice([0, 1, 2, 255, 256, 32767, 32768, 65535, int(rng.integers(65536))]))
    )


def header_numbers(data: bytearray, rng: np.random.Generator) -> None:
    """Scale or rate become another number, or none."""
    value = float(rng.choice([0.0, -1.0, 1.0, 0.1, np.nan, np.inf, -np.inf, 3e38, 1e-30, -1e-30]))
    struct.pack_into("<f", data, int(rng.choice([12, 20])), value)


def parameter_bits(data: bytearray, rng: np.random.Generator) -> None:
    _flip(data, rng, *_section(data), int(rng.integers(1, 6)))


def parameter_bytes(data: bytearray, rng: np.random.Generator) -> None:
    low, high = _section(data)
    for at in rng.integers(low, high, int(rng.integers(1, 12))):
        data[at] = int(rng.integers(256))


def record_lengths(data: bytearray, rng: np.random.Generator) -> None:
    """Name length, group number or step of a record, its type, its dimensions."""
    for at in rng.choice(_records(data) or [516], int(rng.integers(1, 3))):
        here = int(at) + 2 + abs(struct.unpack_from("b", data, int(at))[0])
        place = int(rng.choice([int(at), int(at) + 1, here, here + 1, here + 2, here + 3, here + 4]))
        data[min(place, len(data) - 1)] = int(rng.choice([0, 1, 2, 4, 127, 128, 255, int(rng.integers(256))]))


def parameter_values(data: bytearray, rng: np.random.Generator) -> None:
    """The first value of a numeric parameter: USED, RATE, SCALE, FRAMES, OFFSET, CHANNEL ..."""
    for at in rng.permutation(_records(data)):
        at = int(at)
        here = at + 2 + abs(struct.unpack_from("b", data, at)[0]) + 2
        if data[at + 1] > 127 or here + 2 > len(data) or data[here] not in (2, 4):
            continue
        place = here + 2 + data[here + 1]
        if data[here] == 4 and place + 4 <= len(data):
            value = float(rng.choice([0.0, -1.0, 1e-30, 3e38, np.nan, np.inf, 100.0, -1e9]))
            struct.pack_into("<f", data, place, value)
        elif place + 2 <= len(data):
            struct.pack_into("<H", data, place, int(rng.choice([0, 1, 32768, 65535, int(rng.integers(65536))])))
        return


def data_bits(data: bytearray, rng: np.random.Generator) -> None:
    _flip(data, rng, _section(data)[1], len(data), int(rng.integers(1, 400)))


def swapped_words(data: bytearray, rng: np.random.Generator) -> None:
    """Neighbouring 16-bit words change places, somewhere or from somewhere on."""
    at = 2 * int(rng.integers(0, len(data) // 2 - 4))
    count = int(rng.choice([1, 4, 64, (len(data) - at) // 4]))
    stretch = (
        np.frombuffer(bytes(data[at : at + 4 * count]), dtype="<u2").reshape(-1, 2)[:, ::-1] if count else np.empty(0)
    )
    data[at : at + 2 * stretch.size] = stretch.astype("<u2").tobytes()


def other_processor(data: bytearray, rng: np.random.Generator) -> None:
    data[_section(data)[0] - 1] = int(rng.choice([0, 83, 84, 85, 86, 87, 255]))


def cut(data: bytearray, rng: np.random.Generator) -> None:
    del data[int(rng.integers(1, len(data))) :]


def cut_a_little(data: bytearray, rng: np.random.Generator) -> None:
    del data[len(data) - int(rng.integers(1, 3000)) :]


def appended(data: bytearray, rng: np.random.Generator) -> None:
    data += rng.bytes(int(rng.integers(1, 5000))) if rng.random() < 0.5 else bytes(int(rng.integers(1, 5000)))


def missing_block(data: bytearray, rng: np.random.Generator) -> None:
    at = 512 * int(rng.integers(0, max(1, len(data) // 512)))
    del data[at : at + 512]


def doubled_block(data: bytearray, rng: np.random.Generator) -> None:
    at = 512 * int(rng.integers(0, max(1, len(data) // 512)))
    data[at:at] = data[at : at + 512]


def zeroed(data: bytearray, rng: np.random.Generator) -> None:
    at, size = int(rng.integers(0, len(data))), int(rng.integers(1, 4096))
    data[at : at + size] = bytes(len(data[at : at + size]))


MUTATIONS: tuple[Mutation, ...] = (
    header_bits,
    header_words,
    header_numbers,
    parameter_bits,
    parameter_bytes,
    record_lengths,
    parameter_values,
    data_bits,
    swapped_words,
    other_processor,
    cut,
    cut_a_little,
    appended,
    missing_block,
    doubled_block,
    zeroed,
)


def sources() -> list[Path]:
    """Sound files to damage."""
    sample, *real = recordings_at_hand()
    folders = [sample, *(folder / "reader" for folder in real)]
    every = [path for folder in folders for path in sorted(files_below(folder))]  # the same order wherever they lie
    return [path for path in every if 1024 < path.stat().st_size < LARGEST_BYTES]


def mutate(data: bytes, number: int, seed: int) -> tuple[bytes, str]:
    """The file's bytes after one kind of damage, in one of six cases after two; and its name."""
    rng = np.random.default_rng([seed, number])
    hurt = bytearray(data)
    kinds = [MUTATIONS[number % len(MUTATIONS)]]
    if rng.random() < 1 / 6:
        kinds.append(MUTATIONS[int(rng.integers(len(MUTATIONS)))])
    for kind in kinds:
        if len(hurt) > max(1024, 512 * hurt[0]):  # with a parameter section: a first damage may have cut it off
            kind(hurt, rng)
    return bytes(hurt), "+".join(kind.__name__ for kind in kinds)


# -- reading and judging ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What became of a file: read, refused, fault (exit 70), crash or hang; what is wrong with it; was it compared?"""

    name: str
    kind: str
    what: str
    problem: str = ""
    compared: bool = False


@dataclass
class Counts:
    """Over all files."""

    outcomes: list[Outcome] = field(default_factory=list)

    def number(self, what: str) -> int:
        return sum(o.what == what for o in self.outcomes)

    @property
    def silent(self) -> list[Outcome]:
        return [o for o in self.outcomes if o.what == "read" and o.problem]

    @property
    def bad(self) -> list[Outcome]:
        return [o for o in self.outcomes if o.problem or o.what in ("fault", "crash", "hang")]


def difference(path: Path, recording: Recording) -> tuple[str, bool]:
    """What the plain reader finds and biodyn does not tell, "" if nothing; and whether the two could be compared."""
    told = {finding.code for finding in recording.diagnostics}
    if told & TOLD:
        return "", False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = read_plainly(path)
    except (ValueError, IndexError, KeyError, struct.error, OverflowError, MemoryError, TypeError, ZeroDivisionError):
        return "", False
    return _compared(path, recording, plain, told), True


def _compared(path: Path, recording: Recording, plain: PlainFile, told: set[str]) -> str:
    header = read_header(path)
    layout = data_layout(header)
    columns = [int(c) - 1 for c in plain.parameters.get("FORCE_PLATFORM:CHANNEL", []) if isinstance(c, int) and c > 0]
    columns = sorted({c for c in columns if c < plain.analog.shape[1]})
    own = decode_data_section(path.read_bytes(), layout, header.processor, header.groups, columns)
    if not _equal(own.points, plain.points):
        return f"points differ (shapes {own.points.shape}, {plain.points.shape})"
    if own.channels and not _equal(own.samples, plain.analog[:, list(own.channels)]):
        return "analog samples differ"
    if len(own.channels) < len(columns) and "recording-repaired" not in told and own.channels:
        return f"{len(columns)} plate channels, {len(own.channels)} read"
    if "recording-repaired" not in told and not np.isclose(recording.markers.rate_hz, plain.rate_hz, rtol=1e-3):
        return f"rate {recording.markers.rate_hz} Hz instead of {plain.rate_hz}"
    for key, values in plain.parameters.items():
        # a damaged name is cleaned in its own way by each reader
        if key.isascii() and key.isprintable() and values and not any(isinstance(v, str) for v in values):
            mine = header.numbers.get(key, ())
            if len(mine) != len(values) or not _equal(np.asarray(mine, dtype=float), np.asarray(values, dtype=float)):
                return f"parameter {key} differs"
    return ""


def _equal(mine: np.ndarray, other: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        return mine.shape == other.shape and bool(np.allclose(mine, other, rtol=_SAME, atol=1e-30, equal_nan=True))


def _judge(path: Path, kind: str, result: Recording | InputFileError) -> Outcome:
    if isinstance(result, InputFileError):
        text = str(result)
        problem = (
            "" if result.message and result.hint and "\n" not in text and text.isprintable() else f"said as: {text!r}"
        )
        return Outcome(path.name, kind, "refused", problem)
    check_file(path)
    problem, compared = difference(path, result)
    return Outcome(path.name, kind, "read", problem, compared)


def _read_batch(files: Sequence[tuple[str, str]], answer: str) -> None:
    """In a process of its own: one line of JSON a file."""
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    warnings.simplefilter("ignore")
    with open(answer, "w") as stream:
        paths = [Path(path) for path, _ in files]
        try:
            results: list[Recording | InputFileError | Exception] = list(read_many(paths))
        except Exception:  # which of them it was is found one by one
            results = [_read_one(path) for path in paths]
        for path, (_, kind), result in zip(paths, files, results, strict=True):
            try:
                outcome = _judge(path, kind, _raised(result))
            except Exception as error:
                outcome = Outcome(path.name, kind, "fault", f"{type(error).__name__}: {error}")
            stream.write(json.dumps(outcome.__dict__) + "\n")
            stream.flush()


def _read_one(path: Path) -> Recording | InputFileError | Exception:
    try:
        return read_many([path])[0]
    except Exception as error:
        return error


def _raised(result: Recording | InputFileError | Exception) -> Recording | InputFileError:
    if isinstance(result, (Recording, InputFileError)):
        return result
    raise result


def run(count: int, seed: int, folder: Path, tell: Callable[[str], None] = print) -> Counts:
    """Damage and read `count` files; files that give way stay in `folder`."""
    originals = [(p, p.read_bytes()) for p in sources()]
    counts = Counts()
    for start in range(0, count, BATCH):
        files = []
        for number in range(start, min(start + BATCH, count)):
            source, data = originals[(number * 7 + number // len(originals)) % len(originals)]
            hurt, kind = mutate(data, number, seed)
            path = folder / f"{number:05d}_{source.stem}.c3d"
            path.write_bytes(hurt)
            files.append((str(path), kind))
        counts.outcomes += _batch(files, folder / "answer.jsonl")
        bad = {o.name for o in counts.outcomes if o in counts.bad}
        for path, _ in files:
            if Path(path).name not in bad:
                Path(path).unlink()
        if start // BATCH % 10 == 9:
            tell(f"{start + BATCH} files, {len(bad)} gave way")
    return counts


def _batch(files: Sequence[tuple[str, str]], answer: Path) -> list[Outcome]:
    answer.unlink(missing_ok=True)
    worker = multiprocessing.get_context("fork").Process(target=_read_batch, args=(files, str(answer)))
    worker.start()
    worker.join(2 * TIMEOUT_S * len(files))
    what = "crash"
    if worker.is_alive():
        worker.kill()
        worker.join()
        what = "hang"
    lines = answer.read_text().splitlines() if answer.exists() else []
    outcomes = [Outcome(**json.loads(line)) for line in lines]
    missing = files[len(outcomes) :]
    return outcomes + [Outcome(Path(p).name, k, what if i == 0 else "not read") for i, (p, k) in enumerate(missing)]


def main() -> None:
    parser = parser_of(__doc__, count=2400, seed=2026)
    parser.add_argument("--folder", type=Path, help="keeps the files that gave way")
    arguments = parser.parse_args()
    record, watch = Record("mutated_recordings", vars(arguments)), Stopwatch()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        counts = run(arguments.count, arguments.seed, folder)
    print(f"{len(counts.outcomes)} files of {len(sources())} recordings, seed {arguments.seed}, "
          f"{watch.seconds:.0f} s")  # fmt: skip
    for what in ("read", "refused", "crash", "hang", "fault", "not read"):
        print(f"  {what:<10} {counts.number(what)}")
        record.add(what, counts.number(what), "files")
    compared = sum(o.compared for o in counts.outcomes)
    print(f"  compared with the plain reader {compared}")
    print(f"  silent differences {len(counts.silent)}")
    record.add("compared with the plain reader", compared, "files")
    record.add("silent differences", len(counts.silent), "files")
    print(
        f"  kinds of the files read: {dict(Counter(o.kind for o in counts.outcomes if o.what == 'read').most_common(16))}"
    )
    for outcome in counts.bad[:40]:
        print(f"  ! {outcome.name} {outcome.kind}: {outcome.what} {outcome.problem}")
    record.add("whole run", watch.seconds)
    record.close()
    sys.exit(1 if counts.bad else 0)


if __name__ == "__main__":
    main()
