"""The command line: exit codes, one clear sentence for what cannot be done, nothing half-written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from simulator.trc_writer import write_trc
from support.sessions import Laboratory, cut, hidden, renamed, shown, unloaded, without_parameter, without_plates
from typer.testing import CliRunner, Result

from biodyn.cli import app, main
from biodyn.cli.console_output import RunOptions, open_console, print_result
from biodyn.cli.options import parse_number
from biodyn.diagnostics import Diagnostic
from biodyn.io import read
from biodyn.output.tables import TABLES

FINE, CHECKS_FAILED, BAD_INPUT = 0, 1, 2
PROGRAM_ERROR = 70
QUICK = "[output]\nfigures = false\nreport = false\n[uncertainty]\ncompute = false\n"


def biodyn(*arguments: object) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def listing(folder: Path) -> set[str]:
    """Everything below a folder, hidden files included."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    """A settings file that leaves out figures, report and bands."""
    path = tmp_path / "quick.toml"
    path.write_text(QUICK, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def done(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The whole command, as in the README, on the simulated session."""
    out = tmp_path_factory.mktemp("results") / "first"
    return out, biodyn("run", laboratory.walk, "--out", out)


# -- what works ---------------------------------------------------------------------------------------------------


def test_run_writes_the_whole_result(done: tuple[Path, Result]) -> None:
    out, result = done
    assert result.exit_code == FINE, result.output
    assert {path.stem for path in (out / "tables").iterdir()} == {
        name
        for name, table in TABLES.items()
        if table.needs is None
        or "compute = true" in table.request
        or "motion and forces" in table.request
        or not table.when_packed
    }
    assert (out / "report.html").stat().st_size > 10_000
    assert list((out / "figures").glob("*.png"))
    assert (out / "result.npz").is_file()
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert record["verdict"] in ("pass", "warn")
    assert listing(out.parent) == {"first"} | {f"first/{entry}" for entry in listing(out)}  # no temporary folder stays


def test_run_says_what_it_took(done: tuple[Path, Result]) -> None:
    text = done[1].stdout
    for said in (
        "static.c3d",
        "74.0 kg",
        "stored in walk.c3d",
        "1.78 m",
        "Plug-in Gait full body",
        "3 right foot",
        "Result:",
    ):
        assert said in text
    assert done[1].stderr == ""


def test_report_is_made_again(done: tuple[Path, Result]) -> None:
    out, _ = done
    (out / "report.html").unlink()
    assert biodyn("report", out).exit_code == FINE
    assert (out / "report.html").stat().st_size > 10_000


def test_check_says_what_is_in_a_file(laboratory: Laboratory) -> None:
    result = biodyn("check", laboratory.walk)
    assert result.exit_code == FINE
    for said in ("297 frames at 100 Hz", "Plug-in Gait full body", "Plate 1: type 2", "74.0 kg"):
        assert said in result.stdout


def test_quiet_json_and_open(
    laboratory: Laboratory, quick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: not opened.append(address))
    out = tmp_path / "out"
    result = biodyn(
        "run", laboratory.walk, "--settings", quick, "--out", out, "--json", "--quiet", "--open", "--timings"
    )
    assert result.exit_code == FINE, result.output
    record = json.loads(result.stdout)
    assert record == json.loads((out / "run.json").read_text(encoding="utf-8"))
    said = [line for line in result.stderr.splitlines() if line and not line.startswith("Compiling")]
    assert said[0].startswith("Verdict:")
    assert said[1] == f"Result: {out}"
    assert said[2].startswith("There is no report to open")
    parts = {line[:36].strip(): float(line[36:].removesuffix("s")) for line in said[3:]}
    assert list(parts)[:3] == ["all", "analysis", "reading"]
    assert list(parts)[-3:] == ["writing", "tables", "libraries, kernels and others"]  # no figures, no report
    assert parts["all"] == pytest.approx(
        sum(s for name, s in parts.items() if name in record["timings_s"]) + parts["libraries, kernels and others"],
        abs=0.02,
    )
    assert opened == []


@pytest.mark.parametrize(("word", "kg"), [("76,5", 76.5), ("76.5", 76.5), ("76", 76.0)])
def test_numbers_may_have_a_decimal_comma(word: str, kg: float) -> None:
    assert parse_number(word) == kg


@pytest.mark.parametrize("word", ["seventy", "1,234.5", "7,6,5", ""])
def test_a_word_that_is_no_number_is_named(word: str, tmp_path: Path) -> None:
    refused = biodyn("run", tmp_path / "walk.c3d", "--mass", word)
    assert refused.exit_code == BAD_INPUT
    assert f"'{word}' is not a number" in refused.output


def test_models_lists_the_library() -> None:
    result = biodyn("models")
    assert result.exit_code == FINE
    for name in ("full_body", "plug_in_gait_lower", "de_leva_1996", "harrington_2007"):
        assert name in result.stdout


def test_help_loads_nothing_heavy() -> None:
    """Half a second for help: the modules that take longer must not be loaded. Timing itself is a benchmark."""
    code = (
        "import sys\nsys.argv = ['biodyn', '--help']\nfrom biodyn.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
        "print([m for m in ('numpy', 'numba', 'scipy', 'pandas', 'matplotlib', 'ezc3d', 'pydantic') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
    assert "run" in run.stdout


def test_failed_checks_end_with_one_and_a_result(laboratory: Laboratory, tmp_path: Path, quick: Path) -> None:
    """A mass that the plates contradict by more than 5 % is a failed check; the result is there all the same."""
    result = biodyn("run", laboratory.walk, "--mass", 100, "--settings", quick, "--out", tmp_path / "out")
    assert result.exit_code == CHECKS_FAILED, result.output
    assert json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))["verdict"] == "fail"


def first_line(result: Result) -> str:
    """The first line about the trial: what the very first run says of the kernels comes before it."""
    return next(line for line in result.stdout.splitlines() if not line.startswith("Compiling"))


def test_the_verdict_is_the_first_line(done: tuple[Path, Result]) -> None:
    out, result = done
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert first_line(result).startswith(f"Verdict: {record['verdict']}")
    assert record["verdict"] == "pass", record["verdict_checks"]
    assert record["verdict_checks"] == []


def test_a_trial_without_any_joint_moment_fails(session_copy: Laboratory, tmp_path: Path) -> None:
    """With 1 Hz accelerations are not known within half a second of a gap: of three short stretches nothing is left."""
    walk = session_copy.trials["walk"]
    for first in range(90, len(walk.markers), 150):
        walk = hidden(walk, first, first + 60)
    session_copy.copy(session_copy.folder, walk=walk)
    slow = tmp_path / "slow.toml"
    slow.write_text("[signals]\ncutoff_hz = 1.0\n" + QUICK, encoding="utf-8")
    result = biodyn("run", session_copy.walk, "--settings", slow, "--out", tmp_path / "out")
    assert result.exit_code == CHECKS_FAILED, result.output
    record = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert record["verdict"] == "fail"
    causes = {cause["code"]: cause for cause in record["verdict_checks"]}
    assert {"joint-moments", "solved"} <= set(causes)
    assert "cutoff_hz" in causes["solved"]["hint"]
    assert first_line(result).startswith("Verdict: fail")


def test_a_cutoff_that_no_motion_survives_is_refused(laboratory: Laboratory, tmp_path: Path) -> None:
    slow = tmp_path / "slow.toml"
    slow.write_text("[signals]\ncutoff_hz = 0.01\n", encoding="utf-8")
    refused(biodyn("run", laboratory.walk, "--settings", slow, "--out", tmp_path / "out"), "cutoff_hz", "0.01")
    assert not (tmp_path / "out").exists()


# -- bad input ----------------------------------------------------------------------------------------------------


def refused(result: Result, *said: str) -> None:
    """Exit code 2 and one sentence on standard error that says each of `said`."""
    assert result.exit_code == BAD_INPUT, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    (line,) = result.stderr.splitlines()
    assert line.startswith("biodyn: ")
    assert line.endswith(".")
    assert "Traceback" not in result.output
    for part in said:
        assert part in line, line


def _text(lab: Laboratory) -> None:
    lab.walk.write_text("time,LASI\n0,1\n", encoding="utf-8")


def _empty(lab: Laboratory) -> None:
    lab.walk.write_bytes(b"")


def _truncated(lab: Laboratory) -> None:
    data = lab.walk.read_bytes()
    lab.walk.write_bytes(data[: len(data) // 2])


def _garbled(lab: Laboratory) -> None:
    """The parameter section overwritten: a damaged file, not a short one."""
    data = bytearray(lab.walk.read_bytes())
    data[520:4096] = bytes((i * 37) % 251 for i in range(520, 4096))
    lab.walk.write_bytes(bytes(data))


def _unknown_markers(lab: Laboratory) -> None:
    """Labels that mean nothing, and too few markers for their places to tell it."""
    trials = {kind: shown(renamed(trial, "P{:02d}"), 11) for kind, trial in lab.trials.items()}
    lab.copy(lab.folder, **trials)


def _no_plates(lab: Laboratory) -> None:
    without_plates(lab.walk, lab.trials["walk"])


def _never_hit(lab: Laboratory) -> None:
    lab.copy(lab.folder, walk=unloaded(lab.trials["walk"]))


def _no_mass(lab: Laboratory) -> None:
    """One measured step in a file shorter than a stride, nobody on the plates while standing, no stored mass."""
    walk = lab.trials["walk"]
    start = next(e.time_s for e in walk.events if e.kind == "foot_strike" and e.time_s > 0.7)
    first = round((start - 0.1) * walk.options.rate_hz)
    lab.copy(lab.folder, static=unloaded(lab.trials["static"]), walk=cut(walk, first, first + 85))
    for path in (lab.static, lab.walk):
        without_parameter(path, "Bodymass")


BAD_FILES: dict[str, tuple[Callable[[Laboratory], None], tuple[str, ...]]] = {
    "not a C3D": (_text, ("walk.c3d", "not a C3D")),
    "empty": (_empty, ("walk.c3d", "empty")),
    "truncated": (_truncated, ("walk.c3d", "truncated", "Copy the original")),
    "garbled": (_garbled, ("walk.c3d",)),
    "unknown markers": (_unknown_markers, ("no known marker set", "P01", "marker_set")),
    "no plates": (_no_plates, ("walk.c3d", "no force plate")),
    "plates never hit": (_never_hit, ("walk.c3d", "ever loaded", "biodyn check")),
    "no mass": (_no_mass, ("mass", "--mass")),
}


@pytest.fixture
def session_copy(laboratory: Laboratory, tmp_path: Path) -> Laboratory:
    """The session in a place of its own, three folders deep: no other test's files count as being beside it."""
    return laboratory.copy(tmp_path / "lab" / "session" / "subject01")


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_gets_one_sentence_and_leaves_nothing(case: str, session_copy: Laboratory, tmp_path: Path) -> None:
    spoil, said = BAD_FILES[case]
    spoil(session_copy)
    before = listing(tmp_path)
    refused(biodyn("run", session_copy.walk, "--out", tmp_path / "results" / "walk"), *said)
    assert listing(tmp_path) == before


def test_no_such_file(tmp_path: Path) -> None:
    refused(biodyn("run", tmp_path / "nowhere.c3d", "--out", tmp_path / "out"), "nowhere.c3d", "does not exist")
    refused(biodyn("check", tmp_path / "nowhere.c3d"), "nowhere.c3d", "does not exist")
    assert listing(tmp_path) == set()


def test_a_folder_instead_of_a_file(laboratory: Laboratory, tmp_path: Path) -> None:
    refused(biodyn("run", laboratory.folder, "--out", tmp_path / "out"), "folder")


def test_no_such_static(laboratory: Laboratory, tmp_path: Path) -> None:
    result = biodyn("run", laboratory.walk, "--static", tmp_path / "gone.c3d", "--out", tmp_path / "out")
    refused(result, "gone.c3d", "does not exist")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--mass", "0", ("0 kg", "--mass")),
        ("--mass", "74000", ("74000 kg", "--mass")),
        ("--mass", "-74", ("-74 kg", "--mass")),
        ("--mass", "nan", ("--mass",)),
        ("--height", "178", ("178 m", "--height")),
        ("--height", "0", ("0 m", "--height")),
    ],
)
def test_impossible_subjects(
    laboratory: Laboratory, tmp_path: Path, option: str, value: str, said: tuple[str, ...]
) -> None:
    refused(biodyn("run", laboratory.walk, f"{option}={value}", "--out", tmp_path / "out"), *said)
    assert listing(tmp_path) == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[signals\ncutoff_hz = 6", ("not a valid TOML", "line 1")),
        ("[signals]\ncutof_hz = 6", ("signals.cutof_hz", "cutoff_hz", "filter_order")),
        ("[filter]\ncutoff_hz = 6", ("filter", "signals", "contacts")),
        ("[signals]\ncutoff_hz = -6", ("signals.cutoff_hz",)),
        ("[signals]\ncutoff_hz = 'six'", ("signals.cutoff_hz",)),
        ("[signals]\ncutoff_hz = 80", ("80", "50 Hz")),
        ("[signals]\ncutoff_hz = nan", ("signals.cutoff_hz",)),
        ("signals = 6", ("signals",)),
        ("[model]\nhip_centre = 'nobody_1900'", ("nobody_1900", "harrington_2007")),
        ("[model]\nanthropometry = 'nobody_1900'", ("nobody_1900", "de_leva_1996")),
        ("[model]\nmarker_set = 'mine'", ("mine", "plug_in_gait_lower")),
        ("[model]\nmarker_set = 'mine.toml'", ("mine.toml",)),
        ("[model]\nskeleton = 'snake'", ("snake", "full_body")),
        ("[inverse_kinematics.marker_weights]\nLASI = -1.0", ("marker_weights", "LASI")),
    ],
)
def test_bad_settings(laboratory: Laboratory, tmp_path: Path, text: str, said: tuple[str, ...]) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text + "\n", encoding="utf-8")
    refused(biodyn("run", laboratory.walk, "--settings", path, "--out", tmp_path / "out"), *said)
    assert listing(tmp_path) == {"settings.toml"}


@pytest.mark.slow
def test_a_weight_for_nobody_is_said(laboratory: Laboratory, tmp_path: Path, quick: Path) -> None:
    with quick.open("a", encoding="utf-8") as file:
        file.write("[inverse_kinematics.marker_weights]\nLASIX = 1.0\n")
    result = biodyn("run", laboratory.walk, "--settings", quick, "--out", tmp_path / "out")
    assert result.exit_code == FINE
    assert "not in the walk: LASIX" in result.stdout


def test_settings_that_are_not_there(laboratory: Laboratory, tmp_path: Path) -> None:
    refused(biodyn("run", laboratory.walk, "--settings", tmp_path / "s.toml", "--out", tmp_path / "out"), "s.toml")


# -- the result folder --------------------------------------------------------------------------------------------


def test_a_result_is_replaced_only_with_force(laboratory: Laboratory, tmp_path: Path, quick: Path) -> None:
    out = tmp_path / "out"
    run = ("run", laboratory.walk, "--settings", quick, "--out", out)
    assert biodyn(*run).exit_code == FINE
    (out / "note.txt").write_text("mine", encoding="utf-8")
    before = listing(tmp_path)
    refused(biodyn(*run), "already holds a result", "--force")
    assert listing(tmp_path) == before
    refused(biodyn(*run, "--force"), "biodyn did not write", "note.txt")
    assert listing(tmp_path) == before
    (out / "note.txt").unlink()
    assert biodyn(*run, "--force").exit_code == FINE
    assert listing(tmp_path) == before - {"out/note.txt"}


@pytest.mark.slow
def test_an_old_result_outlives_a_failed_run(session_copy: Laboratory, tmp_path: Path, quick: Path) -> None:
    out = tmp_path / "out"
    run = ("run", session_copy.walk, "--settings", quick, "--out", out, "--force")
    assert biodyn(*run).exit_code == FINE
    kept = (out / "run.json").read_bytes()
    _never_hit(session_copy)
    refused(biodyn(*run), "ever loaded")
    assert (out / "run.json").read_bytes() == kept


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_foreign_folder_is_never_replaced(laboratory: Laboratory, tmp_path: Path, force: tuple[str, ...]) -> None:
    out = tmp_path / "thesis"
    out.mkdir()
    (out / "chapter.txt").write_text("years of work", encoding="utf-8")
    refused(biodyn("run", laboratory.walk, "--out", out, *force), "thesis", "--out")
    assert listing(tmp_path) == {"thesis", "thesis/chapter.txt"}


def test_a_file_in_the_place_of_the_result(laboratory: Laboratory, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("a file", encoding="utf-8")
    refused(biodyn("run", laboratory.walk, "--out", out, "--force"), "file")
    refused(biodyn("run", laboratory.walk, "--out", out / "below"), "out")
    assert out.read_text(encoding="utf-8") == "a file"


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """A folder nobody may write into."""
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    yield folder
    folder.chmod(0o700)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_cannot_be_written(laboratory: Laboratory, locked: Path, quick: Path) -> None:
    refused(biodyn("run", laboratory.walk, "--settings", quick, "--out", locked / "out"), "cannot be written")


def test_report_of_something_else(laboratory: Laboratory, done: tuple[Path, Result], tmp_path: Path) -> None:
    refused(biodyn("report", tmp_path), "not a complete biodyn result")
    refused(biodyn("report", tmp_path / "nowhere"), "does not exist; the folder of a biodyn result is expected")
    refused(biodyn("report", laboratory.walk), "is a file; the folder of a biodyn result is expected")
    damaged = tmp_path / "damaged"
    shutil.copytree(done[0], damaged)
    (damaged / "run.json").write_text("{", encoding="utf-8")
    refused(biodyn("report", damaged), "run.json", "damaged")


# -- a fault of the program -----------------------------------------------------------------------------------------


def crash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, laboratory: Laboratory) -> int | str | None:
    """Run `biodyn check` as from a shell, with a bug in it; the exit code."""

    def bug(*_: object) -> None:
        raise KeyError("left_knee")

    monkeypatch.setattr("biodyn.trial.inspection.check_file", bug)
    monkeypatch.setattr(sys, "argv", ["biodyn", "check", str(laboratory.walk)])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code


def test_a_bug_is_told_in_one_sentence_with_a_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, laboratory: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert crash(monkeypatch, tmp_path, laboratory) == PROGRAM_ERROR
    (line,) = capsys.readouterr().err.splitlines()
    (report,) = tmp_path.glob("biodyn-error-*.txt")
    for said in ("biodyn: the program failed", "KeyError", "left_knee", str(report)):
        assert said in line
    text = report.read_text(encoding="utf-8")
    assert "Traceback" in text
    assert f"biodyn check {laboratory.walk}" in text
    assert "raise KeyError" in text


def test_the_traceback_is_shown_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, laboratory: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BIODYN_TRACEBACK", "1")
    assert crash(monkeypatch, tmp_path, laboratory) == PROGRAM_ERROR
    text = capsys.readouterr().err
    assert "Traceback" in text
    assert text.splitlines()[-1].startswith("biodyn: the program failed")


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], FINE), (["run"], BAD_INPUT), (["dance"], BAD_INPUT)])
def test_other_codes_are_as_before(monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int) -> None:
    monkeypatch.setattr(sys, "argv", ["biodyn", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == code


# -- doubt, not refusal -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_stretch_without_markers_is_left_out(session_copy: Laboratory, tmp_path: Path, quick: Path) -> None:
    """Half a second (more than any fill limit) without a single marker, in the middle of the first measured stance."""
    walk = session_copy.trials["walk"]
    first, last = 100, 155
    session_copy.copy(session_copy.folder, walk=hidden(walk, first, last))
    out = tmp_path / "out"
    result = biodyn("run", session_copy.walk, "--settings", quick, "--out", out)
    assert result.exit_code in (FINE, CHECKS_FAILED), result.output
    torques = pd.read_csv(out / "tables" / "joint_torques.csv")
    numbers = torques.drop(columns=["time_s", "reason"], errors="ignore")
    assert numbers.iloc[first:last].isna().all(axis=None)
    assert torques["reason"].iloc[first:last].str.len().gt(0).all()
    assert np.isfinite(numbers.to_numpy()).any()  # elsewhere the walk was solved
    angles = pd.read_csv(out / "tables" / "joint_angles.csv").drop(columns="time_s")
    assert angles.select_dtypes("number").iloc[first:last].isna().all(axis=None)
    assert "Gaps" in first_line(result)


def test_check_finds_what_is_wrong(session_copy: Laboratory) -> None:
    _unknown_markers(session_copy)
    result = biodyn("check", session_copy.walk)
    assert result.exit_code == CHECKS_FAILED
    assert "no known marker set" in result.stdout


@pytest.fixture
def walk_trc(session_copy: Laboratory) -> Path:
    """The walk's markers alone, beside the walk."""
    path = session_copy.folder / "walk.trc"
    write_trc(path, read(session_copy.walk).markers)
    return path


def test_check_says_why_a_set_with_more_of_its_markers_was_not_taken(tmp_path: Path) -> None:
    """Of the walk's markers alone the set with the knee alignment device has the larger share, and not what it needs."""
    walk = read(Path(__file__).parents[1] / "sample_data" / "subject01" / "walk01.c3d").markers
    lower = [f"{side}{name}" for side in "LR" for name in ("ASI", "PSI", "THI", "KNE", "TIB", "ANK", "HEE", "TOE")]
    columns = [walk.index(label) for label in lower]
    write_trc(tmp_path / "walk.trc", replace(walk, labels=tuple(lower), positions=walk.positions[:, columns]))
    said = next(line for line in biodyn("check", tmp_path / "walk.trc").stdout.splitlines() if "Marker set: " in line)
    assert said.startswith("Marker set: Plug-in Gait lower body (")
    assert "but lacks LKAX, RKAX" in said


def test_check_of_a_trc_file(walk_trc: Path) -> None:
    result = biodyn("check", walk_trc)
    assert result.exit_code == FINE, result.output
    assert "walk.trc: " in result.stdout
    assert "Marker set: " in result.stdout
    assert "Force plates: none" in result.stdout


@pytest.mark.parametrize("static", [None, "static.c3d", "static.trc"])
def test_run_of_a_trc_file_says_what_is_missing(walk_trc: Path, tmp_path: Path, static: str | None) -> None:
    if static == "static.trc":
        write_trc(walk_trc.with_name(static), read(walk_trc.with_name("static.c3d")).markers)
    options = [] if static is None else ["--static", walk_trc.with_name(static)]
    result = biodyn("run", walk_trc, *options, "--out", tmp_path / "out")
    refused(result, "'walk.trc' has no force plate", "joint torques require the ground reaction")


@pytest.mark.slow
def test_a_static_trial_beside_a_walk_may_be_of_another_format_where_it_is_named(
    session_copy: Laboratory, quick: Path, tmp_path: Path
) -> None:
    """Markers are all that is needed of it, but the mass."""
    static = tmp_path / "standing.trc"
    write_trc(static, read(session_copy.static).markers)
    options = ("--static", static, "--settings", quick, "--mass", 70.0, "--out", tmp_path / "out")
    result = biodyn("run", session_copy.walk, *options)
    assert result.exit_code in (FINE, CHECKS_FAILED), result.output
    record = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert record["static"]["path"].endswith("standing.trc")


def test_a_file_of_no_known_format(tmp_path: Path) -> None:
    (tmp_path / "walk.txt").write_text("hello", encoding="utf-8")
    for command in ("check", "run"):
        refused(biodyn(command, tmp_path / "walk.txt"), "walk.txt", "C3D (.c3d)")


def test_check_of_a_file_without_plates(session_copy: Laboratory) -> None:
    _no_plates(session_copy)
    result = biodyn("check", session_copy.walk)
    assert result.exit_code == FINE
    assert "Force plates: none" in result.stdout


# -- several walks in one call ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_several_walks_each_into_its_own_folder(laboratory: Laboratory, quick: Path, tmp_path: Path) -> None:
    other, broken, out = laboratory.walk.with_name("again.c3d"), tmp_path / "broken.c3d", tmp_path / "all"
    other.write_bytes(laboratory.walk.read_bytes())
    broken.write_bytes(b"no recording")
    try:
        walks = (laboratory.walk, broken, other)
        given = ("--static", laboratory.static, "--settings", quick, "--out", out, "--json")
        result = biodyn("run", *walks, *given)
        assert result.exit_code == BAD_INPUT, result.output
        first, refused, last = json.loads(result.stdout)
        assert (first["input"]["file"], last["input"]["file"]) == (laboratory.walk.name, "again.c3d")
        assert first["verdict"] == last["verdict"] == "pass"
        assert refused["input"] == {"file": "broken.c3d"}
        assert "broken.c3d" in refused["error"]
        told = [line for line in result.stderr.splitlines() if line]
        assert [line.split(":")[0] for line in told] == ["1 of 3, walk.c3d", "biodyn", "3 of 3, again.c3d"], told
        assert {path.name for path in out.iterdir()} == {laboratory.walk.stem, "again"}
        # what is taken is said before any work is done, and so are two walks of one name
        namesake = tmp_path / "elsewhere" / laboratory.walk.name
        for more, said in (
            (walks, "already holds a result"),
            ((laboratory.walk, laboratory.walk, "--force"), "into the same folder"),
            ((laboratory.walk, namesake, "--force"), "into the same folder"),
        ):
            before = listing(out)
            result = biodyn("run", *more, *given)
            assert result.exit_code == BAD_INPUT
            assert len(result.stderr.splitlines()) == 1
            assert said in result.stderr
            assert listing(out) == before
        result = biodyn("run", laboratory.walk, other, "--out", out / "again")
        assert result.exit_code == BAD_INPUT
        assert "is a result" in result.stderr
    finally:
        other.unlink()


def test_one_line_of_several_walks_and_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda place: not opened.append(place))
    (tmp_path / "report.html").touch()
    display = RunOptions(open_page=True, heading="2 of 3, walk.c3d")
    print_result(open_console(), [("Verdict: pass.", "pass"), ("more", None)], (), tmp_path, display)
    assert capsys.readouterr().out == f"2 of 3, walk.c3d: Verdict: pass. Result: {tmp_path}\n"
    assert opened == [(tmp_path / "report.html").as_uri()]


# -- completion by the shell --------------------------------------------------------------------------------------


def completed(words: str) -> list[str]:
    """What the shell offers for the last of these words."""
    asked = {"_BIODYN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    return CliRunner().invoke(app, [], prog_name="biodyn", env=asked).stdout.split()


def test_the_shell_completes_commands_and_options() -> None:
    assert completed("biodyn ru") == ["run"]
    assert "--static-frames" in completed("biodyn run --sta")


def test_completion_is_installed_for_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    monkeypatch.setattr(sys, "argv", ["cli", "--install-completion"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == FINE
    script = (tmp_path / ".bash_completions" / "biodyn.sh").read_text(encoding="utf-8")
    assert "_BIODYN_COMPLETE=complete_bash" in script
    assert script.rstrip().endswith(" biodyn")
    assert "biodyn.sh" in (tmp_path / ".bashrc").read_text(encoding="utf-8")


def test_the_summary_of_a_clean_walk_has_at_most_15_short_lines(done: tuple[Path, Result]) -> None:
    out, result = done
    lines = [line for line in result.stdout.splitlines() if line and not line.startswith("Compiling")]
    assert len(lines) <= 15
    assert all(len(line) <= 100 for line in lines if str(out) not in line)
    assert any(line.startswith("Walking speed") for line in lines)


def test_equal_findings_are_merged_with_their_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings = [Diagnostic("marker-gap", "info", f"M{n}: 1 gap.") for n in range(3)]
    for verbose, printed in (
        (False, ["info: M0: 1 gap. (and 2 similar)"]),
        (True, [f"info: M{n}: 1 gap." for n in range(3)]),
    ):
        print_result(open_console(), [("Verdict: pass.", "pass")], findings, tmp_path, RunOptions(verbose=verbose))
        assert capsys.readouterr().out.splitlines()[1:-1] == printed
