"""Tables that a user may write have a strict schema, and errors name file, entry and key."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from biodyn.errors import TableError
from biodyn.library.entry_faults import require_valid_table
from biodyn.library.schema import SCHEMAS
from biodyn.library.study_parameters import ParameterDefinition
from biodyn.library.tables import ROLES, entry_names
from biodyn.library.toml_files import UserFile, read_user_toml

LIBRARY = Path(str(files("biodyn.library")))
TABLES = sorted(str(path.relative_to(LIBRARY).with_suffix("")) for path in LIBRARY.rglob("*.toml"))
FOLDERS = {
    "skeletons": "body/skeletons",
    "markersets": "body/markersets",
    "anthropometry": "body/anthropometry",
    "norms": "variables/norms",
}
OF_A_KIND = [(kind, f"{folder}/{name}") for kind, folder in FOLDERS.items() for name in entry_names(kind)]


def table(name: str) -> UserFile:
    return read_user_toml(LIBRARY / f"{name}.toml", "table")


@pytest.mark.parametrize(
    ("kind", "name"), [*OF_A_KIND, ("uncertainty", "uncertainty/magnitudes"), ("column_map", "formats/column_map")]
)
def test_library_tables_match_the_schema_of_user_tables(kind: str, name: str) -> None:
    require_valid_table(table(name), kind)


def test_schema_of_every_kind_is_strict() -> None:
    for kind in (*ROLES, "column_map"):
        assert SCHEMAS[kind].model_config["extra"] == "forbid", kind


@pytest.mark.parametrize("name", TABLES)
def test_placeholders_of_the_sides_are_known(name: str) -> None:
    """Every TOML file of the library can be read, and its sided names use {s}, {S} and {o} only."""
    if not name.startswith("body/"):
        table(name)
        return
    text = re.sub(r"^#.*$|#[^\"\n]*$", "", (LIBRARY / f"{name}.toml").read_text(encoding="utf-8"), flags=re.M)
    quoted = "".join(re.findall(r'"[^"\n]*"', text))
    assert set(re.findall(r"\{[^{}]*\}", quoted)) <= {"{s}", "{S}", "{o}"}
    assert table(name).content


def test_library_parameters_are_valid_in_a_study() -> None:
    entries = table("study/parameters").content
    assert list(entries) == ["parameter"]
    for entry in entries["parameter"]:
        ParameterDefinition.model_validate(entry)


@pytest.mark.parametrize(
    ("kind", "name", "change", "words"),
    [
        (
            "norms",
            "variables/norms/adults_fukuchi_2018",
            ("percent = [0, 4,", "percent = [0,"),
            ("one for each of 'percent'",),
        ),
        ("norms", "variables/norms/adults_fukuchi_2018", ("licence =", "license ="), ("Did you mean 'licence'",)),
        ("uncertainty", "uncertainty/magnitudes", ("sd_hz = ", "sd_hz = -"), ("'cutoff.sd_hz'", "from 0 to 20")),
        ("skeletons", "body/skeletons/full_body", ("sign = -1", "sign = -2"), ("'rotations.", "sign'", "-2")),
    ],
)
def test_an_error_names_file_entry_and_key(
    kind: str, name: str, change: tuple[str, str], words: tuple[str, ...], tmp_path: Path
) -> None:
    text = (LIBRARY / f"{name}.toml").read_text(encoding="utf-8")
    assert change[0] in text
    path = tmp_path / f"{Path(name).name}.toml"
    path.write_text(text.replace(*change, 1), encoding="utf-8")
    with pytest.raises(TableError) as error:
        require_valid_table(read_user_toml(path, "table"), kind)
    for word in (path.name, *words):
        assert word in f"{error.value.message} {error.value.hint}"
