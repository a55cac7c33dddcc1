"""What the comparisons are made of: one number or one curve per subject and condition, never one per cycle."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES, FloatArray
from biodyn.study.group.curves import MeanCurves, mean_and_sd
from biodyn.study.group.definitions import ParameterDefinition
from biodyn.study.group.subject_cycles import SubjectCycles
from biodyn.variables import same_side

MEAN_OF_SIDES = "mean"


@dataclass(frozen=True)
class Cell:
    """A subject in one session, condition, group and side: means over its cycles.

    Attributes:
        parameters: (P,) means. cycles: how many.
        curves: (C, 101) mean curves of the compared variables, NaN where the subject lacks one.
    """

    subject: str
    session: str
    condition: str
    group: str
    side: str
    parameters: FloatArray
    curves: FloatArray
    cycles: int


@dataclass(frozen=True)
class TrialMean:
    """Means over the cycles of one trial: each side that counts, counts alike."""

    subject: str
    session: str
    condition: str
    group: str
    trial: str
    parameters: FloatArray


class Observations:
    """Means of every subject; grows subject by subject by a few numbers each."""

    def __init__(
        self, definitions: Sequence[ParameterDefinition], variables: Sequence[str], sides: Sequence[str] = SIDES
    ) -> None:
        self.definitions = tuple(definitions)
        self.variables = tuple(variables)
        self._sides = tuple(sides)  # that count in the means of the trials
        self.cells: list[Cell] = []
        self.trials: list[TrialMean] = []
        self.units: dict[str, str] = {}

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves], parameters: FloatArray) -> None:
        """Add a subject: its mean curves and its parameters (N, P)."""
        place = [data.variables.index(name) if name in data.variables else -1 for name in self.variables]
        missing = np.array(place) < 0
        for one in curves:
            rows = one.rows[one.used]
            means = one.mean[place]
            means[missing] = np.nan
            session, condition, group, side = one.key
            self.cells.append(
                Cell(
                    data.subject, session, condition, group, side,
                    mean_and_sd(parameters[rows])[0], means, len(rows),
                )
            )  # fmt: skip
        used = np.concatenate([one.rows[one.used] for one in curves]) if curves else np.empty(0, dtype=np.int64)
        self._add_trials(data, parameters, np.sort(used))
        for name in data.variables:
            self.units.setdefault(name, data.units[name])

    def _add_trials(self, data: SubjectCycles, parameters: FloatArray, used: np.ndarray) -> None:
        cycles = data.cycles.iloc[used]
        for key, rows in cycles.groupby("trial", sort=False).indices.items():
            own = cycles.iloc[rows]
            per_side = [parameters[used[rows[own["side"].to_numpy() == side]]] for side in self._sides]
            if not any(len(part) for part in per_side):
                continue
            means = np.stack([mean_and_sd(part)[0] for part in per_side if len(part)])
            first = own.iloc[0]
            self.trials.append(
                TrialMean(
                    data.subject, first["session"], first["condition"], first["group"], str(key), mean_and_sd(means)[0]
                )
            )

    @property
    def subjects(self) -> list[str]:
        """Subjects in their order."""
        return list(dict.fromkeys(cell.subject for cell in self.cells))

    def per_subject(self, side: str) -> list[Cell]:
        """One cell a subject, condition and group: the mean over sessions, of one side or of both ("mean").

        For the mean of both sides, variables signed to the walker's right are reversed on the left before.
        """
        wanted = SIDES if side == MEAN_OF_SIDES else (side,)
        found: dict[tuple[str, str, str], dict[str, list[Cell]]] = {}
        for cell in self.cells:
            if cell.side in wanted:
                key = (cell.subject, cell.condition, cell.group)
                found.setdefault(key, {}).setdefault(cell.side, []).append(cell)
        result = []
        for (subject, condition, group), sides in found.items():
            parameters, curves = [], []
            for own, cells in sides.items():
                parameters.append(mean_and_sd(np.stack([cell.parameters for cell in cells]))[0])
                curves.append(mean_and_sd(np.stack([cell.curves for cell in cells]))[0] * self._turn(own, side))
            result.append(
                Cell(
                    subject, "", condition, group, side,
                    mean_and_sd(np.stack(parameters))[0], mean_and_sd(np.stack(curves))[0],
                    sum(cell.cycles for cells in sides.values() for cell in cells),
                )
            )  # fmt: skip
        return result

    def _turn(self, own: str, wanted: str) -> FloatArray:
        """Factors (C, 1) that give the left side's variables the right side's sign, where sides are mixed."""
        if wanted != MEAN_OF_SIDES:
            return np.ones((len(self.variables), 1))
        return same_side(self.variables, own)[:, None]

    def wide(self) -> pd.DataFrame:
        """One row per subject (and group), one column per parameter, condition and side; with sessions where several."""
        sessions = len({cell.session for cell in self.cells}) > 1
        rows: dict[tuple[str, str], dict[str, float]] = {}
        columns: dict[tuple[int, str], None] = {}
        for cell in self.cells:
            row = rows.setdefault((cell.subject, cell.group), {})
            words = [cell.session] * sessions + [cell.condition, cell.side]
            tail = "".join(f"_{_word(text)}" for text in words if text)
            for number, definition in enumerate(self.definitions):
                columns[(number, tail)] = None
                row[definition.name + tail] = float(cell.parameters[number])
        ordered = sorted(columns, key=lambda column: column[0])  # stable: conditions in order of the data
        names = [self.definitions[number].name + tail for number, tail in ordered]
        table = pd.DataFrame(list(rows.values()), columns=pd.Index(names), dtype=np.float64)
        table.insert(0, "subject", [subject for subject, _ in rows])
        table.insert(1, "group", [group for _, group in rows])
        return table.loc[:, [*table.columns[:2], *(name for name in names if table[name].notna().any())]]


def _word(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_")
