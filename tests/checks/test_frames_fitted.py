"""What is said of frames that cannot be used: a hint that, followed, helps and costs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.sessions import Laboratory, cut

from biodyn.analysis import TrialAnalysis
from biodyn.diagnostics import Check
from biodyn.trial.run import analyse_trial

FRAMES = 12  # 0.12 s: less than a period of the usual cut-off


def short(laboratory: Laboratory, folder: Path, **signals: Any) -> tuple[TrialAnalysis, Check]:
    """A piece of the walk that is over before its motion has left the ends, and what is said of it."""
    trials: Mapping[str, Any] = {**laboratory.trials, "walk": cut(laboratory.trials["walk"], 100, 100 + FRAMES)}
    piece = Laboratory(Path(), trials).copy(folder / "subject01")
    settings = {"signals": signals, "uncertainty": {"compute": False}}
    analysis = analyse_trial(piece.walk, piece.static, settings=settings)
    assert analysis.verdict is not None
    return analysis, next(check for check in analysis.verdict.checks if check.code == "solved")


@pytest.mark.slow
def test_a_hint_for_frames_too_near_to_the_ends_keeps_the_estimate(laboratory: Laboratory, tmp_path: Path) -> None:
    analysis, check = short(laboratory, tmp_path / "first")
    assert check.status == "fail"
    assert analysis.method.is_estimate
    assert "raise signals.cutoff_hz (6 Hz)" in check.hint
    assert 'signals.method = "estimate"' in check.hint
    followed, after = short(laboratory, tmp_path / "followed", cutoff_hz=20.0, method="estimate")
    assert followed.method.is_estimate
    assert followed.fit.reliable.any()
    assert after.status != "fail"
    bare, _ = short(laboratory, tmp_path / "bare", cutoff_hz=20.0)
    assert not bare.method.is_estimate  # which is why the hint names the method


@pytest.mark.slow
@pytest.mark.parametrize("method", ["estimate", "butterworth"])
def test_where_a_method_is_named_the_hint_names_the_cut_off_alone(
    laboratory: Laboratory, tmp_path: Path, method: str
) -> None:
    _, check = short(laboratory, tmp_path, method=method)
    assert check.hint.endswith("Record a longer trial, or raise signals.cutoff_hz (6 Hz).")
