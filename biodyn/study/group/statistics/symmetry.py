"""Compare left and right of every subject, session and condition: parameters and mean curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES, FloatArray
from biodyn.library.study_parameters import ParameterDefinition
from biodyn.statistics.gait_measures import curve_difference, symmetry_angle, symmetry_index
from biodyn.study.group.group_data import GroupData, StatisticOutput, SubjectMean, group_statistic
from biodyn.variables import side_sign_factors

SYMMETRY_COLUMNS = [
    "subject", "session", "condition", "group", "kind", "name", "unit", "right", "left", "difference",
    "symmetry_index", "symmetry_angle",
]  # fmt: skip


@group_statistic("symmetry", place=40)
def compute_symmetry(data: GroupData) -> StatisticOutput:
    """Return the table symmetry.csv and its notes."""
    observations = data.observations
    table = symmetry_table(observations.cells, observations.definitions, list(data.parameter_units), data.curves)
    return StatisticOutput({"symmetry": table}, {"symmetry": _symmetry_notes(table)})


def symmetry_table(
    cells: Sequence[SubjectMean], definitions: Sequence[ParameterDefinition], units: Sequence[str],
    curves: Sequence[tuple[int, str, str]],
) -> pd.DataFrame:  # fmt: skip
    """Return symmetry.csv: one row per parameter and curve of each subject, session and condition measured on both sides.

    Parameters have the mean of each side, right minus left, symmetry index and angle in percent (0: symmetric); curves the root
    mean square of right minus left over the cycle, in the unit of the variable.

    units: units of the definitions. curves: (index in the curves of a cell, variable, unit).
    """
    pairs = _side_pairs(cells)
    if not pairs:
        return pd.DataFrame(columns=SYMMETRY_COLUMNS)
    keys = [(right.subject, right.session, right.condition, right.group) for right, _ in pairs]
    right, left = (np.stack([pair[side].parameters for pair in pairs]) for side in (0, 1))
    place = [number for number, *_ in curves]
    turn = side_sign_factors([variable for _, variable, _ in curves], SIDES[1]).reshape(-1, 1)
    apart = np.full((len(pairs), len(curves)), np.nan)
    if curves:
        apart = curve_difference(
            np.stack([pair[0].curves[place] for pair in pairs]),
            np.stack([pair[1].curves[place] * turn for pair in pairs]),
        )
    names = [*(definition.name for definition in definitions), *(variable for _, variable, _ in curves)]
    kinds = ["parameter"] * len(definitions) + ["curve"] * len(curves)
    empty = np.full(apart.shape, np.nan)
    values: dict[str, FloatArray] = {
        "right": np.hstack([right, empty]),
        "left": np.hstack([left, empty]),
        "difference": np.hstack([right - left, apart]),
        "symmetry_index": np.hstack([symmetry_index(right, left), empty]),
        "symmetry_angle": np.hstack([symmetry_angle(right, left), empty]),
    }
    labels = dict(zip(SYMMETRY_COLUMNS[:4], np.array(keys, dtype=object).T, strict=True))
    table = pd.DataFrame(
        {
            **{name: np.repeat(column, len(names)) for name, column in labels.items()},
            "kind": kinds * len(pairs),
            "name": names * len(pairs),
            "unit": [*units, *(unit for *_, unit in curves)] * len(pairs),
            **{name: matrix.reshape(-1) for name, matrix in values.items()},
        }
    )
    return table[table["difference"].notna()].reset_index(drop=True)


def _side_pairs(cells: Sequence[SubjectMean]) -> list[tuple[SubjectMean, SubjectMean]]:
    """Return the right and left cell of each subject, session, condition and group that has both."""
    by_subject: dict[tuple[str, str, str, str], dict[str, SubjectMean]] = {}
    for cell in cells:
        by_subject.setdefault((cell.subject, cell.session, cell.condition, cell.group), {})[cell.side] = cell
    first, second = SIDES
    return [(sides[first], sides[second]) for sides in by_subject.values() if first in sides and second in sides]


def _symmetry_notes(table: pd.DataFrame) -> tuple[str, ...]:
    if not len(table):
        return ("Symmetry is not computed, because no subject has cycles of both sides.",)
    return (
        "Symmetry of each subject: right minus left; symmetry index 100 (R - L) / (0.5 (R + L)) (Robinson et al. 1987) and "
        "symmetry angle (Zifchock et al. 2008) in percent; of curves the root mean square of right minus left.",
    )
