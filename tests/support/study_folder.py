"""A small study as `running` leaves it: folders of done, failed and missing trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from biodyn.study.plan import PlannedTrial, StudyPlan


@dataclass(frozen=True)
class StudyFolder:
    """Plan and output folder; `done` trials have a result, `rows` are what they wrote, with labels, by (subject, trial)."""

    plan: StudyPlan
    out: Path
    done: tuple[PlannedTrial, ...]
    rows: Mapping[tuple[str, str], pd.DataFrame]
    metrics: Mapping[str, Any]
