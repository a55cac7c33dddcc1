"""Every table of the library has a schema, is held against it, and a fault is said with file, entry and key."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from pydantic import BaseModel

from biodyn.errors import TableError
from biodyn.library.load import UserFile, read_user_toml
from biodyn.library.schema import SCHEMAS, require_valid, schema_of
from biodyn.study.group.options import ParameterDefinition

LIBRARY = Path(str(files("biodyn.library")))
# Its entries are what a study.toml may hold too: their model stands with the study.
ELSEWHERE = {"study/parameters"}
TABLES = sorted(str(path.relative_to(LIBRARY).with_suffix("")) for path in LIBRARY.rglob("*.toml"))


def table(name: str) -> UserFile:
    return read_user_toml(LIBRARY / f"{name}.toml", "table")


@pytest.mark.parametrize("name", [name for name in TABLES if name not in ELSEWHERE])
def test_every_table_keeps_its_schema(name: str) -> None:
    assert schema_of(name) is not None, f"library/{name}.toml has no schema: register one in library/schema/"
    require_valid(table(name), name)


def test_parameters_of_the_library_could_be_a_study_s() -> None:
    entries = table("study/parameters").content
    assert list(entries) == ["parameter"]
    for entry in entries["parameter"]:
        ParameterDefinition.model_validate(entry)


def test_every_schema_has_a_table() -> None:
    kinds = {"hip_centres"}  # a row of a table, as a user's file has it
    assert {name for name in SCHEMAS if name not in kinds and not (LIBRARY / name).is_dir()} <= set(TABLES)


def test_schemas_are_strict() -> None:
    for name, schema in SCHEMAS.items():
        if "root" not in schema.model_fields:
            assert schema.model_config["extra"] == "forbid", name


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("variables/variables", ("positive =", "positiv ="), ("variables.toml", "positiv", "Did you mean 'positive'")),
        ("variables/norms/adults_fukuchi_2018", ("percent = [0, 4,", "percent = [0,"), ("as many as 'percent'",)),
        ("figures/display", ("[overview]", "[overviev]"), ("'overviev'", "Did you mean 'overview'")),
        ("gait/events", ("close_s = 0.02", 'close_s = "0.02"'), ("'close_s'", "a number", "'0.02'")),
        ("formats/c3d_names", ("range = [5.0, 300.0]", "range = [5.0]"), ("'subject.mass.range'", "at least 2")),
        ("formats/lab_outputs", ('kind = "angle"', 'kind = "angel"'), ("[[output]] 1", "'kind'", "'angel'")),
        ("study/summary_metrics", ('of = "max"', 'of = "most"'), ("[[peak]] 1 (hip_flexion_max)", "'of'")),
        ("checks/checks", ("share_sd = 0.12", "share_sd = -0.12"), ("'pressure_path.share_sd'", "above 0")),
        ("body/inside_body", ("share_of_height = 0.03", "share_of_height = 3"), ("[[centre]] 1", "share_of_height")),
    ],
)
def test_a_fault_is_said_with_its_place(
    name: str, change: tuple[str, str], words: tuple[str, ...], tmp_path: Path
) -> None:
    text = (LIBRARY / f"{name}.toml").read_text(encoding="utf-8")
    assert change[0] in text
    path = tmp_path / f"{Path(name).name}.toml"
    path.write_text(text.replace(*change, 1), encoding="utf-8")
    with pytest.raises(TableError) as error:
        require_valid(read_user_toml(path, "table"), name)
    for word in words:
        assert word in f"{error.value.message} {error.value.hint}"


def test_two_schemas_of_one_table_are_refused() -> None:
    name, schema = next(iter(SCHEMAS.items()))
    with pytest.raises(ValueError, match=f"two table schemas are called '{name}'"):
        SCHEMAS.register(name)(type("Other", (BaseModel,), {}))
    assert SCHEMAS[name] is schema
