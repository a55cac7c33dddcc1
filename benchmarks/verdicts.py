"""Do the verdicts separate? Real walks with verdict and cause, clean simulated walks, walks with planted faults. By hand:

    python benchmarks/verdicts.py real FOLDER          every walk below FOLDER, without options: a table for docs/validation.md
    python benchmarks/verdicts.py clean --walks 100    people drawn at random, 0.8-1.8 m/s, full-body and lower-body markers
    python benchmarks/verdicts.py faults               the faults of benchmarks/faults.py on people that set no threshold

No threshold was set by the simulated people of `clean` and of `faults`; those of benchmarks/faults.py called tuned and the
real walks did. A walk is a C3D file with force plates in which markers travel.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import (
    RECORDED,
    Record,
    Stopwatch,
    Table,
    analyse_session,
    per_cent,
    record_session,
    tell,
    walks_below,
)
from faults import FAULTS, GROUPS, sessions
from simulator import SimulatedTrial, embody, solve_walk
from simulator.study import someone

from biodyn.analysis import TrialAnalysis
from biodyn.diagnostics import STATUS_WORDS, Verdict
from biodyn.errors import BiodynError
from biodyn.trial.run import analyse_trial

_FAST = {"uncertainty": {"compute": False}}
_SETS = ("plug_in_gait_full", "plug_in_gait_lower")
_TABLES = ("de_leva_1996", "dumas_2007", "winter_2009")
_SPEEDS_M_S = (0.8, 1.8)
_LABORATORY = replace(RECORDED, strides=2.2)
_TARGETS = {"false_fails": 0, "false_warnings": 0.05, "found": 0.95}


def _verdict(analysis: TrialAnalysis) -> Verdict:
    if analysis.verdict is None:
        raise RuntimeError("the analysis was not judged")
    return analysis.verdict


# -- real walks -----------------------------------------------------------------------------------------------------


def real(folder: Path, record: Record) -> None:
    """Print verdict and causes of every walk below a folder."""
    heads = ("residual force RMS / limit, N", "residual moment RMS / limit, Nm", "cause", "what to do")
    table = Table(("walk", "verdict", *heads))
    statuses: Counter[str] = Counter()
    for path in walks_below(folder):
        name = path.relative_to(folder)
        try:
            verdict = _verdict(analyse_trial(path, settings=_FAST))
        except BiodynError as error:
            table.row(name, "refused", "", "", error)
            statuses["refused"] += 1
            continue
        statuses[verdict.status] += 1
        checks = {check.code: check for check in verdict.checks}
        cells = []
        for code in ("residual-force", "residual-moment"):
            value, limit = checks[code].value, checks[code].limit
            cells.append("–" if value is None or limit is None else f"{value:.1f} / {limit:.1f}")
        causes = "; ".join(dict.fromkeys(f"{cause.title}: {cause.text.rstrip('.')}" for cause in verdict.causes)) or "–"
        hints = " ".join(dict.fromkeys(cause.hint for cause in verdict.causes if cause.hint)) or "–"
        table.row(name, STATUS_WORDS[verdict.status], *cells, causes, hints)
    for status in (*STATUS_WORDS, "refused"):
        record.add(status, statuses[status], "walks")


# -- clean simulated walks --------------------------------------------------------------------------------------------


def clean_walks(count: int, seed: int) -> Iterator[tuple[str, SimulatedTrial, SimulatedTrial]]:
    """(description, static, walk) of people drawn at random; each walks at a random speed in a random direction."""
    for number in range(count):
        rng = np.random.default_rng([seed, number, 7])
        person = replace(
            someone(seed, number),
            marker_set=_SETS[number % len(_SETS)],
            anthropometry=_TABLES[int(rng.integers(len(_TABLES)))],
        )
        speed = float(rng.uniform(*_SPEEDS_M_S))
        body = embody(person)
        leg_m = float(np.mean([v for name, v in body.measures.items() if name.startswith("leg_length")]))
        comfortable = 0.46 * np.sqrt(9.81 * leg_m)  # as simulator.study: stride time falls with the root of the pace
        stride_s = float(1.15 * np.sqrt(leg_m * comfortable / speed))
        walk = solve_walk(body, speed, stride_s, 6)
        forward = ("-x", "+x", "+y", "-y")[int(rng.integers(4))]
        options = replace(_LABORATORY, forward=forward, seed=int(rng.integers(1 << 31)))
        static, walking = record_session(person, options, walk)
        label = f"{person.height_m:.2f} m {person.mass_kg:.0f} kg, {speed:.2f} m/s, {person.marker_set}, {person.anthropometry}"
        yield label, static, walking


def clean(count: int, seed: int, show: bool, record: Record) -> None:
    """Judge clean walks: every warn is false, every fail a fault of the program."""
    statuses: Counter[str] = Counter()
    by_set: dict[str, Counter[str]] = {}
    shares: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for label, static, walking in clean_walks(count, seed):
            mass_kg = walking.body.person.mass_kg
            verdict = _verdict(analyse_session(folder, static, walking, mass_kg=mass_kg, settings=_FAST))
            statuses[verdict.status] += 1
            markers = walking.body.person.marker_set
            by_set.setdefault(markers, Counter())[verdict.status] += 1
            checks = {check.code: check for check in verdict.checks}
            pair = [checks[code] for code in ("residual-force", "residual-moment")]
            numbers = [c.value / c.limit for c in pair if c.value is not None and c.limit]
            if len(numbers) == len(pair):
                shares.setdefault(markers, []).append((numbers[0], numbers[1]))
            if verdict.causes or show:
                print(f"  {verdict.status}: {label}: {[round(n, 2) for n in numbers]}")
                for cause in verdict.causes:
                    tell(f"    {cause.status} {cause.code}: {cause.text}")
    total = statuses.total()
    print(f"clean walks: {total}, {dict(statuses)}; by marker set { ({k: dict(v) for k, v in by_set.items()}) }")
    print(f"false fails: {statuses['fail']} (target {_TARGETS['false_fails']})")
    odd = statuses["warn"] + statuses["not_assessed"]
    print(f"false warnings: {odd}, {per_cent(odd, total):.1f} % (target <= {100 * _TARGETS['false_warnings']:.0f} %)")
    record.add("false fails", statuses["fail"], "walks")
    record.add("false warnings", per_cent(odd, total), "% of the walks")
    for markers, values in shares.items():
        force, moment = np.array(values).T
        print(
            f"RMS as share of its limit, median (largest), {markers}: residual force {np.median(force):.2f} "
            f"({force.max():.2f}), moment {np.median(moment):.2f} ({moment.max():.2f})"
        )
        record.add(f"residual force, {markers}, median", float(np.median(force)), "of its limit")
        record.add(f"residual moment, {markers}, median", float(np.median(moment)), "of its limit")


# -- planted faults ---------------------------------------------------------------------------------------------------


def faults(seeds: int, only: str, record: Record) -> None:
    """Put every fault at its strongest into walks of the fresh people: is the verdict warn or fail, or the file refused?"""
    recorded = sessions(GROUPS["fresh"], seeds)
    found = total = 0
    table = Table(("fault, strongest", "trials", "warn", "fail", "refused", "pass"))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for fault in FAULTS:
            if only not in fault.name:
                continue
            tally: Counter[str] = Counter()
            strength = max(fault.strengths, key=abs)
            for number, session in enumerate(recorded):
                spoilt = fault.inject(session, strength, np.random.default_rng([number, len(fault.name)]))
                try:
                    analysis = analyse_session(
                        folder, spoilt.static, spoilt.walk, mass_kg=spoilt.mass_kg, settings=_FAST
                    )
                    tally[_verdict(analysis).status] += 1
                except BiodynError:
                    tally["refused"] += 1
            total += len(recorded)
            # A unit that was corrected is no fault any more: the trial passes as it should.
            good = tally["warn"] + tally["fail"] + tally["refused"] + (tally["pass"] if _corrected(fault.causes) else 0)
            found += good
            passed = tally["pass"] + tally["not_assessed"]
            counts = (len(recorded), tally["warn"], tally["fail"], tally["refused"], passed)
            table.row(f"{fault.name}, {strength:g} {fault.unit}".rstrip(), *counts)
    print(f"found: {found} of {total}, {per_cent(found, total):.1f} % (target {100 * _TARGETS['found']:.0f} %)")
    record.add("faults found", per_cent(found, total), "%, larger is better")


def _corrected(causes: tuple[str, ...]) -> bool:
    return any(cause.endswith("-corrected") for cause in causes)


def main() -> None:
    """Run what the command line asks for."""
    warnings.simplefilter("ignore", RuntimeWarning)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    of_real = kinds.add_parser("real")
    of_real.add_argument("folder", type=Path)
    of_clean = kinds.add_parser("clean")
    of_clean.add_argument("--walks", type=int, default=100)
    of_clean.add_argument("--seed", type=int, default=2024)
    of_clean.add_argument("--all", action="store_true", help="a line for every walk")
    of_faults = kinds.add_parser("faults")
    of_faults.add_argument("--seeds", type=int, default=1, help="recordings of each of the six people")
    of_faults.add_argument("--only", default="", help="faults whose name contains this")
    arguments = parser.parse_args()
    record, watch = Record("verdicts", vars(arguments)), Stopwatch()
    if arguments.kind == "real":
        real(arguments.folder, record)
    elif arguments.kind == "clean":
        clean(arguments.walks, arguments.seed, arguments.all, record)
    else:
        faults(arguments.seeds, arguments.only, record)
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
