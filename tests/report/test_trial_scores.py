"""Test the gait scores of a trial's page against values computed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from biodyn.output.report.sections.gait import scores_section
from biodyn.output.report.trial_page import TrialPage
from biodyn.trial.result import TrialResult
from biodyn.variables import score_reference


def test_scores_are_rms_distances_and_the_profile_their_rms(walk_result: TrialResult) -> None:
    shown = scores_section(TrialPage(walk_result.view, {}))
    assert shown is not None
    rows = {row[0]: row[1:] for row in shown["rows"]}
    curve = walk_result.view.curves["knee_angle"]["r"].mean
    reference = score_reference("auto", None)[0].curves["knee_angle"]
    assert float(rows["Knee flexion"][0]) == pytest.approx(np.sqrt(np.mean((curve - reference.mean) ** 2)), abs=0.06)
    assert reference.sd is not None
    assert float(rows["Knee flexion"][2]) == pytest.approx(np.sqrt(np.mean(reference.sd**2)), abs=0.06)
    nine = [float(cells[0]) for title, cells in rows.items() if not title.startswith("Gait profile")]
    assert len(nine) == 9
    assert float(rows["Gait profile score (GPS)"][0]) == pytest.approx(np.sqrt(np.mean(np.square(nine))), abs=0.1)
    both = nine + [float(cells[1]) for title, cells in rows.items() if title[:3] not in ("Pel", "Gai")]
    assert len(both) == 15
    assert shown["other_age"]  # the sample is an adult


def test_without_norms_there_are_no_scores(walk_result: TrialResult) -> None:
    record = walk_result.view.record
    settings = {**record["settings"], "report": {"norms": "none"}}
    view = replace(walk_result.view, record={**record, "settings": settings})
    assert scores_section(TrialPage(view, {})) is None
