"""The cycles of one subject as arrays, the input of all parts of the group analysis."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from biodyn.conventions import CYCLE_POINTS, BoolArray, FloatArray, IntArray, Side
from biodyn.errors import ResultError
from biodyn.statistics.gait_measures import find_typical_cycle
from biodyn.study.options import load_study_table
from biodyn.variables import PERCENT, Norms, variable
from biodyn.variables.cycle_parameters import nan_statistics

CYCLE_KEYS = ["subject", "session", "condition", "group", "trial", "cycle", "side"]
#: Columns of the data set from which the cycles are built.
CYCLE_VALUES = [*CYCLE_KEYS, "percent", "variable", "value", "unit"]
CELL_KEYS = ["session", "condition", "group", "side"]
STANCE = "stance_percent"
STRIDE_TIME = "stride_time_s"

Strides = Mapping[tuple[str, str, int], Mapping[str, float]]  # stride parameters by (trial, side, cycle)


@dataclass(frozen=True)
class SubjectCycles:
    """The cycles of one subject.

    Attributes:
        subject: name of the subject.
        cycles: (N rows) `CYCLE_KEYS` and the parameters of each stride (columns of spatiotemporal.csv).
        variables: (V) names without side. units: units by variable.
        values: (N, V, 101) over 0-100 % of the cycle, NaN where missing.
    """

    subject: str
    cycles: pd.DataFrame
    variables: tuple[str, ...]
    units: Mapping[str, str]
    values: FloatArray

    @property
    def stride_columns(self) -> tuple[str, ...]:
        """Return the names of the available stride parameters."""
        return tuple(name for name in self.cycles.columns if name not in CYCLE_KEYS)

    def with_strides(self, strides: Strides) -> SubjectCycles:
        """Return the cycles with the parameters of their strides, NaN if not given."""
        keys = zip(self.cycles["trial"], self.cycles["side"], self.cycles["cycle"], strict=True)
        stride_values = [strides.get((trial, side, int(cycle)), {}) for trial, side, cycle in keys]
        names = dict.fromkeys(name for values in stride_values for name in values)
        columns = {
            name: np.array([values.get(name, np.nan) for values in stride_values], dtype=np.float64) for name in names
        }
        return replace(self, cycles=self.cycles[CYCLE_KEYS].assign(**columns))

    def stride(self, column: str) -> FloatArray:
        """Return one stride parameter of every cycle (N,); NaN if it is not available."""
        if column not in self.cycles:
            return np.full(len(self.cycles), np.nan)
        return self.cycles[column].to_numpy(dtype=np.float64)

    def curves(self, variable: str) -> FloatArray:
        """Return the curves (N, 101) of one variable in all cycles."""
        return self.values[:, self.variables.index(variable)]

    def select_variables(self, values: FloatArray, names: Sequence[str]) -> FloatArray:
        """Return the curves (..., K, 101) of the K named variables from values (..., V, 101); NaN for variables without data."""
        curves = np.full((*values.shape[:-2], len(names), values.shape[-1]), np.nan)
        for number, name in enumerate(names):
            if name in self.variables:
                curves[..., number, :] = values[..., self.variables.index(name), :]
        return curves

    def cells(self) -> list[tuple[tuple[str, ...], IntArray]]:
        """Return, for each combination of session, condition, group and side (`CELL_KEYS`), these values and the rows of its
        cycles."""
        keys = list(self.cycles[CELL_KEYS].itertuples(index=False, name=None))
        rows: dict[tuple[str, ...], list[int]] = {}
        for row, key in enumerate(keys):
            rows.setdefault(key, []).append(row)
        return [(key, np.array(indices, dtype=np.int64)) for key, indices in rows.items()]


def subject_cycles(frame: pd.DataFrame) -> SubjectCycles:
    """Return the cycles in the rows of one subject of the tidy data set.

    Raises:
        ResultError: more than one subject, or a curve whose 101 rows at 0, 1 ... 100 % are not consecutive.
    """
    subjects = frame["subject"].unique()
    if len(subjects) != 1:
        raise ResultError(f"Expected the cycles of one subject, found {len(subjects)}.")
    if not _has_complete_curves(frame):
        raise ResultError(
            "A curve of the data set is not given at 0, 1 ... 100 % of the cycle.", "Collect the study's results again."
        )
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


def _has_complete_curves(frame: pd.DataFrame) -> bool:
    if len(frame) % CYCLE_POINTS:
        return False
    percent = frame["percent"].to_numpy(dtype=np.float64).reshape(-1, CYCLE_POINTS)
    if not np.array_equal(percent, np.broadcast_to(PERCENT, percent.shape)):
        return False
    return all(_is_constant_per_curve(frame[name]) for name in ("trial", "side", "cycle", "variable"))


def _is_constant_per_curve(column: pd.Series) -> bool:
    codes = column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
    blocks = codes.to_numpy().reshape(-1, CYCLE_POINTS)
    same: BoolArray = blocks == blocks[:, :1]
    return bool(same.all())


# -- Representative and outlier cycles ------------------------------------------------------------------------------


CYCLE_COLUMNS = [*CYCLE_KEYS, "representative", "outlier", "distance", "limit", "variables"]


def cycle_distance_table(data: SubjectCycles, variables: Sequence[str], warned: Collection[str] = ()) -> pd.DataFrame:
    """Return one row per cycle: `CYCLE_KEYS`, representative, outlier, distance to the median cycle, its limit, number of
    variables.

    In each session, condition and side, the variables that at least half of the cycles have from 0 to 100 % are compared; a
    cycle that lacks one of them has no distance. The representative cycle is closest to the median cycle, among the cycles
    with all variables (including moments) if there are any. Cycles of `warned` trials cannot be representative. Distances are
    in `sizes` of analysis.toml: 1 is a mean difference of 5 degrees, 0.1 Nm/kg ...
    """
    known = [name for name in variables if name in data.variables]
    count = len(data.cycles)
    representative, outlier = np.zeros(count, bool), np.zeros(count, bool)
    distance, limit = np.full(count, np.nan), np.full(count, np.nan)
    judged = np.full(count, "", dtype=object)
    passed = ~data.cycles["trial"].isin(list(warned)).to_numpy(dtype=bool)
    place = np.array([data.variables.index(name) for name in known], dtype=np.int64)
    size_of: dict[str, float] = load_study_table("analysis")["representative"]["sizes"]
    sizes = [size_of.get(data.units[name], 1.0) for name in known]
    for _, rows in data.cells():
        # (cycles, variables)
        complete: BoolArray = np.asarray(np.isfinite(data.values[np.ix_(rows, place)]).all(axis=2))
        usual = np.flatnonzero(complete.mean(axis=0) >= 0.5) if known else np.empty(0, dtype=np.int64)
        if not len(usual) or not complete[:, usual].all(axis=1).any():
            continue
        result = find_typical_cycle(data.values[np.ix_(rows, place[usual])], [sizes[number] for number in usual])
        possible = passed[rows] & np.isfinite(result.distances)
        whole = possible & complete.all(axis=1) & ~result.outliers
        if possible.any():
            nearest = np.where(whole if whole.any() else possible, result.distances, np.nan)
            representative[rows[int(np.nanargmin(nearest))]] = True
        outlier[rows], distance[rows], limit[rows] = result.outliers, result.distances, result.limit
        judged[rows] = " ".join(known[number] for number in usual)
    return data.cycles[CYCLE_KEYS].assign(
        representative=representative, outlier=outlier, distance=distance, limit=limit, variables=judged
    )


def representative_walks(table: pd.DataFrame, warned: Collection[str] = ()) -> dict[tuple[str, str, str], str]:
    """Return the representative walk by (subject, session, condition), never one of the `warned` trials.

    Its cycles are closest to the median cycles of both sides (mean of the mean distances of the sides), among the walks with
    cycles of most sides. None exists for a single walk, or if all are warned.
    """
    keys = ["subject", "session", "condition"]
    walk_of: dict[tuple[str, str, str], str] = {}
    known = table[table["distance"].notna()] if len(table) else table
    for key, rows in known.groupby(keys, sort=False) if len(known) else ():
        sides = rows.groupby(["trial", "side"], sort=False)["distance"].mean().groupby("trial", sort=False)
        walks = sides.agg(["mean", "count"])
        passed = walks[~walks.index.isin(list(warned))]
        if len(walks) > 1 and len(passed):
            whole = passed[passed["count"] == passed["count"].max()]
            walk_of[tuple(map(str, key))] = str(whole["mean"].idxmin())  # type: ignore[assignment, index]
    return walk_of


def outlier_flags(table: pd.DataFrame) -> BoolArray:
    """Return a mask (N,) of the outlier cycles in a table of `cycle_distance_table`."""
    return table["outlier"].to_numpy(dtype=bool)


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
        rows: rows of the cycles of the mean in the data of the subject.
        mean, sd: (V, 101); SD over cycles (n - 1), NaN for fewer than two.
        cycles: (V, 101) number of cycles with a value.
    """

    key: tuple[str, str, str, str]
    rows: IntArray
    mean: FloatArray
    sd: FloatArray
    cycles: IntArray


def mean_curves(data: SubjectCycles, left_out: BoolArray | None = None) -> list[MeanCurves]:
    """Return the mean curves of a subject; `left_out` (N,) marks excluded cycles."""
    result = []
    for key, rows in data.cells():
        used = rows if left_out is None else rows[~left_out[rows]]
        result.append(MeanCurves((key[0], key[1], key[2], key[3]), used, *mean_and_sd(data.values[used])))
    return result


def mean_and_sd(values: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return mean, SD (n - 1; NaN for fewer than two) and number of the values along the first axis, ignoring NaN."""
    return *nan_statistics(values), np.isfinite(values).sum(axis=0)


def subject_curve_table(data: SubjectCycles, curves: Sequence[MeanCurves]) -> pa.Table:
    """Return the rows of one subject in subject_curves.parquet."""
    block = len(data.variables) * CYCLE_POINTS
    count = len(curves)
    units = [data.units[name] for name in data.variables]
    columns = {
        "subject": _repeated_arrow_column([data.subject], count * block),
        **{
            name: _repeated_arrow_column([mean_curve.key[i] for mean_curve in curves], block)
            for i, name in enumerate(("session", "condition", "group", "side"))
        },
        "variable": _repeated_arrow_column(list(data.variables) * count, CYCLE_POINTS),
        "unit": _repeated_arrow_column(units * count, CYCLE_POINTS),
        "percent": pa.array(np.tile(PERCENT, count * len(data.variables)).astype(np.float32)),
    }
    for name in ("mean", "sd", "cycles"):
        values = np.concatenate([getattr(mean_curve, name).reshape(-1) for mean_curve in curves])
        columns[name] = pa.array(values, SUBJECT_CURVE_SCHEMA.field(name).type, from_pandas=True)
    return pa.table([columns[name] for name in SUBJECT_CURVE_SCHEMA.names], schema=SUBJECT_CURVE_SCHEMA)


def _repeated_arrow_column(words: Sequence[str], times: int) -> pa.DictionaryArray:
    """Return a dictionary column in which each word is repeated `times` times."""
    levels = list(dict.fromkeys(words))
    number = {word: i for i, word in enumerate(levels)}
    codes = np.repeat(np.array([number[word] for word in words], dtype=np.int32), times)
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(levels, type=pa.string()))


@dataclass
class RunningMean:
    """Count, mean and sum of squares (..., 101) of curves; missing values are ignored (Welford 1962)."""

    count: IntArray
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> RunningMean:
        """Return a mean to which no curve has been added, for curves of this shape."""
        return cls(np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape))

    def add(self, curve: FloatArray) -> None:
        """Add a curve (..., 101), of which missing values are ignored."""
        known = np.isfinite(curve)
        self.count = self.count + known
        step = np.where(known, curve - self.mean, 0.0)
        self.mean = self.mean + step / np.maximum(self.count, 1)
        self.squares = self.squares + step * np.where(known, curve - self.mean, 0.0)

    @property
    def means(self) -> FloatArray:
        """Return the mean curves (..., 101), NaN where no curve had a value."""
        return np.where(self.count > 0, self.mean, np.nan)

    @property
    def standard_deviations(self) -> FloatArray:
        """Return the standard deviations (n - 1), NaN for fewer than two values."""
        return np.where(self.count > 1, np.sqrt(self.squares / np.maximum(self.count - 1, 1)), np.nan)


class GroupCurves:
    """Group means, accumulated subject by subject; `table()` is group_curves.csv."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str, str, str], RunningMean] = {}
        self._units: dict[str, str] = {}

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves]) -> None:
        """Add the mean curves over the sessions of one subject."""
        for (condition, group, side), means in means_over_sessions(curves).items():
            for number, name in enumerate(data.variables):
                self._running.setdefault((group, condition, side, name), RunningMean.empty((CYCLE_POINTS,))).add(
                    means[number]
                )
        for name in data.variables:
            self._units.setdefault(name, data.units[name])

    def table(self) -> pd.DataFrame:
        """Return group_curves.csv: mean, SD (n - 1) and number of subjects at every percent of the cycle."""
        cells = dict.fromkeys(key[:3] for key in self._running)
        keys = [(*cell, name) for cell in cells for name in self._units if (*cell, name) in self._running]
        sums = [RunningMean.empty((0,)), *(self._running[key] for key in keys)]
        count, mean, squares = (
            np.concatenate([getattr(running, part) for running in sums]) for part in ("count", "mean", "squares")
        )
        words = {name: [key[i] for key in keys] for i, name in enumerate(("group", "condition", "side", "variable"))}
        words["unit"] = [self._units[key[3]] for key in keys]
        table: dict[str, Any] = {name: repeated_categories(column, CYCLE_POINTS) for name, column in words.items()}
        table["percent"] = np.tile(PERCENT, len(keys))
        group = RunningMean(count, mean, squares)
        table |= {"mean": group.means, "sd": group.standard_deviations, "subjects": count}
        return pd.DataFrame({name: table[name] for name in GROUP_CURVE_COLUMNS})


def repeated_categories(words: Sequence[str], times: int) -> pd.Categorical:
    """Return each word repeated `times` times, as categories, which are fast to write."""
    codes, levels = pd.factorize(np.array(words, dtype=object))
    return pd.Categorical.from_codes(np.repeat(codes, times), categories=pd.Index(levels))


def means_over_sessions(curves: Iterable[MeanCurves]) -> dict[tuple[str, str, str], FloatArray]:
    """Return the means (V, 101) over the sessions of one subject, with equal weights, by (condition, group, side)."""
    by_cell: dict[tuple[str, str, str], list[FloatArray]] = {}
    for mean_curve in curves:
        by_cell.setdefault(mean_curve.key[1:], []).append(mean_curve.mean)
    return {key: means[0] if len(means) == 1 else mean_and_sd(np.stack(means))[0] for key, means in by_cell.items()}


def norm_table(sets: Sequence[Norms], units: Mapping[str, str], sides: Sequence[Side]) -> pd.DataFrame:
    """Return the norms of the variables of a study as a table, in the signs of biodyn, with SD and half width of the drawn band.

    Norms are given for the right side; for the left, variables with the sign of the walker's right are reversed. Unknown values
    are NaN.
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
                            "citation": f"{norms.description}: {norms.citation}",
                        }
                    )
                )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(NORM_COLUMNS))
