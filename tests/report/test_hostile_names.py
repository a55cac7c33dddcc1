"""Names that are markup, formulas, very long or of other scripts: text in a MATLAB file and in the data of the 3-D view."""

from __future__ import annotations

import dataclasses
import io
import json
import re

import numpy as np
import pytest
import scipy.io

from biodyn.output.report.sections.curves import scene_section
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.trial.export.sheets import mat_file
from biodyn.trial.result import TrialResult

NAMES = [
    "</script><script>alert(1)</script>",
    "<!-- <img src=x onerror=alert(1)>",
    "=HYPERLINK(1)",
    "x'); system('rm');",
    "\u5f20\u4f1f \u05d0\u05d1",
    "\U0001f600",
    "y" * 500,
    "end",
]


@pytest.fixture(scope="module")
def hostile(walk_result: TrialResult) -> TrialPage:
    """The page of a walk whose first markers have these names."""
    view = walk_result.view
    labels = [str(label) for label in view.arrays["marker_labels"]]
    assert len(labels) > len(NAMES)
    arrays = {**view.arrays, "marker_labels": np.array([*NAMES, *labels[len(NAMES) :]])}
    return TrialPage(dataclasses.replace(view, arrays=arrays), {})


def test_the_scene_gives_them_back_as_they_are(hostile: TrialPage) -> None:
    found = scene_section(hostile)
    assert found is not None
    text = str(found["scene_json"])
    assert not re.search("[<>&]", text)  # nothing ends the element, nothing begins another
    assert json.loads(text)["persons"][0]["markers"]["labels"][: len(NAMES)] == NAMES


def test_the_page_of_the_scene_has_no_element_more(hostile: TrialPage, walk_result: TrialResult) -> None:
    (own,), (usual,) = (SECTIONS.fill(page, ("scene",)) for page in (hostile, TrialPage(walk_result.view, {})))
    for part in ("<script", "<img", "<!--", "</script"):
        assert str(own.body).count(part) == str(usual.body).count(part)


@pytest.mark.parametrize("name", [*NAMES, "gr\udcfcn"])
def test_a_matlab_file_holds_them_as_text(walk_result: TrialResult, name: str) -> None:
    view = walk_result.view
    record = {**view.record, "input": {**view.record["input"], "file": f"{name}.c3d"}}
    tables = {"contacts": view.tables["contacts"].head(2), "marker_errors": view.tables["marker_errors"].head(3)}
    if "\udcfc" not in name:  # labels are clean since they were read (io.text); the name of a file is the file system's
        tables["contacts"] = tables["contacts"].assign(reason=name)
        first = tables["marker_errors"].columns[1]
        tables["marker_errors"] = tables["marker_errors"].rename(columns={first: name})
    files, _ = mat_file(dataclasses.replace(view, record=record, tables=tables), "")
    ((_, data),) = files.items()
    found = scipy.io.loadmat(io.BytesIO(data), simplify_cells=True)
    shown = found["info"]["file"]
    assert shown == (f"{name}.c3d" if "\udcfc" not in name else r"gr\xfcn.c3d")
    if "\udcfc" not in name:
        assert found["contacts"]["reason"][0] == name
        column = found["marker_errors"]["columns"][1]
        assert column["name"] == name
        assert re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,62}", column["field"])
        assert column["field"] != "end"
        assert len(found["marker_errors"][column["field"]]) == 3
