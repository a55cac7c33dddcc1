"""A study made of the analysed walk of the shared laboratory."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.study_folder import StudyFolder, made_study_folder

from biodyn.trial.result import TrialResult


@pytest.fixture
def study_folder(walk_result: TrialResult, tmp_path: Path) -> StudyFolder:
    """Three subjects with five walks that were analysed, one that failed, one not run yet."""
    return made_study_folder(walk_result, tmp_path)
