"""Bands of the torques come on request: with and without them a result is whole, and its report can be made again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.sessions import Laboratory
from typer.testing import CliRunner

import biodyn
from biodyn.cli import app
from biodyn.errors import ResultError
from biodyn.output.store.result_reader import read_view
from biodyn.output.tables import TABLES
from biodyn.trial.result import TrialResult

BAND_TABLE, POWER_TABLE = "joint_torques_sd", "joint_powers_sd"


@pytest.fixture(scope="module", params=[False, True], ids=["without bands", "with bands"])
def banded(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def result(laboratory: Laboratory, banded: bool) -> TrialResult:
    settings = {"uncertainty": {"compute": banded}}
    return biodyn.run_trial(laboratory.walk, laboratory.static, settings=settings)


@pytest.fixture(scope="module")
def folder(result: TrialResult, blank_figures: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return result.save(tmp_path_factory.mktemp("bands") / "walk")


def _shown(page: Path) -> tuple[bool, bool]:
    """Does the page have the section of the bands, and does the caption of the torques speak of them?"""
    text = page.read_text(encoding="utf-8")
    return '<section id="uncertainty"' in text, "Shaded: one standard deviation of the input errors" in " ".join(
        text.split()
    )


def test_the_table_is_there_exactly_where_bands_were_computed(folder: Path, banded: bool) -> None:
    written = {path.stem for path in (folder / "tables").iterdir()}
    always = {name for name, table in TABLES.items() if table.needs is None} | {"ground_reaction_full_rate"}
    estimated = {"residuals", "estimate", "estimate_plates"}
    assert written == always | estimated | ({BAND_TABLE, POWER_TABLE} if banded else set())
    assert _shown(folder / "report.html") == (banded, banded)


def test_what_was_not_computed_is_not_made_up(result: TrialResult, banded: bool) -> None:
    if banded:
        total = result.joint_torques_sd.filter(regex="^hip_flexion_._Nm_sd$")
        known = np.isfinite(total.to_numpy())
        assert known.any()
        assert (total.to_numpy()[known] > 0.0).all()
        powers = result.joint_powers_sd.filter(regex="^(hip|knee|ankle)_._W_sd$").to_numpy()
        assert powers.shape[1] == 6
        assert (powers[np.isfinite(powers)] > 0.0).all()
    else:
        with pytest.raises(ResultError) as caught:
            _ = result.joint_torques_sd
        assert "compute = true" in caught.value.hint


@pytest.mark.slow
def test_a_saved_result_is_read_and_reported_again_alike(folder: Path, banded: bool) -> None:
    assert (BAND_TABLE in read_view(folder).tables) == banded
    before = (folder / "report.html").read_text(encoding="utf-8")
    (folder / "report.html").unlink()
    outcome = CliRunner().invoke(app, ["report", str(folder)])
    assert outcome.exit_code == 0, outcome.output
    assert _shown(folder / "report.html") == (banded, banded)
    assert len((folder / "report.html").read_text(encoding="utf-8")) == pytest.approx(len(before), rel=0.02)


@pytest.mark.slow
def test_a_table_of_empty_bands_is_no_band(folder: Path, banded: bool) -> None:
    """Results of earlier versions hold the table with empty columns."""
    if banded:
        pytest.skip("only of results without bands")
    torques = pd.read_csv(folder / "tables" / "joint_torques.csv")
    empty = pd.DataFrame({"time_s": torques["time_s"], "hip_flexion_r_Nm_sd": np.nan})
    path = folder / "tables" / f"{BAND_TABLE}.csv"
    empty.to_csv(path, index=False)
    try:
        assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
        assert _shown(folder / "report.html") == (False, False)
    finally:
        path.unlink()


def test_every_table_with_a_property_can_be_asked_for(result: TrialResult) -> None:
    with pytest.raises(ResultError) as caught:
        _ = result.sensitivity
    assert "--vary" in caught.value.hint
