"""Plates that lie higher or lower than the file says: told by the feet that stand flat on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from simulator import write_c3d
from support.described_plates import QUICK, Platform, analysed

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators.plate_height import FlatFoot, measure_flat_feet, relative_heights, report_plate_heights
from biodyn.checks.trial_facts import TrialFacts
from biodyn.diagnostics import Diagnostic
from biodyn.recording import Markers
from biodyn.trial.run import analyse_trial

LIMIT_M = 0.015
#: Markers on the simulated feet say the same to this.
SAME_MM = 2.0


@pytest.fixture(scope="module")
def sound(standing, walking, tmp_path_factory) -> TrialAnalysis:
    folder = tmp_path_factory.mktemp("sound")
    write_c3d(folder / "static.c3d", standing)
    write_c3d(folder / "walk.c3d", walking)
    return analyse_trial(folder / "walk.c3d", folder / "static.c3d", settings=QUICK)


def raised(plates: slice, by_mm: float) -> Callable[[Platform], None]:
    """The corners of some plates higher in the file than the plates are."""

    def change(platform: Platform) -> None:
        platform["CORNERS"] = platform["CORNERS"].copy()
        platform["CORNERS"][plates, :, 2] += by_mm

    return change


def told(analysis: TrialAnalysis) -> list[Diagnostic]:
    return [note for note in analysis.diagnostics if note.code == "plate-height"]


@pytest.mark.slow
@pytest.mark.parametrize("by_mm", [25.0, pytest.param(-50.0, marks=pytest.mark.slow)])
def test_one_plate_at_another_height_is_told_by_the_others(standing, walking, tmp_path, by_mm) -> None:
    (note,) = told(analysed(tmp_path, standing, walking, raised(slice(1, 2), by_mm)))
    assert "late 2 " in note.message
    if note.limit == LIMIT_M:
        assert f"{abs(by_mm):.0f} mm {'higher' if by_mm > 0.0 else 'lower'} in the file" in note.message
        assert 1e3 * note.value == pytest.approx(abs(by_mm), abs=SAME_MM)
    else:  # so high or low that the one plate tells it by itself
        assert "zero height" in note.message or "too high in the file" in note.message


@pytest.mark.slow
def test_all_plates_so_high_that_feet_would_stand_inside_them(standing, walking, tmp_path) -> None:
    (note,) = told(analysed(tmp_path, standing, walking, raised(slice(None), 50.0)))
    assert note.message.startswith("Plates 1, 2 and 3 are too high in the file: with a flat foot on plate ")
    assert "mm under the surface" in note.message


@pytest.mark.slow
@pytest.mark.parametrize("by_mm", [17.0, -45.0])
def test_all_plates_beside_the_zero_height_at_which_feet_stand(standing, walking, tmp_path, by_mm) -> None:
    (note,) = told(analysed(tmp_path, standing, walking, raised(slice(None), by_mm)))
    where = "over" if by_mm > 0.0 else "under"
    assert note.message.startswith(
        f"Plates 1, 2 and 3 are {abs(by_mm):.0f} mm {where} the zero height of the laboratory"
    )


def test_sound_plates_pass(sound) -> None:
    assert told(sound) == []
    (row,) = [check for check in sound.data_checks if check.code == "plate_height"]
    assert row.status == "pass"
    assert 1e3 * row.value < SAME_MM


# -- what is no fault of a plate ---------------------------------------------------------------------------------------


def found_in(
    analysis: TrialAnalysis, lifted: Callable[[Markers], Markers] = lambda markers: markers, **changed: object
) -> tuple[Diagnostic, ...]:
    """The findings of an analysis with other markers, or another `evidence`, `static` or `points`."""
    facts = TrialFacts(analysis)
    assert analysis.propagation is not None
    evidence = changed.get("evidence", facts.evidence)
    found = measure_flat_feet(
        evidence,
        changed.get("points", analysis.points),
        lifted(analysis.propagation.signals.markers),
        facts.foot_markers,
        changed.get("static", analysis.static.points),
    )
    return report_plate_heights(evidence, found, analysis.subject.height_m, LIMIT_M)


def all_higher(by_m: float) -> Callable[[Markers], Markers]:
    return lambda markers: replace(markers, positions=markers.positions + np.array([0.0, by_m, 0.0]))


def test_shoes_are_no_fault(sound) -> None:
    """They lift foot and ankle, standing and walking."""
    static = {label: point + np.array([0.0, 0.04, 0.0]) for label, point in sound.static.points.items()}
    assert found_in(sound, all_higher(0.04), static=static) == ()


def test_a_plate_that_is_higher_and_filed_so_is_no_fault(sound) -> None:
    """The second plate is a step of 12 cm, and so are the feet that stand on it."""
    evidence = TrialFacts(sound).evidence
    step = next(step for step in evidence.steps if step.plate == 1)
    plates = list(evidence.plates)
    plates[1] = replace(plates[1], corners=plates[1].corners + np.array([0.0, 0.12, 0.0]))

    def up(markers: Markers) -> Markers:
        positions = markers.positions.copy()
        positions[step.first : step.stop, :, 1] += 0.12
        return replace(markers, positions=positions)

    raised_evidence = replace(evidence, plates=tuple(plates))
    assert found_in(sound, up, evidence=raised_evidence) == ()
    assert found_in(sound, evidence=raised_evidence) != ()  # and where the feet are not there, it is one


def test_a_marker_that_was_moved_since_the_static_trial_is_no_fault_of_a_plate(sound) -> None:
    own = TrialFacts(sound).foot_markers["l"][0]

    def moved(markers: Markers) -> Markers:
        positions = markers.positions.copy()
        positions[:, markers.labels.index(own[0]), 1] += 0.04
        return replace(markers, positions=positions)

    assert found_in(sound, moved) == ()


def test_who_never_stands_flat_tells_nothing(sound) -> None:
    """The heel stays 6 cm above the toes."""
    heel = {side: heel + np.array([0.0, 0.06, 0.0]) for side, heel in sound.points.heel.items()}
    evidence = replace(
        TrialFacts(sound).evidence,
        plates=tuple(
            replace(plate, corners=plate.corners + np.array([0.0, 0.05 * n, 0.0]))
            for n, plate in enumerate(sound.plates)
        ),
    )
    assert found_in(sound, evidence=evidence) != ()
    assert found_in(sound, evidence=evidence, points=replace(sound.points, heel=heel)) == ()


def test_plates_of_a_laboratory_whose_zero_lies_elsewhere_are_sound(sound) -> None:
    """The floor and the plates lie 30 cm over the zero height, and so do the feet."""
    evidence = TrialFacts(sound).evidence
    floor = np.array([0.0, 0.3, 0.0])
    higher = tuple(replace(plate, corners=plate.corners + floor) for plate in evidence.plates)
    static = {label: point + floor for label, point in sound.static.points.items()}
    assert found_in(sound, all_higher(0.3), evidence=replace(evidence, plates=higher), static=static) == ()


# -- the numbers -------------------------------------------------------------------------------------------------------


def stood(plate: int, level_m: float, ankle_m: float = 0.07) -> FlatFoot:
    return FlatFoot(plate, 0.03, "heel", ankle_m, ankle_m, level_m)


def test_heights_are_against_the_other_plates() -> None:
    assert relative_heights([stood(0, 0.01), stood(0, 0.03)]) == {}
    assert relative_heights([stood(0, 0.01), stood(1, np.nan)]) == {}
    assert relative_heights([stood(0, 0.01), stood(1, 0.03)]) == pytest.approx({0: 0.0, 1: 0.02})
    three = relative_heights([stood(0, 0.01), stood(1, 0.04), stood(2, 0.012), stood(2, 0.008)])
    assert three == pytest.approx({0: 0.0, 1: 0.03, 2: 0.0})


def evidence_of(numbers: Sequence[int]) -> SimpleNamespace:
    """Plates with numbers, and a step on each: all that a finding asks for."""
    return SimpleNamespace(
        plates=[SimpleNamespace(number=number) for number in numbers],
        steps=[SimpleNamespace(plate=n, first=10 * n, stop=10 * n + 8) for n in range(len(numbers))],
    )


def test_of_two_plates_nobody_knows_which_is_wrong() -> None:
    (note,) = report_plate_heights(evidence_of([3, 7]), [stood(0, 0.0), stood(1, -0.021)], 1.75, LIMIT_M)
    assert note.message.startswith("Relative to plate 3, plate 7 is 21 mm lower in the file ")
    assert "One of the two heights is wrong" in note.message
    assert note.frames == (0, 17)
    assert report_plate_heights(evidence_of([3, 7]), [stood(0, 0.0), stood(1, -0.014)], 1.75, LIMIT_M) == ()


def test_of_two_plates_that_in_which_the_foot_would_stand_is_named() -> None:
    (note,) = report_plate_heights(evidence_of([3, 7]), [stood(0, 0.0), stood(1, 0.03, 0.035)], 1.75, LIMIT_M)
    assert note.message.startswith("Plate 7 is too high in the file")


def test_without_the_height_of_the_body_an_ankle_tells_nothing() -> None:
    assert report_plate_heights(evidence_of([1]), [stood(0, 0.0, 0.03)], None, LIMIT_M) == ()
