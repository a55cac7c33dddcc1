"""Is the cause of a difference named? `python benchmarks/compare_causes.py [--count 500] [--seed 100] [FOLDER_WITH_C3D ...]`

Walks of the sample data, simulated people, and walks below the folders. Into a copy of each analysis one cause is planted:
another filter, a joint centre 5-30 mm off, axes turned by 4-15 degrees, other inertias, another body mass, foot strikes 8-40 ms
off or missed (the skeleton is fitted anew where that matters); the comparison knows the arrays and the events of both results and
no settings. Or the moments of the copy are written as a laboratory's channels with a sign turned or in another frame at one
joint, on top of a centre or axis that differs too; every other joint must then be read as usual. Named is a cause that makes most
of the moments' difference (over the gait cycle where the events differ), or the one departure in how the channel is written.
Thresholds were chosen on seeds below 100.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from common import (
    RECORDED,
    Record,
    Stopwatch,
    Table,
    Walker,
    analyse_session,
    parser_of,
    per_cent,
    recorded_sessions,
    sample_walks,
    tell,
    walks_below,
)
from simulator import Person
from support.planted_causes import NAMES, planted, spans_of, with_changed_writing

from biodyn.analysis import TrialAnalysis
from biodyn.comparison.differences import cycle_differences, find_differences, match_analyses, overall_shares
from biodyn.comparison.moment_convention import (
    FRAMES,
    ConventionMatch,
    apply_common_unit,
    channel_from_moment,
    expected_convention,
    frame_axes,
    load_laboratory_table,
    match_convention,
)
from biodyn.comparison.segments import MovingBody, ground_joint_moments, inertial_joint_moments, moving_body_from_arrays
from biodyn.conventions import FloatArray
from biodyn.errors import BiodynError
from biodyn.library.tables import expand_sides
from biodyn.output.store.result_writer import result_arrays
from biodyn.trial.run import analyse_trial

_WRITTEN = ("sign", "frame")
_BACKGROUND = ("centre", "axis")
# Causes are planted in the filtered motion; of two analyses one may be an estimate by tests/test_comparing.py.
_FILTERED = {"signals": {"method": "butterworth"}}
_WALKERS = (
    Walker(Person("Berta", height_m=1.62, mass_kg=58.0, sex="female"), 1.15, 1.12, RECORDED),
    Walker(Person("Emil", height_m=1.84, mass_kg=81.0, sex="male"), 1.35, 1.06, RECORDED),
)


def main() -> None:
    """Print one row a kind of cause."""
    parser = parser_of(__doc__, folders=True, count=500, seed=100)
    parser.add_argument("--only", choices=(*NAMES, *_WRITTEN), help="plant this cause alone")
    arguments = parser.parse_args()
    record, watch = Record("compare_causes", vars(arguments)), Stopwatch()
    analyses = list(_analyses(arguments.folders))
    tell(f"{len(analyses)} walks, {watch.seconds:.0f} s")
    kinds = (arguments.only,) if arguments.only else (*NAMES, *_WRITTEN)
    named: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    instead: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    for case in range(arguments.count):
        kind, (title, analysis, body) = kinds[case % len(kinds)], analyses[case // len(kinds) % len(analyses)]
        rng = np.random.default_rng([arguments.seed, case])
        found, right = _case(analysis, body, kind, rng)
        tried[kind] += 1
        named[kind] += right
        if not right:
            instead[kind][found] += 1
            tell(f"  case {case}, {title}: {kind} was taken for {found}")
    table = Table(("planted", "cases", "named", "%", "taken for"))
    for kind in kinds:
        wrong = ", ".join(f"{name} {count}" for name, count in instead[kind].most_common())
        table.row(kind, tried[kind], named[kind], f"{per_cent(named[kind], tried[kind]):.1f}", wrong)
    share = per_cent(sum(named.values()), sum(tried.values()))
    table.row("all", sum(tried.values()), sum(named.values()), f"{share:.1f}", "")
    record.add("named", share, "%, larger is better")
    record.add("a case", watch.seconds / max(arguments.count, 1))
    record.close()


def _analyses(folders: list[Path]) -> Iterator[tuple[str, TrialAnalysis, MovingBody]]:
    for path in [*sample_walks(), *(walks_below(*folders) if folders else ())]:
        try:
            analysis = analyse_trial(path, settings=_FILTERED, torques_only=True)
        except BiodynError as error:
            tell(f"  {path.name} left out: {error.message}")
            continue
        yield path.name, analysis, moving_body_from_arrays(result_arrays(analysis))
    with TemporaryDirectory() as folder:
        for walker, _, static, walk in recorded_sessions(_WALKERS, [7]):
            analysis = analyse_session(Path(folder), static, walk, settings=_FILTERED, torques_only=True)
            yield f"{walker.person.name}, simulated", analysis, moving_body_from_arrays(result_arrays(analysis))


def _case(analysis: TrialAnalysis, body: MovingBody, kind: str, rng: np.random.Generator) -> tuple[str, bool]:
    """What was named, and whether it is what was planted."""
    if kind in _WRITTEN:
        return _written_case(analysis, body, kind, rng)
    changed = planted(analysis, kind, rng)
    in_common = match_analyses(body, moving_body_from_arrays(result_arrays(changed)))
    moments = find_differences(in_common)
    # As a reader does: moments over the cycle where the cycles differ, else those through time.
    cycles = cycle_differences(moments, in_common.a.time_s, in_common.rate_hz, spans_of(analysis), spans_of(changed))
    shares = overall_shares(cycles, "cycle moment") or overall_shares(moments, "moment")
    found = next(iter(shares), "nothing")
    return found, found in NAMES[kind]


def _written_case(analysis: TrialAnalysis, body: MovingBody, kind: str, rng: np.random.Generator) -> tuple[str, bool]:
    other = moving_body_from_arrays(result_arrays(planted(analysis, str(rng.choice(_BACKGROUND)), rng)))
    joints = [
        (s, expected_convention(entry, side))
        for raw in load_laboratory_table()["moment"]
        for side, entry in expand_sides(raw)
        for s, at in enumerate(zip(body.joints, body.sides, strict=True))
        if at == (entry["joint"], side) and body.valid[:, s].any()
    ]
    chosen = int(rng.integers(len(joints)))
    moments = [_moment(one) for one in (body, other)]
    readings: list[ConventionMatch] = []
    for number, (s, usual) in enumerate(joints):
        way = with_changed_writing(usual, kind, rng) if number == chosen else usual
        theirs = frame_axes(way.frame, other.motion, other.parents[s], s)
        channel = channel_from_moment(moments[1][:, s], theirs, way, other.mass_kg)
        axes = {frame: frame_axes(frame, body.motion, body.parents[s], s) for frame in FRAMES}
        valid = body.valid[:, s] & other.valid[:, s]
        readings.append(match_convention({"own": channel}, moments[0][:, s], axes, usual, other.mass_kg, valid))
    told = apply_common_unit(readings)
    found = [(number, reading.deviations) for number, reading in enumerate(told) if reading.deviations]
    words = ", ".join(" and ".join(names) for _, names in found) or "nothing"
    return words, found == [(chosen, (kind,))]


def _moment(body: MovingBody) -> FloatArray:
    carried = inertial_joint_moments(body.motion, body.inertias, body.gravity_W, body.is_distal)
    return carried + ground_joint_moments(body.motion, body.wrench, body.is_distal)


if __name__ == "__main__":
    main()
