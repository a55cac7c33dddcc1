"""Are errors of force plates found from walks in both directions, and a leaning trunk not taken for one?

    python benchmarks/plates_from_walks.py [--people 20] [--walks 6] [--markers lower_body]

Simulated people, with markers on legs and pelvis or on the whole body, whose segments, joints and skin differ from the model
(`rough_walks`). In the files plate 1 is offset by 5 mm and -3 mm and turned by 1 degree; the other plates are right. A person who
walks the other way sees the same plates turned by 180 degrees, so a walk over plates with opposite offsets, with the signs of its
information exchanged, is a walk in the other direction.

- session: walks of one person, half of them in each direction;
- leaning: the same with right plates and a trunk that leans forward by 5 degrees while walking;
- study: one walk in each direction of every person.

Printed: largest error of an accepted correction, and what was accepted of right plates.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Table, parser_of
from simulator.files import write_c3d
from simulator.plates import Plate
from simulator.rough import drawn_strike, with_impacts
from simulator.rough_walks import rough_recording
from simulator.styles import Style, style_of
from simulator.trial import simulate_trial
from simulator.walking import Walk, solve_walk

from biodyn.conventions import FloatArray
from biodyn.estimation.shared_parameters import InformationForm, accepted_plate_errors
from biodyn.estimation.unknown_parameters import GAIN_SD, PLACE_SD_M, TURN_SD_RAD
from biodyn.trial.request import trial_request
from biodyn.trial.steps import information_of_walk

SHIFT_M, TURN_RAD = (0.005, -0.003), np.radians(1.0)
LEAN_DEG = 5.0
# All people walk along x of the same laboratory; its y is World -Z.
_FORWARD = "+x"
_SPEEDS = (1.0, 0.96, 1.04, 0.92, 1.08)
_SCALES = {"place along x": PLACE_SD_M, "place along y": PLACE_SD_M, "gain": GAIN_SD, "turn": TURN_SD_RAD}
Errors = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class _Misplaced(Plate):
    """A plate whose corners in the file are not where it stands: it is offset by shift_m (X, Z) of them, and turned."""

    shift_m: tuple[float, float] = (0.0, 0.0)
    turn_rad: float = 0.0

    @property
    def corners_W(self) -> FloatArray:
        """Corners (4, 3) in the file."""
        true = super().corners_W
        centre, turn = true.mean(axis=0), -self.turn_rad
        R = np.array([[np.cos(turn), 0.0, np.sin(turn)], [0.0, 1.0, 0.0], [-np.sin(turn), 0.0, np.cos(turn)]])
        return centre - np.array([self.shift_m[0], 0.0, self.shift_m[1]]) + (true - centre) @ R.T


def leaning(style: Style) -> Style:
    """Return a style of walking with the trunk leaning forward."""
    coordinates = dict(style.table["coordinates"])
    lumbar = coordinates["lumbar_extension"]
    coordinates["lumbar_extension"] = {**lumbar, "mean": lumbar.get("mean", 0.0) - LEAN_DEG}
    return replace(style, table={**style.table, "coordinates": coordinates})


def information(markers: str, seed: int, walks: int, misplaced: bool, leans: bool) -> list[InformationForm]:
    """Return the information of the walks of a person, half of them in each direction; markers: class of `rough_walks`."""
    first = rough_recording(markers, seed)
    options, forms = replace(first.truth.options, force_gain=0.0, forward=_FORWARD), []
    standing = replace(first.static, options=replace(first.static.options, forward=_FORWARD))
    assert isinstance(first.motion, Walk)
    for number in range(walks):
        way = 1.0 if number < (walks + 1) // 2 else -1.0
        factor = _SPEEDS[number % len(_SPEEDS)]
        speed = factor * options.speed_m_s
        style = style_of("usual", speed)
        smooth = solve_walk(
            first.motion.body, speed, options.stride_s / factor, 20, style=leaning(style) if leans else style
        )
        motion = with_impacts(smooth, drawn_strike(seed + 1000 * number))
        plates = first.truth.plates
        own = replace(
            options, speed_m_s=speed, stride_s=options.stride_s / factor, plates=plates, seed=seed + 1000 * number
        )
        truth = simulate_trial(motion.body.person, own, "walk", motion)
        filed = list(plates)
        if misplaced:
            filed[0] = _Misplaced(**vars(plates[0]), shift_m=(way * SHIFT_M[0], way * SHIFT_M[1]), turn_rad=TURN_RAD)
        with tempfile.TemporaryDirectory() as name:
            walk, static = Path(name) / "walk.c3d", Path(name) / "static.c3d"
            write_c3d(walk, replace(truth, plates=tuple(filed)), events=False)
            write_c3d(static, replace(standing, plates=tuple(filed)), events=False)
            found = information_of_walk(trial_request(walk, static)).information
        assert isinstance(found, InformationForm), found
        forms.append(_other_way(found) if way < 0.0 else found)
    return [form.label_by_person(str(seed)) for form in forms]


def _other_way(form: InformationForm) -> InformationForm:
    """Return the information in axes that are turned by 180 degrees about the vertical."""
    sign = np.array([-1.0 if ", place along" in name else 1.0 for name in form.names])
    return replace(
        form, information=form.information * np.outer(sign, sign), vector=form.vector * sign, heading=-form.heading
    )


def _row(table: Table, record: Record, title: str, forms: list[InformationForm], misplaced: bool) -> None:
    tests, found = accepted_plate_errors(forms)
    expected = dict.fromkeys(found, 0.0)
    if misplaced:
        truth = {"place along x": SHIFT_M[0], "place along y": -SHIFT_M[1], "turn": TURN_RAD, "gain": 0.0}
        expected |= {name: truth[name.partition(", ")[2]] for name in found if name.startswith("plate 1,")}
    cells, units = [], {"place along x": 1e3, "place along y": 1e3, "gain": 100.0, "turn": np.degrees(1.0)}
    for kind, unit in units.items():
        of_kind = {name: _SCALES[kind] * value[0] for name, value in found.items() if name.endswith(kind)}
        wrong = [abs(value - expected[name]) for name, value in of_kind.items()]
        cells.append(f"{len(of_kind)}: {unit * max(wrong):.2f}" if wrong else "0")
        record.add(f"{title}, {kind}: accepted", len(of_kind), "plates")
        if wrong:
            record.add(f"{title}, {kind}: largest error", unit * max(wrong), {1e3: "mm", 100.0: "%"}.get(unit, "deg"))
    table.row(title, len(forms), *cells)
    for test in tests:
        print(f"  {title}: {test.names[0]}: {test.verdict or 'accepted'}")


def main() -> None:
    """Print a row for each group of walks."""
    parser = parser_of(__doc__)
    parser.add_argument("--people", type=int, default=20, help="of the study")
    parser.add_argument("--walks", type=int, default=6, help="of a session")
    parser.add_argument(
        "--markers", default="lower_body", help="class of people: lower_body, usual_0_5_mm (whole body) ..."
    )
    parser.add_argument("--first", type=int, default=100, help="first seed")
    arguments = parser.parse_args()
    record, watch = Record("plates_from_walks", vars(arguments)), Stopwatch()
    table = Table(("accepted: largest error", "walks", "x, mm", "y, mm", "gain, %", "turn, deg"))
    for seed in range(arguments.first, arguments.first + 3):
        _row(table, record, f"session {seed}", information(arguments.markers, seed, arguments.walks, True, False), True)
    for seed in range(arguments.first, arguments.first + 3):
        _row(
            table, record, f"leaning {seed}", information(arguments.markers, seed, arguments.walks, False, True), False
        )
    study = [
        form
        for seed in range(arguments.first, arguments.first + arguments.people)
        for form in information(arguments.markers, seed, 2, True, False)
    ]
    _row(table, record, "study", study, True)
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
