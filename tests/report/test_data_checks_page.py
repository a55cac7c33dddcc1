"""Checks of the data as the report lists them, and names for whatever the page shows."""

from __future__ import annotations

import pytest
from support.sessions import Laboratory

import biodyn
from biodyn.checks.registry import checks_of_kind
from biodyn.output.report.formatted_parameters import evidence_text, format_signed
from biodyn.output.report.sections.verdict import data_check_rows, frame_range_text
from biodyn.output.report.trial_page import render_trial_report
from biodyn.trial.result import TrialResult
from biodyn.variables import variable, variables


@pytest.fixture
def result(walk_result: TrialResult) -> TrialResult:
    return walk_result


def test_every_check_is_listed_with_a_number_within_its_limit(result: TrialResult) -> None:
    rows = {row["title"]: row for row in data_check_rows(result.record)}
    definitions = checks_of_kind("recording")
    assert list(rows) == [check.title for check in definitions]
    assert all(row["status"] == "pass" for row in rows.values()), rows
    for check in definitions:
        assert bool(rows[check.title]["value"]) == (check.display_unit is not None)
    for entry in result.record["data_checks"]:
        # a sound recording, so every number is on the good side; the units and the handedness have a side of their own
        if entry["value"] is not None and entry["key"] not in ("force_unit", "moment_unit", "sides"):
            assert abs(entry["value"]) <= entry["limit"], entry


def test_what_is_nothing_beside_its_limit_is_shown_as_zero_and_zero_has_no_sign(result: TrialResult) -> None:
    entries = [
        {**entry, "value": -1e-12} if entry["key"] == "zero" else entry for entry in result.record["data_checks"]
    ]
    rows = {row["title"]: row for row in data_check_rows({**result.record, "data_checks": entries})}
    assert rows["Force-plate offset"]["value"] == "0 N"
    assert [format_signed(value) for value in (-0.04, 0.0, 0.04, 0.06, -1.25)] == ["0.0", "0.0", "0.0", "+0.1", "-1.2"]


def test_a_fault_is_shown_with_value_frames_and_what_to_do(laboratory: Laboratory) -> None:
    found = biodyn.run_trial(laboratory.walk, laboratory.static, mass_kg=80.0)
    row = next(row for row in data_check_rows(found.record) if row["title"].startswith("Stated mass"))
    assert row["status"] == "warn"
    assert row["value"].endswith("%")
    assert float(row["value"].split()[0]) == pytest.approx(100.0 * (74.0 / 80.0 - 1.0), abs=1.0)
    assert row["limit"] == "3 %"
    (finding,) = row["findings"]
    assert "80.0 kg" in finding["message"]
    assert finding["hint"]
    page = render_trial_report(found.view, {})
    start = page.index('<section id="data"')
    section = page[start : page.index("</section>", start)]
    for part in (row["title"], row["value"], finding["hint"]):
        assert part in section


@pytest.mark.slow
def test_filters_of_an_estimate_are_said_to_prepare_it_and_those_of_a_filter_are_judged(
    result: TrialResult, laboratory: Laboratory
) -> None:
    settings = {"signals": {"method": "butterworth"}, "uncertainty": {"compute": False}}
    filtered = biodyn.run_trial(laboratory.walk, laboratory.static, settings=settings)
    for found, said in (
        (result, "These filters only initialise the estimate"),
        (filtered, "Possible causes of a finding: the settings"),
    ):
        page = render_trial_report(found.view, {})
        row = next(row for row in page.split("<tr>") if "<b>Filters</b>" in row)
        assert said in row


def test_every_finding_of_a_check_has_a_place_on_the_page() -> None:
    codes = [code for check in checks_of_kind("recording") for code in check.findings]
    assert len(codes) == len(set(codes))


def test_frames_are_told_with_their_times() -> None:
    assert frame_range_text([100, 154], 100.0) == "frames 100–154, 1.00 to 1.54 s"
    assert frame_range_text([7, 7], 50.0) == "frame 7, 0.14 s"
    assert frame_range_text(None, 100.0) == ""


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("overhang_m", 0.0123, "beyond the plate 1.23 cm"),
        ("sole_speed_m_s", 0.31, "foot outline speed 0.31 m/s"),
        ("peak_n", 812.0, "peak 812 N"),
        ("peak_bw", 1.1, "peak 1.1 body weights"),
        ("balance_mass_kg", 67.0, "balance mass 67 kg"),
        ("start_missed_s", 0.02, "start missed 0.02 s"),
        ("cop_distance_95_m", 0.004, "CoP distance (95th percentile) 0.4 cm"),
        ("share_inside", 0.98, "share inside 0.98"),
    ],
)
def test_evidence_has_units(name: str, value: float, words: str) -> None:
    assert evidence_text(name, value) == words


def test_every_variable_of_the_cycle_table_has_a_proper_name(result: TrialResult) -> None:
    unnamed = set(result.gait_cycles["variable"].astype(str)) - set(variables())
    assert unnamed == set()


def test_shown_signs_of_joint_axes_and_coordinates_agree(result: TrialResult) -> None:
    """A ball joint's moment is shown alike, whether along its coordinates or on the joint's axes."""
    cycles = result.gait_cycles

    def shown(name: str, side: str) -> list[float]:
        own = cycles[(cycles["side"] == side) & (cycles["variable"] == name)]["value"]
        return list(variable(name).clinical_factor(side) * own.dropna())

    pairs = {
        "hip_jcs_moment_x": "hip_adduction_moment",
        "hip_jcs_moment_y": "hip_rotation_moment",
        "hip_jcs_moment_z": "hip_flexion_moment",
        "knee_jcs_moment_z": "knee_angle_moment",
        "ankle_jcs_moment_z": "ankle_angle_moment",
        "lumbar_jcs_moment_x": "lumbar_bending_moment",
        "lumbar_jcs_moment_y": "lumbar_rotation_moment",
        "lumbar_jcs_moment_z": "lumbar_extension_moment",
        "shoulder_jcs_moment_x": "arm_add_moment",
        "shoulder_jcs_moment_z": "arm_flex_moment",
        "elbow_jcs_moment_z": "elbow_flex_moment",
        "wrist_jcs_moment_x": "wrist_dev_moment",
    }
    for side in ("r", "l"):
        for axis, coordinate in pairs.items():
            assert shown(axis, side) == pytest.approx(shown(coordinate, side), abs=1e-9)
            assert variable(axis).positive == variable(coordinate).positive
