"""What variables mean is said once: signs, sides, units and limits, for tables, statistics and figures alike."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biodyn.conventions import CYCLE_POINTS, SIDES
from biodyn.library.tables import entry_names
from biodyn.library.toml_files import load_table
from biodyn.output.figures.curves import display_table
from biodyn.study.group.group_data import Observations, SubjectMean
from biodyn.study.group.statistics.gait_scores import norm_reference, score_names, score_table
from biodyn.study.group.statistics.symmetry import symmetry_table
from biodyn.variables import is_known_variable, load_norms, variable, variables
from biodyn.variables.gait_variables import variable_name_hint

_PACKAGE = Path(__file__).parents[2] / "biodyn"
_PERCENT = np.linspace(0.0, 100.0, CYCLE_POINTS)


def test_a_title_in_place_of_a_name_is_understood() -> None:
    """The spelling alone is nearest to another joint: "knee_flexion" to "hip_flexion"."""
    known = ("hip_flexion", "knee_angle", "ankle_angle_moment")
    assert variable_name_hint("knee_flexion", known).startswith(
        "Knee flexion is 'knee_angle'. Valid names: hip_flexion, "
    )
    assert variable_name_hint("Ankle_plantarflexion_moment", known).startswith("Ankle plantarflexion moment is ")
    assert variable_name_hint("hip_flexoin", known).startswith("Did you mean 'hip_flexion'?")


def test_clinical_signs_of_the_variables_that_differ_from_the_tables() -> None:
    tilt, rotation, knee = variable("pelvis_tilt"), variable("pelvis_rotation"), variable("knee_angle_moment")
    assert (tilt.positive, tilt.negative, tilt.unit) == ("anterior", "posterior", "deg")
    assert [tilt.clinical_factor(side) for side in SIDES] == [-1.0, -1.0]  # tables: backward tilt is positive
    assert [tilt.side_sign(side) for side in SIDES] == [1.0, 1.0]
    assert [rotation.clinical_factor(side) for side in SIDES] == [1.0, -1.0]  # tables: to the left whoever walks
    assert [rotation.side_sign(side) for side in SIDES] == [1.0, -1.0]
    assert (knee.positive, knee.clinical_sign, knee.unit) == ("extension", -1.0, "Nm/kg")


def test_an_unknown_variable_is_itself() -> None:
    own = variable("tail_wagging")
    assert (own.title, own.clinical_factor("l"), own.side_sign("l")) == ("tail wagging", 1.0, 1.0)
    assert own.limits == (-np.inf, np.inf)
    assert not is_known_variable("tail_wagging")


@pytest.mark.parametrize("name", list(variables()))
def test_every_variable_is_whole(name: str) -> None:
    one = variable(name)
    assert one.title
    assert one.positive != one.negative
    assert one.unit in ("deg", "Nm/kg", "W/kg", "BW")
    low, high = one.limits
    assert low < 0.0 < high
    assert 0.0 < one.jump < high - low
    if one.mirrored:  # a right and a left side have the same limits
        assert low == -high


def test_titles_are_the_fields() -> None:
    for name, title in {
        "hip_adduction_moment": "Hip abduction moment",
        "knee_jcs_moment_x": "Knee abduction moment",
        "ground_force_x": "Anterior-posterior GRF",
        "ground_force_z": "Mediolateral GRF",
        "foot_progression": "Foot progression angle",
        "lumbar_bending": "Trunk lateral flexion",
    }.items():
        assert variable(name).title == title
    assert variable("foot_progression").positive == "toe-out"
    assert variable("lumbar_bending").positive == "ipsilateral"
    assert "internal" in variable("hip_adduction_moment").note


def test_published_walkers_are_within_the_limits() -> None:
    from biodyn.variables import curve_faults

    for name in entry_names("norms"):
        norms = load_norms(name)
        if not norms.curves:
            continue
        curves = np.column_stack([one.mean for one in norms.curves.values()])
        assert curve_faults(curves, list(norms.curves)) == {}


# -- drawing decides nothing -------------------------------------------------------------------------------------------


def test_the_display_table_holds_layout_only() -> None:
    layout = {"figure", "stance_figure", "overview", "standard", "screen", "most_single"}
    assert set(load_table("figures/display")) == layout


@pytest.mark.parametrize("unit", ["study/group", "statistics", "tables", "study/collecting"])
def test_nothing_that_computes_reads_the_drawing(unit: str) -> None:
    for path in sorted((_PACKAGE / unit).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not node.module.startswith("biodyn.output.figures"), path
            assert not (isinstance(node, ast.Constant) and node.value == "display"), path


def _statistics() -> dict[str, pd.DataFrame]:
    """Mean of both sides, scores and symmetry of a walker who is not symmetric."""
    names = list(score_names())
    curves = np.stack([(n + 1.0) * np.sin(2.0 * np.pi * _PERCENT / 100.0 + n) for n in range(len(names))])
    cells = [
        SubjectMean("S", "", "", "", side, np.zeros(0), size * curves, 1) for side, size in (("r", 1.0), ("l", 0.7))
    ]
    observations = Observations((), names)
    observations.cells += cells
    mean = observations.subject_means("mean")[0].curves
    scores = score_table(cells, names, norm_reference(load_norms("children_schwartz_2008")))[0]
    symmetry = symmetry_table(cells, (), (), [(n, name, "deg") for n, name in enumerate(names)])
    return {"mean": pd.DataFrame(mean), "scores": scores, "symmetry": symmetry}


def test_turning_an_axis_round_in_the_display_table_changes_no_statistic() -> None:
    before = _statistics()
    table = display_table()
    kept = dict(table)
    try:
        turned = {name: {"label": name, "positive": "-", "sign": -1, "mirrored": True} for name in variables()}
        table["variable"] = turned  # where version 0.1 looked
        after = _statistics()
    finally:
        table.clear()
        table.update(kept)
    for name, frame in before.items():
        pd.testing.assert_frame_equal(after[name], frame)
