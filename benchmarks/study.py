"""Robustness of a study: `python benchmarks/study.py [PART ...]`, on Linux.

Parts (all by default):
    throughput     trials (4 s at 100 Hz) per second with one and two workers, without and with bands, after a warm-up, and
                   their room on disk; with --other, the folder of another version, whole studies of both that take turns
    memory         peak memory of the coordinator at 100 and at 1,000 trials, and of each worker
    damaged        1,000 simulated trials with every kind of damage: exactly the damaged ones fail, each with its reason
    interruptions  kill -9 of everything and of single workers at random moments, resumed: the same bytes as undisturbed
    cluster        a scheduler and two workers started from Dask's command line: the same bytes
    again          a second run does nothing, a changed file costs one trial

The studies are simulated (seeded). Whatever happens, the processes are ended and the temporary folders removed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from common import REPOSITORY, Record, Timing, parser_of, tell
from simulator.damage import KINDS, DamagedFile
from simulator.study import write_study
from study_runs import (
    Run,
    differences,
    fingerprint,
    finish,
    kill,
    left_over,
    processes,
    started,
    trial_states,
)

from biodyn.study import Study

TARGETS = {
    "rate_per_s": 10.0, "rate_with_bands_per_s": 6.0, "speed_up": 1.85, "trial_mb": 1.0, "coordinator": 0.10,
    "worker_mb": 500.0,
}  # fmt: skip


# -- parts: True where the target is met; the numbers go to the record of the benchmark, where one is given -----------


def throughput(
    place: Path,
    trials: int,
    other: Path | None = None,
    turns: int = 2,
    record: Record | None = None,
    settings: Sequence[str] = (),
) -> bool:
    """Trials a second of one and two workers, from the first outcome to the last, without and with bands; room on disk."""
    record = record or Record("study")
    folder, warm = place / "fast", place / "warm"
    write_study(folder, subjects=max(1, trials // 20), trials=min(trials, 20), seed=3)
    write_study(warm, subjects=1, trials=2, seed=4)
    met = True
    for bands in (False, True):
        words = "with bands" if bands else "without bands"
        entries = [f"uncertainty.compute={str(bands).lower()}", *settings]
        rates = {workers: _rate(folder, warm, place, workers, entries) for workers in (1, 2)}
        gain = rates[2] / rates[1]
        tell(
            f"{words}: {rates[1]:.2f} and {rates[2]:.2f} trials a second with one and two workers, {gain:.2f} times as fast"
        )
        for workers, rate in rates.items():
            record.add(f"throughput {words}, workers: {workers}", rate, "trials/s, larger is better")
        record.add(f"throughput {words}, two workers against one", gain, "x, larger is better")
        met &= rates[2] >= TARGETS["rate_with_bands_per_s" if bands else "rate_per_s"] and gain >= TARGETS["speed_up"]
        out = place / "fast-2"
        sizes = [sum(p.stat().st_size for p in t.rglob("*") if p.is_file()) / 1e6 for t in out.glob("trials/*/*")]
        tell(f"{words}: {sum(sizes) / len(sizes):.3f} MB a trial on disk, {max(sizes):.3f} MB at most")
        record.add(f"a trial on disk {words}", sum(sizes) / len(sizes), "MB")
        met &= sum(sizes) / len(sizes) <= TARGETS["trial_mb"]
    if other is not None:
        _against(record, folder, warm, place, other.resolve(), turns)
    return met


def _rate(folder: Path, warm: Path, place: Path, workers: int, entries: Sequence[str]) -> float:
    """Trials a second of a study, after a small one that warms up."""
    for number, source in enumerate((warm, folder)):
        out = place / f"{('warm', 'fast')[number]}-{workers}"
        shutil.rmtree(out, ignore_errors=True)
        times: list[float] = []
        start = time.monotonic()
        study = Study.open(source, entries=entries)
        study.run(out, workers, on_outcome=lambda outcome, to=times: to.append(time.monotonic()))
        whole = time.monotonic() - start
    tell(
        f"  {workers} worker{'s' * (workers > 1)}: {len(times)} trials in {whole:.1f} s with start, collecting and report"
    )
    return (len(times) - workers) / (times[-1] - times[workers - 1])


def _against(record: Record, folder: Path, warm: Path, place: Path, other: Path, turns: int) -> None:
    """Seconds of whole studies of this tree and another, by turns, two workers; a small study warms each up."""
    trees = {"this tree": REPOSITORY, other.name: other}
    seconds: dict[str, list[float]] = {name: [] for name in trees}
    for number, tree in enumerate(trees.values()):
        finish(warm, place / f"warm-against-{number}", "--workers", "2", tree=tree)
    for turn in range(turns):
        for number, (name, tree) in enumerate(trees.items()):
            seconds[name].append(
                finish(folder, place / f"against-{turn}-{number}", "--workers", "2", tree=tree).lasted_s
            )
    for name, values in seconds.items():
        tell(f"whole study, {name}: {Timing.of(values)}")
        record.add(f"whole study, {name}", Timing.of(values))


def memory(place: Path, counts: tuple[int, int], record: Record | None = None) -> bool:
    """Peak memory of coordinator and workers at two sizes of a study."""
    record = record or Record("study")
    peaks = []
    largest = 0.0
    for count in counts:
        folder = place / f"memory-{count}"
        write_study(folder, subjects=max(1, count // 20), trials=min(count, 20), seed=5)
        run = finish(folder, place / f"out-{count}", "--workers", "2")
        workers = {name: size for name, size in run.peaks.items() if name != "coordinator"}
        peaks.append(run.peaks["coordinator"])
        largest = max(largest, *workers.values())
        print(
            f"{count} trials: coordinator {peaks[-1]:.0f} MB, workers "
            f"{', '.join(f'{size:.0f}' for size in workers.values())} MB; {run.lasted_s:.0f} s"
        )
        record.add(f"memory of the coordinator, {count} trials", peaks[-1], "MB")
        shutil.rmtree(folder)
    change = peaks[1] / peaks[0] - 1.0
    print(f"coordinator {100 * change:+.1f} % from {counts[0]} to {counts[1]} trials; largest worker {largest:.0f} MB")
    record.add("memory of the largest worker", largest, "MB")
    return abs(change) <= TARGETS["coordinator"] and largest <= TARGETS["worker_mb"]


def damaged(place: Path, subjects: int, trials: int, share: float, record: Record | None = None) -> bool:
    """Exactly the damaged trials fail, each with its reason."""
    record = record or Record("study")
    folder, out = place / "damaged", place / "damaged-out"
    walks, hurt = write_study(folder, subjects, trials, seed=1, damage=share)
    run = finish(folder, out, "--workers", "2")
    print(f"{len(walks)} trials, {len(hurt)} damaged: {run.lasted_s:.0f} s")
    good = account(folder, out, walks, hurt)
    record.add("damaged study", run.lasted_s)
    return good


def account(folder: Path, out: Path, walks: list[Path], hurt: list[DamagedFile]) -> bool:
    """Print how each kind of damage ended; True where nothing else failed and every reason is right."""
    states = trial_states(folder, out)
    expected = {kind.name: kind.expected for kind in KINDS}
    good = True
    for kind in KINDS:
        mine = [entry for entry in hurt if entry.kind == kind.name]
        ends = [states.get(entry.path, ("not in the plan", "")) for entry in mine]
        failed = sum(status == "failed" for status, _ in ends)
        told = sum(status == "failed" and any(w in text for w in expected[kind.name]) for status, text in ends)
        good &= told == len(mine)
        print(f"  {kind.name:18s} {len(mine):3d} damaged, {failed:3d} failed, {told:3d} with the reason expected")
        for text, count in Counter(_without_names(text) for _, text in ends).most_common(3):
            print(f"      {count:3d} x {text[:150]}")
        for entry, (status, text) in zip(mine, ends, strict=True):
            if status != "failed" or not any(words in text for words in expected[kind.name]):
                print(f"      !! {entry.path.relative_to(folder)}: {status}: {text[:200]}")
    sound = set(walks) - {entry.path for entry in hurt}
    unexpected = [path for path in sound if states.get(path, ("missing", ""))[0] in ("failed", "missing")]
    for path in unexpected[:10]:
        print(f"  !! sound, but {path.relative_to(folder)}: {states.get(path, ('not in the plan', ''))}")
    statuses = Counter(states[path][0] for path in sound if path in states)
    print(f"  sound trials: {dict(statuses)}; {len(states)} of {len(walks)} trials in the plan")
    return good and not unexpected and len(states) == len(walks)


def _without_names(text: str) -> str:
    return re.sub(r"[\d.]+", "#", re.sub(r"'[^']*'", "FILE", text))


def interruptions(
    place: Path,
    subjects: int,
    trials: int,
    whole: int,
    single: int,
    seed: int,
    damage: float = 0.0,
    record: Record | None = None,
) -> bool:
    """Kill everything `whole` times and single processes `single` times, resume, and compare with an undisturbed run."""
    record = record or Record("study")
    rng = random.Random(seed)
    folder = place / "interruptions"
    write_study(folder, subjects, trials, seed=7, damage=damage)
    calm = finish(folder, place / "calm", "--workers", "2")
    reference = fingerprint(place / "calm")
    undisturbed_s = calm.lasted_s
    print(f"undisturbed: {subjects * trials} trials, {len(reference)} files, {undisturbed_s:.0f} s")
    everything = _killed(
        "all processes", folder, place / "all", reference, whole, lambda: rng.uniform(0.0, undisturbed_s), _kill_all
    )
    pause = max(1.0, min(6.0, 0.2 * undisturbed_s))
    one = _killed(
        "one process", folder, place / "one", reference, single, lambda: rng.uniform(0.2, pause), _kill_one(rng)
    )
    record.add("interrupted study, undisturbed", undisturbed_s)
    record.add("differences after all processes were killed", everything, "files")
    record.add("differences after one process was killed", one, "files")
    return not everything + one


Strike = Callable[[Run, int], bool]


def _kill_all(run: Run, number: int) -> bool:
    """In turn: every process at once; the coordinator's group only, and the next run starts beside what it leaves."""
    if number % 2:
        run.kill_group()
    else:
        run.kill()
    return True


def _kill_one(rng: random.Random) -> Strike:
    def strike(run: Run, number: int) -> bool:
        workers = run.workers()
        if workers:
            kill(rng.choice(workers).pid)
        return bool(workers)

    return strike


def _killed(
    what: str,
    folder: Path,
    out: Path,
    reference: Mapping[str, str],
    wanted: int,
    pause: Callable[[], float],
    strike: Strike,
) -> int:
    """Strike at random moments of as many runs as it takes; after each finished study compare and begin anew.

    Returns the number of differences.
    """
    done = studies = 0
    bad: list[str] = []
    while done < wanted or out.exists():
        with started(folder, out, "--workers", "2") as run:
            while done < wanted and run.wait(pause()) is None:
                done += strike(run, done)
            code = run.wait()
        if code == -signal.SIGKILL:
            continue
        if code not in (0, 1, 3):
            bad.append(f"exit code {code}: {run.said()[-600:]}")
        studies += 1
        bad += differences(reference, fingerprint(out)) + left_over(out)
        print(
            f"  study {studies} finished: {done} of {wanted} interruptions so far, {len(bad)} differences", flush=True
        )
        shutil.rmtree(out)
        if len(bad) > 20:
            break
    print(f"kill -9 of {what}: {done} interruptions in {studies} studies, {len(bad)} differences")
    for line in bad[:10]:
        print(f"  !! {line}")
    return len(bad)


def cluster(place: Path, subjects: int, trials: int, record: Record | None = None) -> bool:
    """Two workers of a Dask cluster give the same files as local processes."""
    record = record or Record("study")
    folder = place / "cluster"
    write_study(folder, subjects, trials, seed=8, damage=0.02 if subjects * trials >= 2 * len(KINDS) else 0.0)
    finish(folder, place / "here", "--workers", "2")
    with dask_cluster(place, 2) as address:
        run = finish(folder, place / "there", "--scheduler", address)
    bad = differences(fingerprint(place / "here"), fingerprint(place / "there"))
    print(f"{subjects * trials} trials on a two-worker cluster: {run.lasted_s:.0f} s, {len(bad)} differences")
    record.add("cluster", run.lasted_s)
    record.add("differences on the cluster", len(bad), "files")
    for line in bad[:10]:
        print(f"  !! {line}")
    return not bad


@contextmanager
def dask_cluster(place: Path, workers: int) -> Iterator[str]:
    """Start a scheduler and workers on loopback from Dask's command line; yields the address, ends them all."""
    where = place / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    commands = [[*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", where]]
    commands += [
        [*dask, "worker", "--scheduler-file", where, "--nthreads", "1", "--no-dashboard", "--local-directory", place]
    ] * workers
    running = []
    try:
        with (place / "dask.log").open("wb") as log:
            for command in commands:
                running.append(
                    subprocess.Popen(
                        [str(part) for part in command],
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )
        end = time.monotonic() + 60.0
        while not where.exists() or not where.stat().st_size:
            if time.monotonic() > end or running[0].poll() is not None:
                raise SystemExit(f"No Dask scheduler:\n{(place / 'dask.log').read_text(errors='replace')}")
            time.sleep(0.1)
        yield json.loads(where.read_text())["address"]
    finally:
        sessions = {process.pid for process in running}
        for member in processes():
            if member.session in sessions:
                kill(member.pid)
        for process in running:
            process.wait()


def again(place: Path, subjects: int, trials: int, record: Record | None = None) -> bool:
    """A second run changes nothing and is quick; a changed file costs its own trial."""
    record = record or Record("study")
    folder, out = place / "again", place / "again-out"
    walks, _ = write_study(folder, subjects, trials, seed=9)
    first = finish(folder, out, "--workers", "2")
    before, made = fingerprint(out), _made(out)
    second = finish(folder, out, "--workers", "2")
    same = not differences(before, fingerprint(out)) and _made(out) == made
    changed = walks[len(walks) // 2]
    data = bytearray(changed.read_bytes())
    data[-3] ^= 1  # a bit of the last analog sample
    changed.write_bytes(bytes(data))
    third = finish(folder, out, "--workers", "2")
    after = _made(out)
    redone = [name for name in made if made[name] != after.get(name)]
    print(
        f"{len(walks)} trials: first run {first.lasted_s:.1f} s, second {second.lasted_s:.1f} s "
        f"({'nothing changed' if same else '!! something changed'}), after the change of one file {third.lasted_s:.1f} s "
        f"({len(redone)} trial analysed again)"
    )
    for name, run in (("first run", first), ("second run", second), ("run after the change of one file", third)):
        record.add(name, run.lasted_s)
    return same and len(redone) == 1 and made.keys() == after.keys()


def _made(out: Path) -> dict[str, int]:
    """When each trial's record was written, ns."""
    return {
        path.parent.relative_to(out).as_posix(): path.stat().st_mtime_ns for path in out.glob("trials/*/*/trial.json")
    }


# -- the command ----------------------------------------------------------------------------------------------------


def main() -> int:
    """Run the parts asked for; return 0 where all targets are met."""
    parts: dict[str, Callable[[Path, argparse.Namespace, Record], bool]] = {
        "throughput": lambda place, a, record: throughput(place, a.rate_trials, a.other, a.turns, record, a.set),
        "memory": lambda place, a, record: memory(place, (a.large // 10, a.large), record),
        "damaged": lambda place, a, record: damaged(place, a.large // 20, 20, 0.02, record),
        "interruptions": lambda place, a, record: interruptions(
            place, *a.interrupted_study, a.whole, a.single, a.seed, a.interrupted_damage, record
        ),
        "cluster": lambda place, a, record: cluster(place, *a.interrupted_study, record),
        "again": lambda place, a, record: again(place, *a.interrupted_study, record),
    }
    parser = parser_of(__doc__, seed=1)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--rate-trials", type=int, default=100, help="trials to measure the throughput with")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="throughput: a setting")
    parser.add_argument("--other", type=Path, metavar="TREE", help="throughput: folder of another version")
    parser.add_argument("--turns", type=int, default=2, help="throughput: whole studies of each version")
    parser.add_argument("--large", type=int, default=1000, help="trials of the large study")
    parser.add_argument("--interrupted-study", type=int, nargs=2, default=(3, 20), metavar=("SUBJECTS", "TRIALS"))
    parser.add_argument("--interrupted-damage", type=float, default=0.02, help="share of each kind of damage in it")
    parser.add_argument("--whole", type=int, default=20, help="interruptions of all processes")
    parser.add_argument("--single", type=int, default=50, help="interruptions of single workers")
    parser.add_argument("--place", type=Path, help="folder for the temporary files")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(parts)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    good = True
    record = Record("study", vars(arguments))
    for name in arguments.parts or parts:
        tell(f"\n{name}")
        with tempfile.TemporaryDirectory(prefix="biodyn-study-", dir=arguments.place) as temporary:
            met = parts[name](Path(temporary), arguments, record)
        print("  target met" if met else "  !! TARGET MISSED")
        good &= met
    record.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
