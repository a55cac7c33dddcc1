"""The figure of the pelvis residual shows the residual that the checks judge, against their own limit."""

from __future__ import annotations

import pytest

from biodyn.output.figures.trial.quality import residual_figure
from biodyn.trial.result import TrialResult


def test_the_figure_shows_what_the_checks_judge(walk_result: TrialResult) -> None:
    checks = {check["code"]: check for check in walk_result.record["checks"]}
    assert walk_result.analysis.estimate is not None
    figure = residual_figure(walk_result.view)
    assert figure is not None
    for panel, kind, unit in zip(figure.panels, ("force", "moment"), ("n", "nm"), strict=True):
        judged = checks[f"residual-{kind}"]
        assert panel.corner.startswith(f"RMS {judged['value']:.1f} N")
        assert walk_result.record["residual_limits"][f"{kind}_{unit}"] == pytest.approx(judged["limit"], rel=1e-12)
        left = walk_result.record["estimate"]["residual_left"][f"{kind}_rms_{unit}"]
        assert left < 0.5 * judged["value"]  # the estimate closes the balance: drawn alone it would hide what was there
    assert "after the estimate" in [key.words for key in figure.keys]
