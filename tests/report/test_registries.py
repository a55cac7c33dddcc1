"""A table and a section are one file each: written, read back, shown; two of one name are refused."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.added_files import added_file

import biodyn
from biodyn.errors import ResultError
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.output.tables import TABLES, available_tables, table
from biodyn.trial.result import TrialResult

pytestmark = pytest.mark.usefixtures("blank_figures")

TABLE = '''"""How high the feet are."""

import pandas as pd

from biodyn.output.tables.registry import table


@table("foot_clearance", place=75, description="Height of each heel and toe above the ground through time, m.")
def foot_clearance(analysis):
    points = {"heel": analysis.points.heel, "toe": analysis.points.toe}
    heights = {f"{point}_{side}_m": p_W[:, 1] for point, sides in points.items() for side, p_W in sides.items()}
    return pd.DataFrame({"time_s": analysis.time_s, **heights})
'''
SECTION = '''"""How high the feet are."""

from biodyn.output.report.trial_page import SECTIONS

TEMPLATE = """
<table>{% for name, height in lowest.items() %}<tr><td>{{ name }}</td><td>{{ "%.3f" % height }} m</td></tr>{% endfor %}</table>
{{ picture("residual", "The same figure again.") }}
"""


@SECTIONS.section("clearance", place=55, title="Foot <clearance>", link="Clearance", template=TEMPLATE)
def clearance(page):
    if "foot_clearance" not in page.tables:
        return None
    return {"lowest": page.tables["foot_clearance"].drop(columns="time_s").min().to_dict()}
'''


@pytest.fixture
def with_table(tmp_path: Path) -> Iterator[None]:
    with added_file(TABLES, tmp_path / "tables_more", "clearance_table", TABLE):
        yield


@pytest.fixture
def with_section(tmp_path: Path) -> Iterator[None]:
    with added_file(SECTIONS, tmp_path / "sections_more", "clearance_section", SECTION):
        yield


def test_a_file_more_is_a_table_more(walk_result: TrialResult, with_table: None, tmp_path: Path) -> None:
    """Made, written, listed in the record, read back, an attribute of both results."""
    fresh = TrialResult(walk_result.analysis)
    names = list(fresh.tables)
    assert names[names.index("marker_errors") + 1] == "foot_clearance"
    folder = fresh.save(tmp_path / "walk")
    paths = [entry["path"] for entry in json.loads((folder / "run.json").read_text(encoding="utf-8"))["files"]]
    assert "tables/foot_clearance.csv" in paths
    loaded = biodyn.load(folder)
    for result in (fresh, loaded):
        assert "foot_clearance" in dir(result)
        assert result.foot_clearance is result.tables["foot_clearance"] is result.table("foot_clearance")
    np.testing.assert_allclose(fresh.foot_clearance, loaded.foot_clearance, atol=6e-6)


def test_without_the_file_its_result_still_is_read(walk_result: TrialResult, tmp_path: Path) -> None:
    with added_file(TABLES, tmp_path / "more", "clearance_table", TABLE):
        folder = TrialResult(walk_result.analysis).save(tmp_path / "walk")
    assert "foot_clearance" not in TABLES
    assert "foot_clearance" in biodyn.load(folder).table_names


def test_a_file_more_is_a_section_more(
    walk_result: TrialResult, with_table: None, with_section: None, tmp_path: Path
) -> None:
    folder = TrialResult(walk_result.analysis).save(tmp_path / "walk")
    page = (folder / "report.html").read_text(encoding="utf-8")
    section = re.search(r'<section id="clearance">(.*?)</section>', page, re.S)
    assert section is not None
    for words in ("<h2>Foot &lt;clearance&gt;</h2>", "heel_r_m", "The same figure again.", "<svg "):
        assert words in section[1]
    order = re.findall(r'<section id="(\w+)"', page)
    assert order.index("ground") < order.index("clearance") < order.index("trial")
    assert re.search(r'<a href="#checks">Checks</a><a href="#clearance">Clearance</a><a href="#uncertainty">', page)


def test_a_section_without_data_is_not_shown(walk_result: TrialResult, with_section: None) -> None:
    names = [section.name for section in SECTIONS.fill(TrialPage(walk_result.view, {}))]
    assert "clearance" not in names
    assert names[:2] == ["quality", "scene"]


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tables are called 'events'"):
        table("events", place=1, description="Again.")(lambda analysis: analysis)
    with pytest.raises(ValueError, match="two sections are called 'gait'"):
        SECTIONS.section("gait", place=1, template="")(lambda page: {})


def test_what_is_not_there_is_named(walk_result: TrialResult) -> None:
    assert list(walk_result.tables) == list(available_tables(walk_result.analysis))
    with pytest.raises(AttributeError, match=r"no 'joint_angels'; its tables are joint_angles"):
        _ = walk_result.joint_angels
    with pytest.raises(ResultError, match="no table 'joint_angels'"):
        walk_result.table("joint_angels")
    with pytest.raises(KeyError):
        _ = walk_result.tables["joint_angels"]


def test_a_result_can_be_sent_to_another_process(walk_result: TrialResult) -> None:
    """Also after its tables were asked for: what makes them is a value."""
    fresh = TrialResult(walk_result.analysis)
    torques = fresh.joint_torques
    again = pickle.loads(pickle.dumps(fresh))
    assert list(again.tables) == list(fresh.tables)
    pd.testing.assert_frame_equal(again.joint_torques, torques)
    pd.testing.assert_frame_equal(again.gait_cycles, fresh.gait_cycles)


def test_the_manual_lists_tables_as_they_are() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", manual, re.M)
    assert [name for name, _, _ in listed] == [name for name in TABLES if name in {row[0] for row in listed}]
    for name, description, when in listed:
        assert (description, when) == (TABLES[name].description, TABLES[name].request or "always")
