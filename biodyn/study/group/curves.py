"""Mean curves: of a subject over its cycles, of a group over its subjects. A subject counts once, however many cycles.

Groups are added up subject by subject (Welford 1962, Technometrics 4:419-420), so that memory holds one subject at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from biodyn.conventions import CYCLE_POINTS, BoolArray, FloatArray, IntArray, Side
from biodyn.study.group.subject_cycles import PERCENT, SubjectCycles
from biodyn.variables import Norms, variable

_WORD = pa.dictionary(pa.int32(), pa.string())
SUBJECT_CURVE_SCHEMA = pa.schema(
    [
        *(pa.field(name, _WORD) for name in ("subject", "session", "condition", "group", "side", "variable", "unit")),
        pa.field("percent", pa.float32()),
        pa.field("mean", pa.float64()),
        pa.field("sd", pa.float64()),
        pa.field("cycles", pa.int32()),
    ]
)
GROUP_CURVE_COLUMNS = ("group", "condition", "side", "variable", "unit", "percent", "mean", "sd", "subjects")
NORM_COLUMNS = ("variable", "side", "unit", "percent", "mean", "sd", "norms", "half_width", "shown_as", "citation")


@dataclass(frozen=True)
class MeanCurves:
    """Mean curves of one subject in one session, condition, group and side.

    Attributes:
        key: session, condition, group, side.
        rows: of the cycles in the subject's data. used: (n,) which of them are in the mean.
        mean, sd: (V, 101); sd over cycles (n - 1), NaN below two.
        cycles: (V, 101) how many cycles hold a value there.
    """

    key: tuple[str, str, str, str]
    rows: IntArray
    used: BoolArray
    mean: FloatArray
    sd: FloatArray
    cycles: IntArray


def mean_curves(data: SubjectCycles, left_out: BoolArray | None = None) -> list[MeanCurves]:
    """Return the mean curves of a subject; `left_out` (N,) marks cycles that do not count."""
    result = []
    for key, rows in data.cells():
        used = np.ones(len(rows), bool) if left_out is None else ~left_out[rows]
        mean, sd, count = mean_and_sd(data.values[rows[used]])
        result.append(MeanCurves((key[0], key[1], key[2], key[3]), rows, used, mean, sd, count))
    return result


def mean_and_sd(values: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Mean, standard deviation (n - 1; NaN below two) and number of the values along the first axis, NaN left out."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, values, 0.0).sum(axis=0) / count
        squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0)
        sd = np.where(count > 1, np.sqrt(squares / np.maximum(count - 1, 1)), np.nan)
    return np.where(count > 0, mean, np.nan), sd, count


def subject_curve_table(data: SubjectCycles, curves: Sequence[MeanCurves]) -> pa.Table:
    """Return the rows of subject_curves.parquet of one subject."""
    block = len(data.variables) * CYCLE_POINTS
    count = len(curves)
    units = [data.units[name] for name in data.variables]
    columns = {
        "subject": _repeated([data.subject], count * block),
        **{
            name: _repeated([one.key[i] for one in curves], block)
            for i, name in enumerate(("session", "condition", "group", "side"))
        },
        "variable": _repeated(list(data.variables) * count, CYCLE_POINTS),
        "unit": _repeated(units * count, CYCLE_POINTS),
        "percent": pa.array(np.tile(PERCENT, count * len(data.variables)).astype(np.float32)),
        "mean": pa.array(np.concatenate([one.mean.reshape(-1) for one in curves]), from_pandas=True),
        "sd": pa.array(np.concatenate([one.sd.reshape(-1) for one in curves]), from_pandas=True),
        "cycles": pa.array(np.concatenate([one.cycles.reshape(-1) for one in curves]).astype(np.int32)),
    }
    return pa.table([columns[name] for name in SUBJECT_CURVE_SCHEMA.names], schema=SUBJECT_CURVE_SCHEMA)


def _repeated(words: Sequence[str], times: int) -> pa.DictionaryArray:
    """Each word so many times, as a dictionary column."""
    levels = list(dict.fromkeys(words))
    number = {word: i for i, word in enumerate(levels)}
    codes = np.repeat(np.array([number[word] for word in words], dtype=np.int32), times)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(levels, type=pa.string()))


@dataclass
class _Running:
    """Count, mean and sum of squares (101,) of one variable."""

    count: IntArray = field(default_factory=lambda: np.zeros(CYCLE_POINTS, dtype=np.int64))
    mean: FloatArray = field(default_factory=lambda: np.zeros(CYCLE_POINTS))
    squares: FloatArray = field(default_factory=lambda: np.zeros(CYCLE_POINTS))

    def add(self, curve: FloatArray) -> None:
        known = np.isfinite(curve)
        self.count = self.count + known
        step = np.where(known, curve - self.mean, 0.0)
        self.mean = self.mean + step / np.maximum(self.count, 1)
        self.squares = self.squares + step * np.where(known, curve - self.mean, 0.0)


class GroupCurves:
    """Group means that grow subject by subject; `table()` is group_curves.csv."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str, str, str], _Running] = {}
        self._units: dict[str, str] = {}

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves]) -> None:
        """Add a subject: the mean of its sessions counts once."""
        for (condition, group, side), means in over_sessions(curves).items():
            for number, name in enumerate(data.variables):
                self._running.setdefault((group, condition, side, name), _Running()).add(means[number])
        for name in data.variables:
            self._units.setdefault(name, data.units[name])

    def table(self) -> pd.DataFrame:
        """Mean and standard deviation (n - 1) over subjects, and how many subjects hold a value, at every percent."""
        cells = dict.fromkeys(key[:3] for key in self._running)
        names = [name for name in self._units if any(key[3] == name for key in self._running)]
        keys = [(*cell, name) for cell in cells for name in names if (*cell, name) in self._running]
        found = [self._running[key] for key in keys]
        count = np.concatenate([one.count for one in found]) if found else np.empty(0, dtype=np.int64)
        mean = np.concatenate([one.mean for one in found]) if found else np.empty(0)
        squares = np.concatenate([one.squares for one in found]) if found else np.empty(0)
        words = {name: [key[i] for key in keys] for i, name in enumerate(("group", "condition", "side", "variable"))}
        words["unit"] = [self._units[key[3]] for key in keys]
        table: dict[str, Any] = {name: repeated(column, CYCLE_POINTS) for name, column in words.items()}
        table["percent"] = np.tile(PERCENT, len(keys))
        table["mean"] = np.where(count > 0, mean, np.nan)
        table["sd"] = np.where(count > 1, np.sqrt(squares / np.maximum(count - 1, 1)), np.nan)
        table["subjects"] = count
        return pd.DataFrame({name: table[name] for name in GROUP_CURVE_COLUMNS})


def repeated(words: Sequence[str], times: int) -> pd.Categorical:
    """Each word so many times, as categories, which are written quickly."""
    codes, levels = pd.factorize(np.array(words, dtype=object))
    return pd.Categorical.from_codes(np.repeat(codes, times), categories=pd.Index(levels))


def over_sessions(curves: Iterable[MeanCurves]) -> dict[tuple[str, str, str], FloatArray]:
    """Mean over the sessions (V, 101) of one subject by (condition, group, side); each session counts alike."""
    found: dict[tuple[str, str, str], list[FloatArray]] = {}
    for one in curves:
        found.setdefault(one.key[1:], []).append(one.mean)
    return {key: means[0] if len(means) == 1 else mean_and_sd(np.stack(means))[0] for key, means in found.items()}


def norm_table(sets: Sequence[Norms], units: Mapping[str, str], sides: Sequence[Side]) -> pd.DataFrame:
    """Norms of the study's variables in this program's signs; sd, and half_width of what is drawn, NaN where unknown.

    The norms are those of a right side; for the left, variables signed to the walker's right are reversed.
    """
    parts = []
    for norms in sets:
        for name, curve in norms.curves.items():
            if name not in units:
                continue
            for side in sides:
                parts.append(
                    pd.DataFrame(
                        {
                            "variable": name,
                            "side": side,
                            "unit": curve.unit,
                            "percent": PERCENT,
                            "mean": variable(name).side_sign(side) * curve.mean,
                            "sd": np.nan if curve.sd is None else curve.sd,
                            "norms": norms.name,
                            "half_width": np.nan if curve.half_width is None else curve.half_width,
                            "shown_as": f"{norms.short}, {norms.band}",
                            "citation": f"{norms.words}: {norms.citation}",
                        }
                    )
                )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(NORM_COLUMNS))
