"""Do the bands of own norms hold what they say? `python benchmarks/own_norms.py [--count 40] [--seed 1]`

Simulated people walk at four speeds: bodies of adults, each with a way of walking of its own. Norms are made of some of them;
what is counted is the share of the others whose whole curve lies inside the 95 % band, at each speed, angles and loads alike,
over many draws of who is which. Then the adult scalars: how many of 138 people lie in the 95 % range of the published model
when it is fitted again to 138 people drawn from it, normal and with heavier tails (Student's t, 5 degrees of freedom).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from common import Record, parser_of, tell
from simulator.person import Body, embody
from simulator.reaction import foot_wrenches
from simulator.study import someone
from simulator.walking import Walk, solve_walk

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.rigid_body import inverse_dynamics
from biodyn.study.laboratory_norms import PersonMeans, StudyPeople, norms_file_content
from biodyn.variables import NormCovariates, NormSet, load_norm_set
from biodyn.variables.gait_variables import PERCENT

_SPEEDS = (0.30, 0.38, 0.46, 0.54)  # dimensionless; the simulator's comfortable one is 0.46
_STRIDE_PER_ROOT_LEG_S = 1.15
_ANGLES = ("hip_flexion", "hip_adduction", "knee_angle", "ankle_angle")
_LOADS = ("hip_flexion", "knee_angle", "ankle_angle")
# A person's own way of walking and that of a day, in units of each curve's tolerance (2 to 6 degrees), and of the pace.
_PERSON, _DAY, _PACE = 0.8, 0.15, 0.02


@dataclass(frozen=True)
class SolvedBody:
    """A body with its leg length, m, and its walks at `_SPEEDS`."""

    body: Body
    leg_m: float
    mass_kg: float
    walks: tuple[Walk, ...]


def solved_bodies(seed: int, count: int) -> list[SolvedBody]:
    """Bodies of adults that walk; some seconds each."""
    found = []
    for number in range(count):
        person = someone(seed, number)
        body = embody(person)
        leg = float(np.mean([value for name, value in body.measures.items() if name.startswith("leg_length")]))
        walks: list[Walk] = []
        for speed in _SPEEDS:
            stride = _STRIDE_PER_ROOT_LEG_S * float(np.sqrt(leg / (speed / _SPEEDS[2])))
            near = walks[-1] if walks else None
            way = speed * float(np.sqrt(STANDARD_GRAVITY_M_S2 * leg))
            walks.append(solve_walk(body, way, stride, 6 if near is None else 3, near))
        found.append(SolvedBody(body, leg, person.mass_kg, tuple(walks)))
    return found


def person_means(solved: SolvedBody, number: int, rng: np.random.Generator) -> list[PersonMeans]:
    """One person on a body: the same deviations from its walk at every speed, and small ones of the day."""
    curves = solved.walks[0].curves
    order = np.concatenate([curve.orders() for curve in curves])
    unit = np.concatenate([np.full(curve.size, curve.tolerance) for curve in curves]) / (1.0 + order)
    own, pace = _PERSON * rng.normal(size=len(unit)), 1.0 + _PACE * rng.normal()
    found = []
    for speed, walk in zip(_SPEEDS, solved.walks, strict=True):
        deviation = unit * (own + _DAY * rng.normal(size=len(unit)))
        stride_s = walk.stride_s * pace * (1.0 + 0.3 * _PACE * rng.normal())
        varied = replace(
            walk,
            stride_s=stride_s,
            speed_m_s=walk.stride_m / stride_s,
            coefficients=walk.coefficients + deviation,
        )
        dimensionless = varied.speed_m_s / float(np.sqrt(STANDARD_GRAVITY_M_S2 * solved.leg_m))
        strides = {"cadence_hof": speed, "stance_percent": 100.0 * varied.stance}
        found.append(PersonMeans(number, dimensionless, _right_cycle(varied, solved.mass_kg), strides, 1.0))
    return found


def _right_cycle(walk: Walk, mass_kg: float) -> dict[str, FloatArray]:
    """True angles (deg) and moments (Nm/kg) over the right cycle, in the tables' signs."""
    model, time_s = walk.body.model, PERCENT / 100.0 * walk.stride_s
    q, v, vdot = walk.motion(time_s)
    wrenches = foot_wrenches(walk, time_s)
    feet = [model.frames[model.sole_body[side]].link for side in SIDES]
    on_feet = np.stack([wrenches[side] for side in SIDES], axis=1)
    tau = inverse_dynamics(model.multibody, q, v, vdot, wrenches=on_feet, wrench_bodies=feet)
    columns = {coordinate.name: coordinate for coordinate in walk.body.coordinates}
    angles = {name: np.rad2deg(q[:, columns[f"{name}_r"].q_index]) for name in _ANGLES}
    loads = {f"{name}_moment": tau[:, columns[f"{name}_r"].v_index] / mass_kg for name in _LOADS}
    return {**angles, **loads}


def people_from(means: Sequence[Sequence[PersonMeans]]) -> StudyPeople:
    """What `biodyn norms build` takes from a study."""
    units = {name: "Nm/kg" if name.endswith("moment") else "deg" for name in means[0][0].curves}
    flat = [replace(one, person=number) for number, own in enumerate(means) for one in own]
    covariates = NormCovariates(30.0, 1.75, 0.92, 1.2)
    return StudyPeople(tuple(flat), units, tuple(f"P{i}" for i in range(len(means))), (covariates,) * len(means), 0)


def held(norms: NormSet, means: Sequence[Sequence[PersonMeans]]) -> FloatArray:
    """Share (speeds, variables) of people whose whole curve lies in the band."""
    inside = []
    for own in means:
        rows = []
        for one in own:
            shown = norms.norms_at_speed(one.speed)
            rows.append([_inside(shown.curves[name], curve) for name, curve in one.curves.items()])
        inside.append(rows)
    return np.asarray(inside, dtype=np.float64).mean(axis=0)


def _inside(curve: object, values: FloatArray) -> bool:
    half = curve.half_width  # type: ignore[attr-defined]
    return bool((np.abs(values - curve.mean) <= half).all())  # type: ignore[attr-defined]


def curves(record: Record, seed: int, count: int, people: int, draws: int) -> None:
    """Print the share held at each speed, and by variable, for two sizes of the group that norms are made of."""
    rng = np.random.default_rng([seed, 1])
    solved = solved_bodies(seed, 8)
    everyone = [person_means(solved[number % len(solved)], number, rng) for number in range(people)]
    names = list(everyone[0][0].curves)
    for size in (count, max(count // 2, 20)):
        shares = []
        for draw in range(draws):
            order = np.random.default_rng([seed, 2, draw]).permutation(people)
            table = norms_file_content(people_from([everyone[i] for i in order[:size]]), "simulated", "none", draw)
            shares.append(held(NormSet(table), [everyone[i] for i in order[size:]]))
        mean = np.mean(shares, axis=0)
        tell(f"norms of {size} people, {people - size} others, {draws} draws: share wholly inside the 95 % band")
        for speed, row in zip(_SPEEDS, mean, strict=True):
            values = "  ".join(f"{name} {100 * value:.1f}" for name, value in zip(names, row, strict=True))
            print(f"  speed {speed:.2f}: mean {100 * row.mean():.1f} %   {values}")
            record.add(f"own norms of {size} people hold at speed {speed:.2f}", 100 * row.mean(), "%")
        spread = float(np.std([share.mean() for share in shares]))
        print(f"  from draw to draw: standard deviation {100 * spread:.1f} points")
        for name, value in zip(names, mean.mean(axis=0), strict=True):
            record.add(f"own norms of {size} people hold {name}", 100 * value, "%")


def scalars(record: Record, seed: int, replicates: int) -> None:
    """Draw 138 people from the published model, fit it again, and count who lies in its 95 % range."""
    norms = load_norm_set("adults_van_criekinge_2023")
    rng = np.random.default_rng([seed, 3])
    low, high = norms.speed_range
    for tails in ("normal", "heavy tails"):
        worst, shares = 1.0, []
        for name, entry in norms.table["scalar"].items():
            for _ in range(replicates):
                speed = rng.normal(0.5 * (low + high), 0.25 * (high - low), 138)
                age = rng.uniform(21.0, 86.0, 138)
                noise = rng.normal(size=138) if tails == "normal" else rng.standard_t(5, 138) / np.sqrt(5.0 / 3.0)
                X = np.stack([np.ones(138), speed - 1.2, (age - 50.0) / 10.0], axis=1)
                y = X @ [*entry["mean"], entry["per_decade"]] + entry["sd"][0] * noise
                fitted = np.linalg.lstsq(X, y, rcond=None)[0]
                sd = float(np.sqrt(np.sum((y - X @ fitted) ** 2) / (138 - 3)))
                shares.append(float((np.abs(y - X @ fitted) <= 1.96 * sd).mean()))
            worst = min(worst, *shares)
            assert norms.norms_at_speed(1.2, 50.0).scalars[name].mean == entry["mean"][0]
        above = float((np.asarray(shares) >= 0.90).mean())
        print(
            f"adult scalars, {tails}: {100 * np.mean(shares):.1f} % of the 138 inside on average, fewest "
            f"{100 * worst:.1f} %; at least 90 % inside in {100 * above:.2f} % of {len(shares)} replicates"
        )
        record.add(f"adult scalars, {tails}: replicates with 90 % of 138 inside", 100 * above, "%")


def main() -> None:
    """Print both."""
    parser = parser_of(__doc__, count=40, seed=1)
    parser.add_argument("--people", type=int, default=160, help="simulated people in all")
    parser.add_argument("--draws", type=int, default=20, help="draws of who the norms are made of")
    options = parser.parse_args()
    record = Record("own_norms", vars(options))
    curves(record, options.seed, options.count, options.people, options.draws)
    scalars(record, options.seed, 200)
    record.close()


if __name__ == "__main__":
    main()
