"""Means for tables and figures: of curves over subjects, of parameters over cycles and subjects; a subject at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from biodyn.conventions import CYCLE_POINTS, SIDES, FloatArray, IntArray
from biodyn.output.tables.csv import with_original_texts
from biodyn.study.group.curves import MeanCurves, mean_and_sd, over_sessions
from biodyn.study.group.subject_cycles import SubjectCycles
from biodyn.variables import variable as shown

BOTH = "mean"
_CHUNK_ROWS = 400_000
_KEYS = ["subject", "session", "condition", "group", "side", "parameter"]
Cell = tuple[str, str]  # condition, group


@dataclass(frozen=True)
class Curve:
    """Mean and standard deviation between subjects (101,), as shown, and of how many subjects at each percent."""

    mean: FloatArray
    sd: FloatArray
    subjects: IntArray


@dataclass
class _Sum:
    """Running mean and sum of squares (V, 101) by Welford's method."""

    count: IntArray
    mean: FloatArray
    squares: FloatArray

    def add(self, values: FloatArray) -> None:
        known = np.isfinite(values)
        self.count = self.count + known
        step = np.where(known, values - self.mean, 0.0)
        self.mean = self.mean + step / np.maximum(self.count, 1)
        self.squares = self.squares + step * np.where(known, values - self.mean, 0.0)


@dataclass
class CurveMeans:
    """Mean curves over subjects by condition, group and side; a subject's sessions and sides count alike.

    Attributes: variables shown, in the order of the arrays.
    """

    variables: Sequence[str]
    units: dict[str, str] = field(default_factory=dict)
    _sums: dict[tuple[str, str, str], _Sum] = field(default_factory=dict)

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves]) -> None:
        """Take in one subject."""
        place = [data.variables.index(name) if name in data.variables else -1 for name in self.variables]
        seen = np.array(place) >= 0
        self.units.update({name: data.units[name] for name in self.variables if name in data.units})
        found: dict[Cell, list[FloatArray]] = {}
        for (condition, group, side), means in over_sessions(curves).items():
            own = np.full((len(self.variables), CYCLE_POINTS), np.nan)
            signs = np.array([shown(name).clinical(side) for name in self.variables])
            own[seen] = means[np.array(place)[seen]]
            own *= signs[:, None]
            self._sum(condition, group, side).add(own)
            found.setdefault((condition, group), []).append(own)
        for (condition, group), sides in found.items():
            self._sum(condition, group, BOTH).add(mean_and_sd(np.stack(sides))[0])

    def _sum(self, condition: str, group: str, side: str) -> _Sum:
        shape = (len(self.variables), CYCLE_POINTS)
        return self._sums.setdefault(
            (condition, group, side), _Sum(np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape))
        )

    @property
    def cells(self) -> list[Cell]:
        """Conditions and groups that have curves, in order of the data."""
        return list(dict.fromkeys((condition, group) for condition, group, _ in self._sums))

    def curve(self, cell: Cell, side: str, variable: str) -> Curve | None:
        """Mean over the subjects of a cell; None where none has the variable."""
        found = self._sums.get((*cell, side))
        if found is None:
            return None
        row = list(self.variables).index(variable)
        count = found.count[row]
        if not count.any():
            return None
        mean = np.where(count > 0, found.mean[row], np.nan)
        sd = np.where(count > 1, np.sqrt(found.squares[row] / np.maximum(count - 1, 1)), np.nan)
        return Curve(mean, sd, count)


def parameter_means(path: Path, cycles: pd.DataFrame, leave_out: bool) -> pd.DataFrame:
    """Mean, sd and number of cycles of every parameter by subject, session, condition, group and side.

    Reads parameters.csv in pieces. `leave_out`: cycles flagged as outliers in `cycles` (cycles.csv) do not count.
    """
    parts = []
    names = [*_KEYS, "trial", "cycle", "value"]
    dropped = set()
    if leave_out and len(cycles):
        odd = cycles[cycles["outlier"]]
        dropped = set(zip(odd["subject"], odd["trial"], odd["side"], odd["cycle"], strict=True))
    for piece in _pieces(path, names):
        rows = piece[piece["value"].notna()]
        if dropped:
            keys = zip(rows["subject"], rows["trial"], rows["side"], rows["cycle"], strict=True)
            rows = rows[[key not in dropped for key in keys]]
        rows = rows.assign(square=rows["value"] ** 2, count=1)
        parts.append(rows.groupby(_KEYS, sort=False, observed=True)[["value", "square", "count"]].sum().reset_index())
    if not parts:
        return pd.DataFrame(columns=[*_KEYS, "mean", "sd", "cycles"])
    joined = pd.concat(parts, ignore_index=True)
    for name in _KEYS:
        joined[name] = joined[name].astype(str)
    found = joined.groupby(_KEYS, sort=False)[["value", "square", "count"]].sum().reset_index()
    mean = found["value"] / found["count"]
    spread = np.maximum(found["square"] - found["count"] * mean**2, 0.0) / np.maximum(found["count"] - 1, 1)
    return found[_KEYS].assign(
        mean=mean, sd=np.where(found["count"] > 1, np.sqrt(spread), np.nan), cycles=found["count"]
    )


def _pieces(path: Path, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    if not path.is_file():
        return
    kinds = {name: "category" for name in columns if name not in ("value", "cycle")} | {"value": np.float64}
    missing = {"value": [""]}
    for piece in pd.read_csv(
        path, usecols=list(columns), dtype=kinds, keep_default_na=False, na_values=missing, chunksize=_CHUNK_ROWS
    ):
        yield with_original_texts(piece)


def over_subjects(means: pd.DataFrame) -> pd.DataFrame:
    """Mean, sd between subjects and number of subjects by condition, group, side ("r", "l", "mean") and parameter."""
    keys = ["subject", "condition", "group", "side", "parameter"]
    sessions = means.groupby(keys, sort=False)["mean"].mean().reset_index()
    both = sessions[sessions["side"].isin(SIDES)].groupby([k for k in keys if k != "side"], sort=False)["mean"].mean()
    joined = pd.concat([sessions, both.reset_index().assign(side=BOTH)], ignore_index=True)
    found = joined.groupby(keys[1:], sort=False)["mean"].agg(["mean", "std", "count"]).reset_index()
    return found.rename(columns={"std": "sd", "count": "subjects"})
