"""Tables of a user's own through the whole command line: refused kindly, found beside their file, kept with the result."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest
from support import benchmark
from support.sessions import Laboratory
from typer.testing import CliRunner, Result

from biodyn.cli import app
from biodyn.errors import InputFileError
from biodyn.library.toml_files import UserFile
from biodyn.model.from_library.user_tables import landmark_catalogue
from biodyn.output.store.record import copy_names, require_unchanged

pytestmark = pytest.mark.usefixtures("blank_figures")
ROOT = Path(__file__).parents[1]
FINE, BAD_INPUT = 0, 2
QUICK = "[output]\nfigures = false\nreport = false\n[uncertainty]\ncompute = false\n"
NEW_NAMES = {"LASI": "Left_Belt", "RASI": "Right_Belt", "RKNE": "Knee (R)", "LKNE": "Knee (L)", "C7": "Neck"}


def biodyn(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "300"})


def refused(result: Result, *said: str) -> None:
    """One sentence on standard error, exit code 2."""
    assert result.exit_code == BAD_INPUT, result.output
    assert result.stderr.startswith("biodyn: ")
    assert result.stderr.count("\n") == 1
    assert [word for word in said if word not in result.stderr] == [], result.stderr


def table(name: str) -> str:
    return (files("biodyn.library") / f"{name}.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def own(
    laboratory: Laboratory, blank_figures: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, Result]:
    """A result made with settings and tables in a folder of their own; (folder of the tables, result folder, outcome)."""
    place = tmp_path_factory.mktemp("own")
    (place / "tables").mkdir()
    masses = table("body/anthropometry/de_leva_1996").replace("mass = 0.1416", "mass = 0.1316")
    (place / "tables" / "masses.toml").write_text(masses, encoding="utf-8")
    (place / "tables" / "markers.toml").write_text('extends = "../parent.toml"\n', encoding="utf-8")
    (place / "parent.toml").write_text('title = "Parent"\nextends = "plug_in_gait_full"\n', encoding="utf-8")
    (place / "settings.toml").write_text(
        '[model]\nanthropometry = "tables/masses.toml"\nmarker_set = "tables/markers.toml"\n[uncertainty]\ncompute = false\n'
        "[output]\nfigures = false\n",
        encoding="utf-8",
    )
    out = place / "out"
    return place, out, biodyn("run", laboratory.walk, "--settings", place / "settings.toml", "--out", out)


def test_every_file_is_kept_with_its_hash(own: tuple[Path, Path, Result]) -> None:
    place, out, result = own
    assert result.exit_code == FINE, result.output
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    kept = {entry["copy"]: entry for entry in record["user_files"]}
    assert {name: entry["role"] for name, entry in kept.items()} == {
        "inputs/settings.toml": "settings file",
        "inputs/markers.toml": "marker set",
        "inputs/parent.toml": "marker set",
        "inputs/masses.toml": "anthropometric table",
    }
    for name, entry in kept.items():
        data = (out / name).read_bytes()
        assert entry["sha256"] == hashlib.sha256(data).hexdigest()
        assert Path(entry["path"]).resolve().read_bytes() == data
        assert Path(entry["path"]).is_relative_to(place)


def test_the_file_is_cited_and_not_the_table_it_was_copied_from(own: tuple[Path, Path, Result]) -> None:
    _, out, _ = own
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    cited = record["model"]["citations"]["anthropometry"]
    assert cited["citation"].startswith("Own table masses.toml (sha256 ")
    assert "source according to the table: de Leva" in cited["citation"]
    assert "masses.toml" in cited["title"]
    assert record["model"]["citations"]["hip_centre"]["citation"].startswith("Harrington")
    assert "markers.toml" in record["marker_set"]["title"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Own table masses.toml" in page
    assert "Parent as in markers.toml" in page


@pytest.mark.slow
def test_a_result_says_when_its_files_are_not_what_they_were(own: tuple[Path, Path, Result]) -> None:
    place, out, _ = own
    assert "was changed" not in biodyn("report", out).output
    masses = place / "tables" / "masses.toml"
    before = masses.read_bytes()
    masses.write_bytes(before + b"# new\n")
    (place / "parent.toml").rename(place / "gone")
    try:
        said = biodyn("report", out).output
        assert "masses.toml' was changed since" in said
        assert "inputs/masses.toml" in said
        assert "parent.toml' no longer exists" in said
        assert "masses.toml' was changed since" in biodyn("replay", out).output
    finally:
        masses.write_bytes(before)
        (place / "gone").rename(place / "parent.toml")
    assert "was changed" not in biodyn("report", out).output


def test_copies_have_names_of_their_own() -> None:
    same = [UserFile("a", Path(f"/{i}/own.toml"), b"x", {}) for i in range(3)]
    odd = [
        UserFile("a", Path(f"/x/{name}"), b"x", {}) for name in ("..toml", "a b\udcff/../c.toml", "OWN.toml", "x" * 300)
    ]
    names = copy_names([*same, *odd])
    assert len({name.casefold() for name in names}) == 7
    for name in names:
        assert "/" not in name
        assert len(name) < 100
        assert not name.startswith(".")
        name.encode("utf-8")


def test_a_table_must_not_change_while_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(b"a = 1")
    file = UserFile("marker set", path, b"a = 1", {"a": 1})
    require_unchanged([file])
    path.write_bytes(b"a = 2")
    with pytest.raises(InputFileError, match="changed while it was used"):
        require_unchanged([file])


# -- what is wrong is said before anything runs --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "text", "said"),
    [
        (
            "model.marker_set",
            table("body/markersets/plug_in_gait_full").replace("body =", "bdy =", 1),
            ("own.toml", "[[marker]] 1", "'body'"),
        ),
        (
            "model.marker_set",
            table("body/markersets/plug_in_gait_full").replace('"c7"', '"c77"', 1),
            ("own.toml", "[[marker]] 3 (C7)", "'c7'"),
        ),
        (
            "model.anthropometry",
            table("body/anthropometry/winter_2009").replace("[[segment]]", "[[segmen]]"),
            ("own.toml", "'segment'"),
        ),
        (
            "model.anthropometry",
            table("body/anthropometry/winter_2009").replace("mass = 0.1,", "mass = -0.1,"),
            ("(thigh)", "male.mass", "-0.1"),
        ),
        (
            "model.skeleton",
            table("body/skeletons/full_body").replace("origin =", "orign ="),
            ("own.toml", "[[body]] 1", "'origin'"),
        ),
        ("model.hip_centre", "x = 3\n", ("own.toml", "'x'", "a table")),
        ("uncertainty.magnitudes", "[marker_noise]\nsd_mm = 1.0\n", ("own.toml", "missing")),
    ],
)
@pytest.mark.parametrize("command", ["run", "check", "study"])
def test_a_typo_is_one_sentence(
    command: str, entry: str, text: str, said: tuple[str, ...], laboratory: Laboratory, tmp_path: Path
) -> None:
    (tmp_path / "own.toml").write_text(text, encoding="utf-8")
    settings = tmp_path / "settings.toml"
    if command == "study":
        settings.write_text(f'root = "{laboratory.folder.parent}"\nsettings.{entry} = "own.toml"\n', encoding="utf-8")
        refused(biodyn("study", settings, "--out", tmp_path / "out"), *said)
    else:
        settings.write_text(f'{entry} = "own.toml"\n', encoding="utf-8")
        out = ("--out", tmp_path / "out") if command == "run" else ()
        refused(biodyn(command, laboratory.walk, "--settings", settings, *out), *said)
    assert not (tmp_path / "out").exists()


# -- renamed labels ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def renamed_session(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """The session as a laboratory records it that calls some markers otherwise."""
    trials = {
        kind: replace(trial, labels=tuple(NEW_NAMES.get(label, label) for label in trial.labels))
        for kind, trial in laboratory.trials.items()
    }
    return laboratory.copy(tmp_path_factory.mktemp("renamed") / "subject01", **trials)


@pytest.mark.slow
def test_renamed_labels_give_the_same_torques(
    laboratory: Laboratory, renamed_session: Laboratory, tmp_path: Path
) -> None:
    rename = "\n".join(f'"{new}" = "{label}"' for label, new in NEW_NAMES.items())
    (tmp_path / "mine.toml").write_text(f'extends = "plug_in_gait_full"\n[rename]\n{rename}\n', encoding="utf-8")
    (tmp_path / "quick.toml").write_text(QUICK, encoding="utf-8")
    (tmp_path / "settings.toml").write_text(f'{QUICK}[model]\nmarker_set = "mine.toml"\n', encoding="utf-8")
    (tmp_path / "labels.toml").write_text(f"{QUICK}[model]\ngeometry = false\n", encoding="utf-8")
    refused(
        biodyn("run", renamed_session.walk, "--settings", tmp_path / "labels.toml", "--out", tmp_path / "none"),
        "also needs",
    )
    for session, settings in ((laboratory, "quick"), (renamed_session, "settings")):
        result = biodyn(
            "run", session.walk, "--settings", tmp_path / f"{settings}.toml", "--out", tmp_path / f"of_{settings}"
        )
        assert result.exit_code == FINE, result.output
    for name in ("joint_torques", "joint_angles", "joint_moments"):
        tables = [pd.read_csv(tmp_path / f"of_{kind}" / "tables" / f"{name}.csv") for kind in ("quick", "settings")]
        pd.testing.assert_frame_equal(*tables, check_exact=True)


def test_check_tries_a_marker_set(renamed_session: Laboratory, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('extends = "plug_in_gait_full"\n[rename]\n"Left_Belt" = "LASI"\n', encoding="utf-8")
    settings = tmp_path / "settings.toml"
    settings.write_text('[model]\nmarker_set = "mine.toml"\n', encoding="utf-8")
    for option in (("--marker-set", own), ("--settings", settings)):
        said = biodyn("check", renamed_session.walk, *option)
        assert said.exit_code == 1  # RASI is not there under this name
        assert "also needs RASI" in said.output
        assert "Left_Belt (asis_l)" in said.output
        assert "Not found of 'mine': RASI" in said.output
    refused(biodyn("check", renamed_session.walk, "--marker-set", "plug_in_gait_ful"), "plug_in_gait_full")


def test_check_begins_a_marker_set(renamed_session: Laboratory, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    result = biodyn("check", renamed_session.walk, "--write-marker-set", own)
    assert result.exit_code == FINE, result.output
    text = own.read_text(encoding="utf-8")
    assert 'extends = "plug_in_gait_full"' in text
    for label in NEW_NAMES.values():
        # to be renamed, or understood by its words
        assert f'# "{label}" = ' in text or f"#   {label}" in text
    before = own.read_bytes()
    refused(biodyn("check", renamed_session.walk, "--write-marker-set", own), "already exists")
    assert own.read_bytes() == before
    assert biodyn("check", renamed_session.walk, "--marker-set", own).exit_code == 1  # loads, and lacks what is renamed
    refused(biodyn("check", renamed_session.walk, "--write-marker-set", tmp_path / "mine.txt"), ".toml")
    both = ("--write-marker-set", tmp_path / "new.toml", "--marker-set", own)
    refused(biodyn("check", renamed_session.walk, *both), "--marker-set")
    refused(
        biodyn("check", renamed_session.walk, "--write-marker-set", tmp_path / "no" / "mine.toml"), "cannot be written"
    )


# -- what a table may name ----------------------------------------------------------------------------------------


def test_models_list_landmarks_and_segments() -> None:
    result = biodyn("models", "--landmarks")
    assert result.exit_code == FINE
    for word in ("knee_medial_{s}", "hip_centre_{s}", "asis_mid", "femur_{s}", "RASI"):
        assert word in result.output


def test_the_landmarks_page_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("landmarks_table", ROOT / "docs" / "landmarks_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "docs" / "landmarks.md").read_text(encoding="utf-8")
    assert text == module.page(), "run: python docs/landmarks_table.py"
    assert all(name in text for _, rows in landmark_catalogue() for name, _ in rows)


# -- mutated tables -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_mutated_tables_are_refused_or_read(tmp_path: Path) -> None:
    """A small part of the corpus of benchmarks/mutated_tables.py, without whole analyses."""
    module = benchmark.load("mutated_tables")
    walk = module.recordings(tmp_path / "session")
    faults = []
    for kind, mutation, data in module.corpus(60, seed=11):
        code, said = module.outcome(kind, data, walk, tmp_path, whole=False)
        if code not in (0, 1, 2) or (mutation == "unchanged" and code == BAD_INPUT):
            faults.append((kind.name, mutation, code, said))
    assert faults == []
