"""The output folder of a study as tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biodyn.errors import StudyError
from biodyn.study.record import FAILED
from biodyn.study.study_record import STUDY_RECORD_NAME

if TYPE_CHECKING:
    import pandas as pd

_LABELS = ("subject", "session", "condition", "group", "site", "trial", "reason", "hint", "error", "excluded")


@dataclass(frozen=True)
class StudyResult:
    """The output folder of a study: tables as pandas, read when first asked for."""

    folder: Path

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """The values of study.json; StudyError where the folder holds no finished study."""
        try:
            content: Mapping[str, Any] = json.loads((self.folder / STUDY_RECORD_NAME).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise StudyError(
                f"'{self.folder}' holds no finished study.", "Run 'biodyn study FOLDER --out DIR' to its end."
            ) from error
        return content

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row per trial: status, reason, summary metrics."""
        return self._csv(self.folder / "summary.csv")

    @property
    def failed(self) -> pd.DataFrame:
        """The rows of `summary` of trials without a result."""
        return self.summary[self.summary["status"] == FAILED]

    @property
    def group_tables(self) -> tuple[str, ...]:
        """Names of the group results there are, for `group_table`."""
        return tuple(sorted(path.stem for path in (self.folder / "group").glob("*.csv")))

    def group_table(self, name: str) -> pd.DataFrame:
        """Return a table of group/ by name; StudyError names those there are."""
        if name not in self.group_tables:
            raise StudyError(f"There is no group table '{name}'.", f"There are {', '.join(self.group_tables)}.")
        return self._csv(self.folder / "group" / f"{name}.csv")

    def cycles(self, **wanted: str | Sequence[str]) -> pd.DataFrame:
        """Return rows of study.parquet, e.g. `cycles(variable="knee_angle", subject=["S01", "S02"])`."""
        from biodyn.study.collecting.read import read_cycles

        return read_cycles(self.folder, **wanted)

    def trial_folder(self, subject: str, trial: str) -> Path:
        """Return the result folder of a trial, for `biodyn report` and `biodyn replay`."""
        folder = self.folder / "trials" / subject / trial
        if not folder.is_dir():
            raise StudyError(f"There is no trial '{trial}' of subject '{subject}'.", "See `summary`.")
        return folder

    @staticmethod
    def _csv(path: Path) -> pd.DataFrame:
        from biodyn.output.tables.csv import read_csv

        # A subject called 007 is no number, and a trial without a session has the session "".
        frame = read_csv(path, dtype=dict.fromkeys(_LABELS, str))
        labels = [name for name in _LABELS if name in frame]
        frame[labels] = frame[labels].fillna("")
        return frame
