"""All cycles of one subject as arrays: what every part of the group analysis works on, a subject at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from biodyn.conventions import CYCLE_POINTS, BoolArray, FloatArray, IntArray
from biodyn.errors import ResultError
from biodyn.statistics.gait_measures import typicality
from biodyn.study.group.options import group_table

PERCENT: FloatArray = np.linspace(0.0, 100.0, CYCLE_POINTS)
PERCENT.setflags(write=False)
CYCLE_KEYS = ["subject", "session", "condition", "group", "trial", "cycle", "side"]
#: Columns of the data set that the cycles are made of.
CYCLE_VALUES = [*CYCLE_KEYS, "percent", "variable", "value", "unit"]
CELL_KEYS = ["session", "condition", "group", "side"]
STANCE = "stance_percent"
STRIDE_TIME = "stride_time_s"

Strides = Mapping[tuple[str, str, int], Mapping[str, float]]  # (trial, side, cycle) -> parameters of the stride


@dataclass(frozen=True)
class SubjectCycles:
    """The cycles of one subject.

    Attributes:
        subject: whose.
        cycles: (N rows) `CYCLE_KEYS` and the parameters of each stride (columns of spatiotemporal.csv).
        variables: (V) names without side. units: by variable.
        values: (N, V, 101) over 0-100 % of the cycle, NaN where missing.
    """

    subject: str
    cycles: pd.DataFrame
    variables: tuple[str, ...]
    units: Mapping[str, str]
    values: FloatArray

    @property
    def stride_columns(self) -> tuple[str, ...]:
        """Parameters of the strides that the data hold."""
        return tuple(name for name in self.cycles.columns if name not in CYCLE_KEYS)

    def with_strides(self, strides: Strides) -> SubjectCycles:
        """The same cycles with the parameters of their strides, NaN where not given."""
        keys = zip(self.cycles["trial"], self.cycles["side"], self.cycles["cycle"], strict=True)
        found = [strides.get((trial, side, int(cycle)), {}) for trial, side, cycle in keys]
        names = dict.fromkeys(name for one in found for name in one)
        columns = {name: np.array([one.get(name, np.nan) for one in found], dtype=np.float64) for name in names}
        return replace(self, cycles=self.cycles[CYCLE_KEYS].assign(**columns))

    def stride(self, column: str) -> FloatArray:
        """A parameter of the strides (N,); NaN where the data do not hold it."""
        if column not in self.cycles:
            return np.full(len(self.cycles), np.nan)
        return self.cycles[column].to_numpy(dtype=np.float64)

    def curves(self, variable: str) -> FloatArray:
        """The cycles of one variable (N, 101)."""
        return self.values[:, self.variables.index(variable)]

    def cells(self) -> list[tuple[tuple[str, ...], IntArray]]:
        """Values of `CELL_KEYS` and the rows of the cycles that share them, in order of first appearance."""
        keys = list(self.cycles[CELL_KEYS].itertuples(index=False, name=None))
        rows: dict[tuple[str, ...], list[int]] = {}
        for row, key in enumerate(keys):
            rows.setdefault(key, []).append(row)
        return [(key, np.array(found, dtype=np.int64)) for key, found in rows.items()]


def subject_cycles(frame: pd.DataFrame) -> SubjectCycles:
    """Return the cycles of one subject's rows of the tidy data set.

    Raises:
        ResultError: more than one subject, or a curve that is not 0, 1 ... 100 %.
    """
    subjects = frame["subject"].unique()
    if len(subjects) != 1:
        raise ResultError(f"Expected the cycles of one subject, found {len(subjects)}.")
    frame = _in_blocks(frame)
    firsts = np.arange(0, len(frame), CYCLE_POINTS)
    heads = frame[[*CYCLE_KEYS, "variable", "unit"]].iloc[firsts].reset_index(drop=True)
    trial, side = (pd.factorize(heads[name])[0].astype(np.int64) for name in ("trial", "side"))
    number = heads["cycle"].to_numpy(dtype=np.int64)
    row, _ = pd.factorize((trial * (int(number.max(initial=0)) + 1) + number) * 2 + side)
    column, names = pd.factorize(heads["variable"])
    values = np.full((int(row.max()) + 1, len(names), CYCLE_POINTS), np.nan)
    values[row, column] = frame["value"].to_numpy(dtype=np.float64).reshape(-1, CYCLE_POINTS)
    cycles = heads[CYCLE_KEYS].iloc[np.unique(row, return_index=True)[1]].reset_index(drop=True)
    for name in CYCLE_KEYS:
        cycles[name] = cycles[name].astype(np.int64 if name == "cycle" else object)
    for name in ("session", "condition", "group"):
        cycles[name] = cycles[name].fillna("")
    units = dict(zip(heads["variable"].astype(str), heads["unit"].astype(str), strict=True))
    return SubjectCycles(str(subjects[0]), cycles, tuple(str(name) for name in names), units, values)


def _in_blocks(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame so that every curve is 101 rows in a row, as it was written; sorted only where it is not."""
    if _are_blocks(frame):
        return frame
    frame = frame.sort_values(["trial", "side", "cycle", "variable", "percent"], kind="stable")
    if not _are_blocks(frame):
        raise ResultError(
            "Expected every curve of the data set at 0, 1 ... 100 % of the cycle, found others.",
            "Collect the study's results again.",
        )
    return frame


def _are_blocks(frame: pd.DataFrame) -> bool:
    if len(frame) % CYCLE_POINTS:
        return False
    percent = frame["percent"].to_numpy(dtype=np.float64).reshape(-1, CYCLE_POINTS)
    if not np.array_equal(percent, np.broadcast_to(PERCENT, percent.shape)):
        return False
    return all(_constant(frame[name]) for name in ("trial", "side", "cycle", "variable"))


def _constant(column: pd.Series) -> bool:
    codes = column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
    blocks = codes.to_numpy().reshape(-1, CYCLE_POINTS)
    same: BoolArray = blocks == blocks[:, :1]
    return bool(same.all())


# -- Representative and outlier cycles ------------------------------------------------------------------------------


CYCLE_COLUMNS = [*CYCLE_KEYS, "representative", "outlier", "distance", "limit", "variables"]


def cycle_table(data: SubjectCycles, variables: Sequence[str]) -> pd.DataFrame:
    """Return one row per cycle: `CYCLE_KEYS`, representative, outlier, distance to the median cycle, its limit, variables judged.

    In each session, condition and side the variables are judged that at least half of the cycles hold from 0 to 100 %; a
    cycle that lacks one of them has no distance. The representative cycle is the nearest to the median one among those that
    hold every variable, if there are any: it should have moments to show, where plates were met. Distances are in `sizes` of
    analysis.toml: 1 is a mean difference of 5 degrees, 0.1 Nm/kg ...
    """
    known = [name for name in variables if name in data.variables]
    count = len(data.cycles)
    representative, outlier = np.zeros(count, bool), np.zeros(count, bool)
    distance, limit = np.full(count, np.nan), np.full(count, np.nan)
    judged = np.full(count, "", dtype=object)
    place = np.array([data.variables.index(name) for name in known], dtype=np.int64)
    sizes = [_size(data.units[name]) for name in known]
    for _, rows in data.cells():
        complete: BoolArray = np.asarray(
            np.isfinite(data.values[np.ix_(rows, place)]).all(axis=2)
        )  # (cycles, variables)
        usual = np.flatnonzero(complete.mean(axis=0) >= 0.5) if known else np.empty(0, dtype=np.int64)
        if not len(usual) or not complete[:, usual].all(axis=1).any():
            continue
        found = typicality(data.values[np.ix_(rows, place[usual])], [sizes[number] for number in usual])
        whole = complete.all(axis=1) & ~found.outliers
        nearest = np.where(whole, found.distances, np.nan)
        best = int(np.nanargmin(nearest)) if whole.any() else found.representative
        representative[rows[best]] = True
        outlier[rows], distance[rows], limit[rows] = found.outliers, found.distances, found.limit
        judged[rows] = " ".join(known[number] for number in usual)
    return data.cycles[CYCLE_KEYS].assign(
        representative=representative, outlier=outlier, distance=distance, limit=limit, variables=judged
    )


def representative_walks(table: pd.DataFrame) -> dict[tuple[str, str, str], str]:
    """The walk of every subject, session and condition that stands for all: {(subject, session, condition): trial}.

    It is the one whose cycles are the nearest to the median cycles of both sides (mean of the sides' mean distances), among
    the walks that have cycles of most sides. Where there is only one walk, nothing is chosen.
    """
    keys = ["subject", "session", "condition"]
    found: dict[tuple[str, str, str], str] = {}
    known = table[table["distance"].notna()] if len(table) else table
    for key, rows in known.groupby(keys, sort=False) if len(known) else ():
        sides = rows.groupby(["trial", "side"], sort=False)["distance"].mean().groupby("trial", sort=False)
        walks = sides.agg(["mean", "count"])
        if len(walks) > 1:
            whole = walks[walks["count"] == walks["count"].max()]
            found[tuple(map(str, key))] = str(whole["mean"].idxmin())  # type: ignore[assignment, index]
    return found


def outliers(table: pd.DataFrame) -> BoolArray:
    """Which cycles (N,) of `cycle_table` are unlike the others."""
    return table["outlier"].to_numpy(dtype=bool)


def _size(unit: str) -> float:
    sizes: dict[str, float] = group_table("analysis")["representative"]["sizes"]
    return sizes.get(unit, 1.0)
