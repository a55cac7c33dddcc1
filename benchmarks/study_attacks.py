"""What a study must survive: `python benchmarks/study_attacks.py [PART ...]`, on Linux; the disks need root.

A study of `--trials` simulated walks (a few seconds of six people, each trial with bits of its own) is run undisturbed, then
with, each compared byte for byte with the first:

    everything    kill -9 of all processes at `--whole` random moments
    workers       kill -9 of single trial processes at `--single` random moments; some are only frozen for a while
    cluster       the same on Dask's processes of this machine, as `dask worker` starts them: their trial processes, they
                  themselves, and the coordinator
    full          a disk (tmpfs) that is full while trials run, and one that is full while results are collected
    changing      recordings that change while they are analysed, and are put back
    two           a second study in the folder of a running one, and the same study twice
    away          the disk of the results, then of the recordings, is unmounted while trials run; then it is read-only
    stopped       SIGTERM and SIGINT at `--stops` random moments: nothing half-written, and what remains is said

Nothing may be lost, nothing double, nothing half-written. Whatever happens, processes end and disks are unmounted.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from common import Record, Stopwatch, parser_of, tell
from simulator.study import write_study
from study import dask_cluster
from study_runs import WORKER, Process, Run, differences, fingerprint, finish, kill, left_over, processes, started

from biodyn.cli.exit_codes import exit_on_signals

PEOPLE, WALKS = 6, 2
# Bands are off in every study; without these a trial is a third of a second, and everything around it is the same.
QUICK = '[settings.model]\nfit = "none"\n[settings.signals]\ncutoff_hz = 6.0\n'
TWO = ("--workers", "2")
_FROZEN_S = 2.0
_FULL = r"No space left on device|cannot be written"
_LIMIT_S = 3600.0
_BLOCK = 4096


class Attacked:
    """A study to attack, and what it must come to.

    Attributes: folder: of the recordings. reference: digests of an undisturbed run. undisturbed_s: how long that took.
    bytes, trial_bytes: room that all of it takes on a disk, and its trials alone.
    """

    def __init__(self, place: Path, trials: int, seed: int) -> None:
        self.place, self.random, self.trials = place, random.Random(seed), trials
        self.folder = write_many(place / "recordings", trials, seed)
        run = finish(self.folder, place / "calm", *TWO)
        self.undisturbed_s = run.lasted_s
        self.reference = fingerprint(place / "calm")
        self.bytes, self.trial_bytes = room(place / "calm"), room(place / "calm" / "trials")
        shutil.rmtree(place / "calm")

    def faults(self, out: Path) -> list[str]:
        """What differs from the undisturbed run, is left over, lost or double."""
        rows = list(csv.DictReader((out / "summary.csv").open(encoding="utf-8")))
        keys = {(row["subject"], row["trial"]) for row in rows}
        count = [f"{len(rows)} rows of {len(keys)} trials, not {self.trials}"] * (
            len({len(rows), len(keys), self.trials}) > 1
        )
        return count + differences(self.reference, fingerprint(out)) + left_over(out)

    def ended(self, out: Path, *options: str) -> list[str]:
        """Run to the end; what is wrong with it then."""
        options = options or TWO
        with started(self.folder, out, *options) as run:
            code = run.wait(_LIMIT_S)
        return [f"exit code {code}: {run.said()[-400:]}"] if code not in (0, 1, 3) else self.faults(out)


def write_many(folder: Path, trials: int, seed: int) -> Path:
    """Simulate a few walks, and copy each with a bit of its own to as many trials as asked for."""
    source = folder.with_name("simulated")
    walks, _ = write_study(source, PEOPLE, WALKS, seed=seed)
    folder.mkdir()
    (folder / "study.toml").write_text(QUICK, encoding="utf-8")
    for number in range(trials):
        walk = walks[number % len(walks)]
        place = folder / walk.parent.name
        if not place.is_dir():
            place.mkdir()
            shutil.copy(walk.parent / "static.c3d", place)
        data = bytearray(walk.read_bytes())
        # The lowest bits of the last analog samples: another file, nearly the same walk.
        for bit in range(10):
            data[-4 * (bit + 1)] ^= number // len(walks) >> bit & 1
        (place / f"walk{number // len(walks):04d}_{walk.stem[5:]}.c3d").write_bytes(data)
    shutil.rmtree(source)
    return folder


def room(folder: Path) -> int:
    """Bytes of whole blocks that a folder takes on a disk."""
    return sum(-(-path.stat().st_size // _BLOCK) * _BLOCK for path in folder.rglob("*"))


# -- parts: each returns what was found wrong -------------------------------------------------------------------------


def everything(study: Attacked, asked: argparse.Namespace) -> list[str]:
    """Kill all processes of one study, again and again, until it was killed often enough; then let it end."""
    out, done, pause = study.place / "all", 0, study.undisturbed_s / (asked.whole + 1)
    while done < asked.whole:
        with started(study.folder, out, *TWO) as run:
            if run.wait(study.random.uniform(0.2, 2.0) * max(pause, 4.0)) is None:
                run.kill() if done % 2 else run.kill_group()
                done += 1
            elif done < asked.whole:
                shutil.rmtree(out)  # it ended before: begin anew
    return study.ended(out)


def workers(study: Attacked, asked: argparse.Namespace) -> list[str]:
    """Kill single trial processes of running studies; every fifth is frozen for a while instead, as by a slow disk."""
    return _struck(study, study.place / "one", asked.single, TWO, lambda run: run.workers())


def cluster(study: Attacked, asked: argparse.Namespace) -> list[str]:
    """On a Dask cluster: its trial processes and workers, and now and then the coordinator."""
    with dask_cluster(study.place, 2) as address:

        def members(run: Run) -> list[Process]:
            return [
                p for p in processes() if WORKER in p.command or ("dask" in p.command and "spawn_main" in p.command)
            ]

        options = ("--scheduler", address)
        found = _struck(study, study.place / "there", asked.single, options, members)
        out = study.place / "coordinator"
        for _ in range(max(1, asked.whole // 4)):
            with started(study.folder, out, *options) as run:
                if run.wait(study.random.uniform(2.0, 0.7 * study.undisturbed_s)) is None:
                    run.kill()
        return found + study.ended(out, *options)


def _struck(
    study: Attacked, out: Path, wanted: int, options: Sequence[str], victims: Callable[[Run], list[Process]]
) -> list[str]:
    """Strike processes at random moments of as many runs as it takes; each run ends by itself and is compared."""
    done, faults, pause = 0, [], max(0.5, 1.6 * study.undisturbed_s / max(wanted, 1))
    while done < wanted and len(faults) < 20:
        with started(study.folder, out, *options) as run:
            while done < wanted and run.wait(study.random.uniform(0.2, pause)) is None:
                found = victims(run)
                if not found:
                    continue
                victim = study.random.choice(found).pid
                done += 1
                if done % 5:
                    kill(victim)
                else:
                    _freeze(victim)
            code = run.wait(_LIMIT_S)
        faults += study.faults(out) if code in (0, 1, 3) else [f"exit code {code}: {run.said()[-400:]}"]
        shutil.rmtree(out)
    return faults


def _freeze(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(_FROZEN_S)
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return


def full(study: Attacked, asked: argparse.Namespace) -> list[str]:
    """A disk with room for a third of the study, then for its trials but not for what is collected; then for everything."""
    faults: list[str] = []
    out = study.place / "disk"
    with disk(out, study.bytes // 3):
        faults += _refused(study, out, _FULL) + left_over(out)
        _mount("-o", f"remount,size={study.trial_bytes + (1 << 20)}", str(out))
        faults += _refused(study, out, _FULL) + left_over(out)
        done = len(list(out.glob("trials/*/*/trial.json")))
        if done != study.trials:
            faults.append(
                f"the disk was full before all trials were done ({done} of {study.trials}): not the case to be tried"
            )
        _mount("-o", f"remount,size={4 * study.bytes + (64 << 20)}", str(out))
        return faults + study.ended(out)


def changing(study: Attacked, asked: argparse.Namespace) -> list[str]:
    """Recordings that are overwritten, cut and put back while a study runs; a second run with all of them back."""
    out, files = study.place / "changing", sorted(study.folder.rglob("walk*.c3d"))
    with started(study.folder, out, *TWO) as run:
        while run.wait(0.05) is None:
            path = study.random.choice(files)
            whole = path.read_bytes()
            path.write_bytes(
                whole[: study.random.randrange(len(whole))] if study.random.random() < 0.5 else whole[::-1]
            )
            time.sleep(0.05)
            path.write_bytes(whole)
    return study.ended(out)


def two(study: Attacked, asked: argparse.Namespace) -> list[str]:
    """Another study's recordings, and the same ones, into the folder of a running study."""
    out, other = study.place / "two", write_many(study.place / "others", PEOPLE * WALKS, 99)
    faults: list[str] = []
    with started(study.folder, out, *TWO) as run:
        while not (out / ".running").exists():
            time.sleep(0.05)
        for folder, words in ((other, "another folder"), (study.folder, "Another run is writing")):
            with started(folder, out, *TWO, log=study.place / "second.log") as second:
                code = second.wait(_LIMIT_S)
            if (code != 2 or words not in " ".join(second.said().split())) and run.process.poll() is None:
                faults.append(f"a second study ended with {code}: {second.said()[-300:]}")
        run.wait(_LIMIT_S)
    return faults + study.faults(out)


def away(study: Attacked, asked: argparse.Namespace) -> list[str]:
    """The disk of the results, then of the recordings, is unmounted in the middle; then the results' is read-only."""
    out, real = study.place / "away", study.place / "real"
    real.mkdir()
    out.mkdir()
    faults = _unmounted(study, out, real, out)
    with bound(real, out):
        _mount("-o", "remount,ro,bind", str(out))
        faults += _refused(study, out, r"(Read-only file system|cannot be written)")
        _mount("-o", "remount,rw,bind", str(out))
        faults += study.ended(out)
    elsewhere = study.folder.rename(study.place / "elsewhere")
    study.folder.mkdir()
    try:
        faults += _unmounted(study, study.folder, elsewhere, study.place / "gone")
    finally:
        study.folder.rmdir()
        elsewhere.rename(study.folder)
    return faults + study.ended(study.place / "gone")


def _unmounted(study: Attacked, mounted: Path, real: Path, out: Path) -> list[str]:
    """Run with a folder that is unmounted in the middle; what is wrong then."""
    with bound(real, mounted), started(study.folder, out, *TWO, log=study.place / "unmounted.log") as run:
        while run.wait(0.1) is None and not any(out.glob("trials/*/*/trial.json")):
            continue
        run.wait(0.2 * study.undisturbed_s)
        subprocess.run(["umount", "--lazy", str(mounted)], check=True)
        code = run.wait(_LIMIT_S)
    said, there = run.said(), sorted(path.name for path in mounted.iterdir())
    faults = [f"written where the disk was: {there}"] if there else []
    return faults + (
        []
        if code == 2 and "does not exist any more" in " ".join(said.split())
        else [f"exit code {code}: {said[-300:]}"]
    )


def stopped(study: Attacked, asked: argparse.Namespace) -> list[str]:
    """SIGTERM and SIGINT in turn; after each nothing is half-written, and the run has said how much remains."""
    out, faults = study.place / "stopped", []
    for number in range(asked.stops):
        which = (signal.SIGTERM, signal.SIGINT)[number % 2]
        with started(study.folder, out, *TWO) as run:
            if run.wait(study.random.uniform(2.0, 2.0 + study.undisturbed_s / 2)) is not None:
                shutil.rmtree(out)
                continue
            run.process.send_signal(which)
            code = run.wait(60.0)
        said = run.said()
        if code != 128 + which or not _says_what_remains(said) or "Traceback" in said:
            faults.append(f"{which.name}: exit code {code}: {said[-300:]}")
        faults += [f"left over after {which.name}: {name}" for name in (left_over(out) if out.exists() else [])]
    return faults + study.ended(out)


def _says_what_remains(text: str) -> bool:
    """Whether a stopped run says that it can be resumed; before the command has begun, one sentence is enough."""
    if re.search(r"Stopped.*resumes", text, re.DOTALL):
        return True
    return "analysing trials" not in text and "biodyn: stopped." in text


def _refused(study: Attacked, out: Path, words: str) -> list[str]:
    """Run a study that cannot be written; what is wrong with how it says so."""
    with started(study.folder, out, *TWO, log=study.place / "refused.log") as run:
        code = run.wait(_LIMIT_S)
    said = " ".join(run.said().split())
    good = code == 2 and re.search(words, said) and "Traceback" not in said
    return [] if good else [f"a disk that takes nothing: exit code {code}: {said[-300:]}"]


# -- disks ------------------------------------------------------------------------------------------------------------


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


@contextmanager
def disk(place: Path, size: int) -> Iterator[Path]:
    """A disk in memory of so many bytes."""
    place.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False, capture_output=True)


@contextmanager
def bound(real: Path, place: Path) -> Iterator[None]:
    """A folder seen at another place, as a disk that is mounted there."""
    _mount("--bind", str(real), str(place))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False, capture_output=True)


PARTS: Mapping[str, Callable[[Attacked, argparse.Namespace], list[str]]] = {
    "everything": everything, "workers": workers, "cluster": cluster, "full": full, "changing": changing, "two": two,
    "away": away, "stopped": stopped,
}  # fmt: skip
NEED_ROOT = ("full", "away")


def attack(place: Path, parts: Sequence[str], asked: argparse.Namespace, record: Record | None = None) -> list[str]:
    """Do the parts; return all that was found wrong."""
    record = record or Record("study_attacks")
    study = Attacked(place, asked.trials, asked.seed)
    tell(f"undisturbed: {study.trials} trials, {len(study.reference)} files, {study.undisturbed_s:.0f} s")
    record.add("undisturbed", study.undisturbed_s)
    every: list[str] = []
    for name in parts:
        if name in NEED_ROOT and os.geteuid() != 0:
            tell(f"{name}: left out, disks are mounted by root only")
            continue
        clock = Stopwatch()
        faults = PARTS[name](study, asked)
        tell(f"{name}: {len(faults)} faults, {clock.seconds:.0f} s")
        for fault in faults[:10]:
            tell(f"  !! {fault}")
        record.add(f"faults: {name}", len(faults), "faults")
        record.add(f"seconds: {name}", clock.seconds)
        every += faults
    return every


def main() -> int:
    """Attack a study; 0 where it took no harm."""
    parser = parser_of(__doc__, seed=1)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--whole", type=int, default=20, help="times everything is killed")
    parser.add_argument("--single", type=int, default=50, help="times a single process is killed")
    parser.add_argument("--stops", type=int, default=6)
    parser.add_argument("--place", type=Path, help="folder for the temporary files")
    asked = parser.parse_args()
    unknown = set(asked.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    exit_on_signals()  # also when it is stopped itself, disks are unmounted and processes end
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background jobs, and all they start, ignore it else
    record = Record("study_attacks", vars(asked))
    with tempfile.TemporaryDirectory(prefix="biodyn-attacks-", dir=asked.place) as temporary:
        faults = attack(Path(temporary), asked.parts or list(PARTS), asked, record)
    record.close()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
