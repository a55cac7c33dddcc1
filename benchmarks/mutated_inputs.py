"""Does any damaged input crash, hang, overflow or deceive the program? `python benchmarks/mutated_inputs.py`.

Sound files of every kind (sample data, a simulated session with all that is exported of it, and what BIODYN_TEST_DATA holds)
are damaged by a seeded hand (`common.damage`) and given to what reads them, in processes that may die: limited in time and
memory. C3D files go through `mutated_recordings`, settings and own tables through `mutated_tables`. Every `--runs`-th file
that is read is analysed as well, by the command line itself.

One line a kind: tried, read, refused in one sentence; warnings of libraries that reach the screen; faults (exceptions, exit
70, crashes, hangs, too much memory, a sentence that is none); compared with another reader and different without a word.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

import mutated_recordings
import mutated_tables
import numpy as np
from common import Record, Stopwatch, parser_of, recordings_at_hand, tell, write_session
from common.damage import BLIND, TABLE, XML, Damage, damaged, doubled_line, hostile_word, lost_line, number
from common.second_readers import coordinates_of, frames_of, loads_of, model_of, numbers_of
from simulator import Person, TrialOptions, session
from support.vendor_exports import write_cortex, write_dflow, write_nexus, write_qtm, write_qtm_mat
from typer.testing import CliRunner

import biodyn
from biodyn.cli import app
from biodyn.errors import BiodynError
from biodyn.io import read
from biodyn.io.opensim.external_loads import read_external_loads
from biodyn.io.opensim.tool_setups import read_ik_setup, read_scale_setup
from biodyn.rigid_body.model_files import from_urdf
from biodyn.trial.export import export
from biodyn.trial.inspection import check_file

LIMIT_S: Final = 20  # of the processor, for one file that is read
RUN_LIMIT_S: Final = 90  # of one that is analysed
MEMORY_BYTES: Final = 3_000_000_000  # more than the process has when it begins
BATCH: Final = 100
EXPORTS: Final = ("nexus.csv", "dflow.txt", "walk_f_1.tsv", "cortex.forces")
WHOLE: Final = (".csv", ".txt")  # those that hold trajectories, too
_LARGEST_BYTES: Final = 600_000
_QUICK: Final = ("--set", "uncertainty.compute=false", "--set", "output.report=false", "--set", "output.figures=false")

Doubt = Callable[[Path, Any], str | None]


@dataclass(frozen=True)
class Kind:
    """A kind of file: sound ones, damages that fit, what reads it, a second reader (None: none, "": same), words to run it."""

    name: str
    seeds: tuple[Path, ...]
    damages: tuple[Damage, ...]
    door: Callable[[Path], Any]
    doubt: Doubt | None = None
    run: Callable[[Path], list[str]] | None = None
    root: Path | None = None  # a folder that is damaged file by file


@dataclass
class Line:
    """The numbers of a kind."""

    tried: int = 0
    read: int = 0
    refused: int = 0
    analysed: int = 0
    warned: int = 0
    faults: int = 0
    compared: int = 0
    silent: int = 0
    slowest_s: float = 0.0
    memory_mb: float = 0.0
    said: list[str] = field(default_factory=list)


# -- seeds ------------------------------------------------------------------------------------------------------------


def made_files(folder: Path) -> Path:
    """Simulate a session and write it in every format the program writes; returns the folder."""
    person = Person("Subject01", height_m=1.78, mass_kg=74.0, sex="male")
    static, walk = session(person, TrialOptions(forward="-x", noise_mm=1.0, force_noise_n=0.5, strides=1.6, seed=7))
    c3d, standing = write_session(folder, static, walk)
    result = biodyn.run_trial(c3d, standing, entries=["uncertainty.compute=false"])
    result.save(folder / "result")
    export(folder / "result", "opensim", folder / "opensim")
    markers = read(c3d).markers
    names = [f"{label}_{axis}" for label in markers.labels for axis in "XYZ"]
    table = np.column_stack(
        [np.arange(markers.frame_count) / markers.rate_hz, markers.positions.reshape(markers.frame_count, -1)]
    )
    import pandas as pd

    frame = pd.DataFrame(np.round(table, 6), columns=["time", *names])
    frame.to_csv(folder / "opensim" / "markers.csv", index=False)
    frame.to_parquet(folder / "opensim" / "markers.parquet")
    (folder / "exports").mkdir()
    write_nexus(folder / "exports" / "nexus.csv", walk)
    write_qtm(folder / "exports" / "walk.tsv", walk, "laboratory")
    write_cortex(folder / "exports" / "cortex.trc", walk)
    write_dflow(folder / "exports" / "dflow.txt", walk, late_s=0.004)
    write_qtm_mat(folder / "exports" / "walk.mat", walk)
    (folder / "opensim" / "robot.urdf").write_text(_URDF, encoding="utf-8")
    return folder


_URDF: Final = """<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="0 0 1" rpy="0 0.1 0"/><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="c"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/><limit lower="-1" upper="1"/></joint>
<joint name="k" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0 1 0"/><axis xyz="0 1 0"/></joint></robot>
"""


def kinds(made: Path) -> tuple[Kind, ...]:
    """Every kind of file but C3D and TOML."""
    own, stored = made / "opensim", made / "result"
    model, loads = own / "model.osim", own / "external_loads.xml"

    def found(*suffixes: str, without: str = "") -> tuple[Path, ...]:
        real = [p for folder in recordings_at_hand()[1:] for s in suffixes for p in sorted(folder.rglob(f"*{s}"))]
        mine = [p for s in suffixes for p in sorted(own.glob(f"*{s}"))]
        return tuple(
            p
            for p in (*mine, *mine, *real)
            if p.stat().st_size < _LARGEST_BYTES and not (without and without in p.name.lower())
        )

    def holding(word: bytes) -> tuple[Path, ...]:
        return tuple(p for p in found(".xml") if word in p.read_bytes())

    def to_run(path: Path) -> list[str]:
        return [str(path), "--static", str(made / "static.c3d"), "--mass", "74", "--height", "1.78", *_QUICK]

    def on_model(path: Path) -> list[str]:
        return [str(path), "--model", str(model), "--forces", str(loads)]

    return (
        Kind("TRC", found(".trc"), TABLE, _look, frames_of, to_run),
        Kind("MOT, STO", found(".mot", ".sto"), TABLE, _look, coordinates_of, on_model),
        Kind("forces of a TRC", (own / "grf.mot",), TABLE, lambda p: read(p.with_name("markers.trc"), p), None,
             lambda p: [*to_run(p.with_name("markers.trc")), "--forces", str(p)]),
        Kind("exported plates", tuple(made / "exports" / name for name in EXPORTS), TABLE,
             lambda p: _look(p) if p.suffix in WHOLE else read(p.with_name("cortex.trc"), p), None,
             lambda p: to_run(p) if p.suffix in WHOLE else [*to_run(p.with_name("cortex.trc")), "--forces", str(p)]),
        Kind("QTM for MATLAB", (made / "exports" / "walk.mat",), BLIND, _look, None, to_run),
        Kind("CSV", (own / "markers.csv",), TABLE, _look, numbers_of, to_run),
        Kind("Parquet", (own / "markers.parquet",), BLIND, _look, numbers_of, to_run),
        Kind("OSIM", found(".osim"), XML, _look, model_of,
             lambda p: [str(own / "coordinates.mot"), "--model", str(p), "--forces", str(loads)]),
        Kind("external loads", holding(b"<ExternalLoads"), XML, read_external_loads, loads_of,
             lambda p: [str(own / "coordinates.mot"), "--model", str(model), "--forces", str(p)]),
        Kind("IK set-up", holding(b"<IKTaskSet"), XML, read_ik_setup),
        Kind("scale set-up", holding(b"<ScaleTool"), XML, read_scale_setup),
        Kind("URDF", (own / "robot.urdf",), XML, lambda p: from_urdf(p.read_text(encoding="utf-8", errors="replace"))),
        Kind("b3d and others", tuple(found(".parquet")) + (made / "walk.c3d",), BLIND, _unknown),
        Kind("result folder", (*[stored / "run.json"] * 4, stored / "result.npz", stored / "tables" / "joint_torques.csv"),
             (*BLIND, *[number, hostile_word, doubled_line, lost_line] * 3), _stored, root=stored),
    )  # fmt: skip


def _look(path: Path) -> Any:
    """As `biodyn check` does; a recording is returned as it was read."""
    check_file(path)
    return None if path.suffix == ".osim" else read(path)


def _unknown(path: Path) -> Any:
    other = path.rename(path.with_suffix(".b3d"))
    try:
        return check_file(other)
    finally:
        other.rename(path)


def _stored(path: Path) -> Any:
    """Load the result folder that a file belongs to, and look at everything in it."""
    folder = path.parent if path.name in ("run.json", "result.npz") else path.parent.parent
    result = biodyn.load(folder)
    tables = [result.table(name) for name in result.table_names]
    return result.summary(), repr(result), result.view, tables, result._repr_html_()


# -- what is done with a file -----------------------------------------------------------------------------------------


class Late(BaseException):
    """The time limit passed."""


def _late(_: int, __: FrameType | None) -> None:
    raise Late


@dataclass
class Outcome:
    """What became of a file."""

    number: int
    what: str = "crash"
    damage: str = ""
    file: str = ""
    said: str = ""
    warned: str = ""
    compared: bool = False
    silent: str = ""
    analysed: bool = False
    seconds: float = 0.0
    memory_mb: float = 0.0


def one_sentence(text: str) -> bool:
    """True for what may be said of a file: one line that a terminal can show, not endless."""
    shown = all(unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for letter in text)
    return bool(text) and shown and len(text) < 1500 and "Traceback" not in text


def tried(kind: Kind, path: Path, outcome: Outcome, analysed: bool) -> Outcome:
    """Give the file to what reads it; `analysed`: and to the command line, where it is read."""
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = kind.door(path)
            outcome.what = "read"
        except BiodynError as error:
            outcome.what, outcome.said = ("refused" if one_sentence(str(error)) else "fault"), str(error)[:3000]
        except Late:
            outcome.what, outcome.said = "fault", f"longer than {LIMIT_S} s"
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-3:]
            places = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(where))
            outcome.what, outcome.said = "fault", f"{type(error).__name__}: {str(error)[:200]} ({places})"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    outcome.seconds = time.process_time() - began
    outcome.warned = "; ".join(
        sorted({f"{w.category.__name__}: {w.message} {Path(w.filename).name}:{w.lineno}" for w in caught})
    )[:300]
    if outcome.what == "read" and kind.doubt is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            doubt = kind.doubt(path, result)
        outcome.compared, outcome.silent = doubt is not None, doubt or ""
    if outcome.what == "read" and analysed and kind.run is not None:
        run_whole(kind.run(path), path.parent / "out", outcome)
    outcome.memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return outcome


def run_whole(words: Sequence[str], out: Path, outcome: Outcome) -> None:
    """`biodyn run` with these words; a fault where it ends otherwise than with 0, 1, or 2 and one sentence."""
    signal.setitimer(signal.ITIMER_PROF, RUN_LIMIT_S)
    outcome.analysed = True
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = CliRunner().invoke(app, ["run", *words, "--out", str(out)], env={"COLUMNS": "200"})
        except Late:
            outcome.what, outcome.said = "fault", f"run: longer than {RUN_LIMIT_S} s"
            return
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            left = out.exists()
            shutil.rmtree(out, ignore_errors=True)
    problem = ""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        last = traceback.extract_tb(result.exception.__traceback__)[-3:]
        places = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(last))
        problem = f"{type(result.exception).__name__}: {str(result.exception)[:200]} ({places})"
    elif result.exit_code == 2:
        said = [line for line in result.stderr.splitlines() if line.startswith("biodyn: ")]
        problem = "" if len(said) == 1 and not left else f"exit 2, {len(said)} sentences, folder left: {left}"
    elif result.exit_code not in (0, 1):
        problem = f"exit {result.exit_code}"
    if problem:
        outcome.what, outcome.said = "fault", f"run: {problem}"
    heard = sorted({f"{w.category.__name__}: {w.message} {Path(w.filename).name}:{w.lineno}" for w in caught})
    outcome.warned = "; ".join(filter(None, (outcome.warned, *heard)))[:300]


def place_of(seed: Path, folder: Path, root: Path | None) -> Path:
    """A folder with all that lies beside a seed, as links; returns where its damaged copy goes."""
    if root is not None:
        place = folder / root.name
        if not place.exists():
            shutil.copytree(root, place)
        return place / seed.relative_to(root)
    place = folder / f"{seed.parent.name}_{seed.stem}"
    if not place.exists():
        place.mkdir(parents=True)
        for other in seed.parent.iterdir():
            if other.is_file():
                (place / other.name).symlink_to(other)
    return place / f"damaged_{seed.name}"


def _work(kind: Kind, numbers: Sequence[int], seed: int, folder: Path, every: int, answer: Path) -> None:
    """In a process of its own: a line of JSON before and after every file."""
    gc.collect()
    gc.freeze()  # what this process was forked with, files of fonts among it, is no warning of a damaged file
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    with open("/proc/self/statm", encoding="ascii") as stream:
        used = int(stream.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, -1))
    signal.signal(signal.SIGPROF, _late)
    with answer.open("w", encoding="utf-8") as stream:
        for number in numbers:
            rng = np.random.default_rng([seed, sum(kind.name.encode()), number])
            source = kind.seeds[number % len(kind.seeds)]
            data, name = damaged(source.read_bytes(), kind.damages, rng)
            path = place_of(source, folder, kind.root)
            path.write_bytes(data)
            outcome = Outcome(number, damage=name, file=source.name)
            stream.write(json.dumps(asdict(outcome)) + "\n")
            stream.flush()
            outcome = tried(kind, path, outcome, every > 0 and number % every == 0)
            if outcome.what == "fault" or outcome.silent or outcome.warned:
                kept = folder.parent / "kept" / kind.name.replace(" ", "_").replace(",", "")
                kept.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, kept / f"{number:05d}_{source.name}")
            path.write_bytes(source.read_bytes())
            stream.write(json.dumps(asdict(outcome)) + "\n")
            stream.flush()


def outcomes_of(kind: Kind, count: int, seed: int, folder: Path, every: int) -> Iterator[Outcome]:
    """Damage and try so many files of a kind; a process that dies is followed by another."""
    waiting = list(range(count))
    answer = folder / "answer.jsonl"
    while waiting:
        batch = waiting[:BATCH]
        worker = multiprocessing.get_context("fork").Process(
            target=_work, args=(kind, batch, seed, folder, every, answer)
        )
        worker.start()
        worker.join(BATCH * LIMIT_S)
        hung = worker.is_alive()
        if hung:
            worker.kill()
            worker.join()
        last: dict[int, Outcome] = {}
        for line in answer.read_text(encoding="utf-8").splitlines():
            outcome = Outcome(**json.loads(line))
            last[outcome.number] = outcome
        for outcome in last.values():
            if outcome.what == "crash":
                outcome.said = "hung" if hung else f"the process ended with {worker.exitcode}"
            yield outcome
        waiting = waiting[max(len(last), 1) :]


def line_of(outcomes: Iterator[Outcome]) -> Line:
    """Count."""
    line = Line()
    for one in outcomes:
        line.tried += 1
        line.read += one.what == "read"
        line.refused += one.what == "refused"
        line.analysed += one.analysed
        line.warned += bool(one.warned)
        line.faults += one.what in ("fault", "crash")
        line.compared += one.compared
        line.silent += bool(one.silent)
        line.slowest_s = max(line.slowest_s, one.seconds)
        line.memory_mb = max(line.memory_mb, one.memory_mb)
        where = f"{one.number} {one.file}, {one.damage}"
        if one.what in ("fault", "crash"):
            line.said.append(f"{where}: {one.said}")
        if one.silent:
            line.said.append(f"{where}: silent: {one.silent}")
        if one.warned:
            line.said.append(f"{where}: warned: {one.warned}")
    return line


# -- the other corpora ------------------------------------------------------------------------------------------------


def c3d_line(count: int, seed: int, folder: Path) -> Line:
    """C3D files, by `mutated_recordings`."""
    counts = mutated_recordings.run(count, seed, folder, tell=lambda _: None)
    bad = [f"{o.name} {o.kind}: {o.what} {o.problem}" for o in counts.bad]
    faults = sum(o.what not in ("read", "refused") or bool(o.problem and o.what == "refused") for o in counts.outcomes)
    compared = sum(o.compared for o in counts.outcomes)
    return Line(
        *(
            len(counts.outcomes),
            counts.number("read"),
            counts.number("refused"),
            0,
            0,
            faults,
            compared,
            len(counts.silent),
        ),
        said=bad,
    )


def toml_line(count: int, seed: int, folder: Path) -> Line:
    """Settings, studies, marker sets, skeletons and other tables, by `mutated_tables`, as `biodyn check` takes them."""
    line = Line()
    walk = mutated_tables.recordings(folder / "session")
    for kind, mutation, data in mutated_tables.corpus(count, seed):
        began = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            code, said = mutated_tables.outcome(kind, data, walk, folder, whole=False)
        line.tried += 1
        line.read += code in (0, 1)
        line.refused += code == 2
        line.warned += bool(caught)
        line.slowest_s = max(line.slowest_s, time.perf_counter() - began)
        lines = [one for one in said.splitlines() if one.startswith("biodyn: ")]
        if code not in (0, 1, 2) or (code == 2 and len(lines) != 1):
            line.faults += 1
            line.said.append(f"{kind.name}, {mutation}: {code} {said.strip()[:300]}")
    return line


def strange_places(made: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Things that are no files, under the names of files of every kind."""
    for suffix in (".c3d", ".trc", ".mot", ".csv", ".parquet", ".osim", ".xml", ".toml", ".b3d", ".urdf", ""):
        place = folder / f"places{suffix.replace('.', '_')}"
        place.mkdir()
        os.mkfifo(place / f"pipe{suffix}")
        (place / f"folder{suffix}").mkdir()
        (place / f"device{suffix}").symlink_to("/dev/zero")
        (place / f"nothing{suffix}").symlink_to("/dev/null")
        (place / f"circle{suffix}").symlink_to(place / f"circle{suffix}")
        (place / f"dangling{suffix}").symlink_to(place / "no such file")
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(place / f"socket{suffix}")[-100:])
        listening.close()
        (place / f"empty{suffix}").touch()
        (place / f"linked{suffix}").symlink_to(made / "walk.c3d")
        for path in sorted(place.iterdir()):
            yield suffix, path
        yield suffix, place / f"a\0b{suffix}"
        yield suffix, place / ("x" * 300 + suffix)
        yield suffix, place / "y" / ".." / f"empty{suffix}" / f"in{suffix}"


def places_line(made: Path, folder: Path) -> Line:
    """Pipes, devices, sockets, folders, circles: in every place of the command line that takes a file."""
    line = Line()
    walk = made / "walk.c3d"
    osim = made / "opensim"
    motion = ("run", osim / "coordinates.mot", "--out", folder / "out")
    for suffix, path in strange_places(made, folder):
        tries: list[tuple[Any, ...]] = [("check", path), ("run", path, "--out", folder / "out", *_QUICK)]
        if suffix == ".toml":
            tries += [
                ("check", walk, "--settings", path),
                ("check", walk, "--marker-set", path),
                ("study", path, "--dry-run"),
            ]
        if suffix == ".osim":
            tries += [(*motion, "--model", path)]
        if suffix in (".xml", ".mot"):
            tries += [(*motion, "--model", osim / "model.osim", "--forces", path)]
        if suffix == ".c3d":
            tries += [("run", walk, "--static", path, "--out", folder / "out", *_QUICK)]
        if suffix == "":
            tries += [("report", path), ("compare", path, walk), ("replay", path), ("export", path, "--to", "xlsx")]
            tries += [("study", path, "--dry-run")]
        for words in tries:
            if "linked" in path.name and words[0] != "check":
                continue
            code, said = mutated_tables.code_of(*words)
            shutil.rmtree(folder / "out", ignore_errors=True)
            line.tried += 1
            line.read += code in (0, 1)
            line.refused += code == 2
            sentences = [one for one in said.splitlines() if one.startswith("biodyn: ")]
            if code not in (0, 1, 2) or (code == 2 and len(sentences) != 1 and "Usage" not in said):
                line.faults += 1
                line.said.append(f"{words[0]} {path.name[:40]}: {code} {said.strip()[:300]}")
    return line


# -- all of it --------------------------------------------------------------------------------------------------------

_HEADS = ("kind", "tried", "read", "refused", "analysed", "warned", "faults", "compared", "silent", "CPU s", "MB")


def told(name: str, line: Line) -> None:
    """Print a line of the table, and below it what gave way."""
    numbers = (line.tried, line.read, line.refused, line.analysed, line.warned, line.faults, line.compared, line.silent)
    tell(f"{name:<18}" + "".join(f"{n:>9}" for n in numbers) + f"{line.slowest_s:>11.1f}{line.memory_mb:>9.0f}")
    for text in line.said[:60]:
        tell(f"    ! {text}")


def main() -> int:
    """Try everything and print the table; 1 where anything gave way."""
    parser = parser_of(__doc__, count=10_000, seed=20, only="")
    parser.add_argument("--runs", type=int, default=40, help="every so many-th file is analysed as well; 0 = none")
    parser.add_argument("--folder", type=Path, help="keeps the files that gave way")
    chosen = parser.parse_args()
    record, watch = (
        Record("mutated_inputs", {"count": chosen.count, "seed": chosen.seed, "runs": chosen.runs}),
        Stopwatch(),
    )
    every = Line()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        made = made_files(_new(folder / "sound"))
        parts: dict[str, Callable[[], Line]] = {
            "C3D": lambda: c3d_line(3 * chosen.count // 10, chosen.seed, _new(folder / "c3d")),
            "TOML": lambda: toml_line(chosen.count // 10, chosen.seed, _new(folder / "toml")),
            "no regular files": lambda: places_line(made, _new(folder / "places")),
        }
        others = kinds(made)
        for kind in others:
            share = 6 * chosen.count // 10 // len(others)
            parts[kind.name] = lambda kind=kind, share=share: line_of(  # type: ignore[misc]
                outcomes_of(kind, share, chosen.seed, _new(folder / "files"), chosen.runs)
            )
        tell(f"{_HEADS[0]:<18}" + "".join(f"{h:>9}" for h in _HEADS[1:9]) + f"{_HEADS[9]:>11}{_HEADS[10]:>9}")
        for name, part in parts.items():
            if any(word.strip().lower() in name.lower() for word in chosen.only.split(";")):
                line = part()
                told(name, line)
                for one in ("tried", "read", "refused", "analysed", "warned", "faults", "compared", "silent"):
                    setattr(every, one, getattr(every, one) + getattr(line, one))
                every.slowest_s = max(every.slowest_s, line.slowest_s)
                every.memory_mb = max(every.memory_mb, line.memory_mb)
    told("all", every)
    for one in ("tried", "read", "refused", "analysed", "warned", "faults", "compared", "silent"):
        record.add(one, getattr(every, one), "files")
    record.add("slowest", every.slowest_s)
    record.add("whole run", watch.seconds)
    record.close()
    return 1 if every.warned or every.faults or every.silent else 0


def _new(folder: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


if __name__ == "__main__":
    sys.exit(main())
