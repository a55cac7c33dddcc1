"""Tidy frames as the collected data set holds them, made from formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from biodyn.conventions import CYCLE_POINTS, FloatArray

PERCENT = np.linspace(0.0, 100.0, CYCLE_POINTS)
LABELS = ("subject", "session", "condition", "group", "site", "trial", "side", "variable", "unit")


@dataclass(frozen=True)
class MadeCycle:
    """One cycle: its labels, curves (101,) by variable, parameters of its stride."""

    trial: str
    side: str
    cycle: int
    curves: Mapping[str, FloatArray]
    session: str = ""
    condition: str = ""
    group: str = ""
    stride: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class MadeSubject:
    """The rows of the data set and the strides of one subject."""

    name: str
    frame: pd.DataFrame
    strides: Mapping[tuple[str, str, int], Mapping[str, float]]


def made_subject(name: str, cycles: Sequence[MadeCycle], units: Mapping[str, str]) -> MadeSubject:
    """Return cycles as rows of the tidy data set."""
    parts = []
    for cycle in cycles:
        for variable, curve in cycle.curves.items():
            parts.append(
                pd.DataFrame(
                    {
                        "subject": name,
                        "session": cycle.session,
                        "condition": cycle.condition,
                        "group": cycle.group,
                        "site": "",
                        "trial": cycle.trial,
                        "cycle": np.int32(cycle.cycle),
                        "side": cycle.side,
                        "percent": PERCENT.astype(np.float32),
                        "variable": variable,
                        "value": curve,
                        "unit": units[variable],
                        "valid": np.isfinite(curve),
                        "reason": np.where(np.isfinite(curve), "", "markers missing"),
                    }
                )
            )
    frame = pd.concat(parts, ignore_index=True)
    for column in LABELS:
        frame[column] = frame[column].astype("category")
    strides = {(one.trial, one.side, one.cycle): one.stride for one in cycles}
    return MadeSubject(name, frame, strides)


@dataclass(frozen=True)
class MadeStudy:
    """Subjects of a made study, as `analyse_frames` takes them."""

    subjects: tuple[MadeSubject, ...]

    def frames(self) -> Iterable[pd.DataFrame]:
        return (subject.frame for subject in self.subjects)

    def strides(self, subject: str) -> Mapping[tuple[str, str, int], Mapping[str, float]]:
        return next(one.strides for one in self.subjects if one.name == subject)


Walker = Callable[[int, str, str, np.random.Generator], Mapping[str, FloatArray]]


def made_study(
    walker: Walker,
    units: Mapping[str, str],
    subjects: int = 8,
    conditions: Sequence[str] = ("normal",),
    group_of: Callable[[int], str] = lambda _: "",
    sessions: Sequence[str] = ("",),
    trials: int = 3,
    cycles: int = 2,
    seed: int = 1,
) -> MadeStudy:
    """Return a study: `walker(subject, condition, side, random)` gives the curves of one cycle."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(subjects):
        found = []
        for session in sessions:
            for condition in conditions:
                for trial in range(trials):
                    for side in ("r", "l"):
                        for cycle in range(cycles):
                            found.append(
                                MadeCycle(
                                    trial=f"{session}{condition}{trial + 1:02d}",
                                    side=side,
                                    cycle=cycle + 1,
                                    curves=walker(number, condition, side, random),
                                    session=session,
                                    condition=condition,
                                    group=group_of(number),
                                    stride={
                                        "stride_time_s": 1.1,
                                        "stance_percent": 60.0,
                                        "speed_m_s": 1.3 + 0.02 * number + 0.01 * random.standard_normal(),
                                    },
                                )
                            )
        made.append(made_subject(f"S{number + 1:02d}", found, units))
    return MadeStudy(tuple(made))
