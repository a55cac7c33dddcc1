"""The representative cycle of a subject in each condition and side, and the cycles that are unlike the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from biodyn.conventions import BoolArray
from biodyn.statistics.gait_measures import typicality
from biodyn.study.group.definitions import group_table
from biodyn.study.group.subject_cycles import CYCLE_KEYS, SubjectCycles

CYCLE_COLUMNS = [*CYCLE_KEYS, "representative", "outlier", "distance", "limit", "variables"]


def cycle_table(data: SubjectCycles, variables: Sequence[str], fence: float) -> pd.DataFrame:
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
        found = typicality(data.values[np.ix_(rows, place[usual])], [sizes[number] for number in usual], fence)
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
