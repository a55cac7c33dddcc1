"""Every kind of recording through every command: the table of docs/formats.md."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.doors import METADATA, doors
from support.sessions import Laboratory
from typer.testing import CliRunner

from biodyn.cli import app
from biodyn.study.running.task import LOCK_NAME, Task, program_version
from biodyn.study.running.trial_analysis import RecordingCache, perform_task
from biodyn.study.study import Study, open_session
from biodyn.trial.export import export
from biodyn.trial.result import TrialResult

pytestmark = pytest.mark.slow
NAMES = (
    *("C3D", "TRC and MOT", "OpenCap", "CSV", "Parquet", "poses in CSV"),
    *("coordinates .mot", "coordinates .sto", "coordinates in CSV"),
)
QUICK = ("uncertainty.compute=false", "output.figures=false", "output.report=false")
#: Beside the walk nothing is a trial.
ROLES = {"walk", "static", "other"}


@pytest.fixture(scope="module")
def first(walk_result: TrialResult, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The walk's own result, and what OpenSim gets of it."""
    folder = tmp_path_factory.mktemp("first")
    walk_result.save(folder / "result")
    return {"result": folder / "result", "exported": export(folder / "result", "opensim", folder / "exported").folder}


def _passed(*words: object) -> str:
    found = CliRunner().invoke(app, [str(word) for word in words])
    # 1: checks of the data failed; the coordinates of the simulated walk have steps that no plate measured
    assert found.exit_code in (0, 1), found.output
    assert found.exit_code == 0 or words[0] == "run"
    return found.output


@pytest.mark.parametrize("name", NAMES)
def test_every_command_takes_it(
    name: str, first: Mapping[str, Path], walk_result: TrialResult, laboratory: Laboratory, tmp_path: Path
) -> None:
    person = tmp_path / "study" / "P07"
    person.mkdir(parents=True)
    (person / "sessionMetadata.yaml").write_text(METADATA)
    walk = doors(laboratory, walk_result.analysis, first["exported"])[name](person)
    model, result = person / "model.osim", tmp_path / "result"
    on_model = model.exists()

    assert _passed("check", walk).startswith(walk.name)
    _passed("run", walk, *(("--model", model) if on_model else ()), *_sets(QUICK), "--out", result)
    record = json.loads((result / "run.json").read_text())
    assert record["checks"]
    other = result if on_model else first["result"]
    assert "difference in" in _passed("compare", other, result)
    _passed("export", result, "--to", "opensim", "--out", tmp_path / "osim")

    entries = [*QUICK, f"model.osim={json.dumps(str(model))}"] if on_model else QUICK
    session, study = (opened(person.parent, entries=entries) for opened in (open_session, Study.open))
    assert {file.role for file in session.plan.files} <= ROLES
    assert [trial.path for trial in session.plan.trials] == [trial.path for trial in study.plan.trials]
    (trial,) = study.plan.trials
    assert (study.plan.root / trial.path).samefile(walk)
    assert trial.subject == "P07"
    out = tmp_path / "out"
    out.mkdir()
    (out / LOCK_NAME).touch()
    done = perform_task(Task(trial, study.plan.root, out, program_version()), RecordingCache(), lambda key: None)
    assert not done.failed, done.reason


def _sets(entries: tuple[str, ...]) -> list[str]:
    return [word for entry in entries for word in ("--set", entry)]
