"""Role of each label of a recording: its landmark and segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MarkerRole:
    """Role of one marker: its landmark ("" if none), its segment, its weight in the fit.

    `soft`: on soft tissue or a girdle that the model does not have; its position on the segment is estimated from the walk.
    """

    label: str
    landmark: str
    body: str
    weight: float
    static_only: bool
    source: str
    soft: bool = False


@dataclass(frozen=True)
class MarkerMapping:
    """A recognised marker set.

    Attributes:
        name, title: of the set.
        roles: one for each recognised label.
        unknown: other labels; the fit attaches them by their motion.
        scores: share of the labels of each candidate set that are present: {name: score}.
        ambiguous: labels without landmark that have several meanings, and these.
        runner_up: name of the second best set, "" = none.
    """

    name: str
    title: str
    roles: tuple[MarkerRole, ...]
    unknown: tuple[str, ...]
    scores: dict[str, float]
    ambiguous: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    runner_up: str = ""

    def role(self, label: str) -> MarkerRole | None:
        """Return the role of a label, None if unknown."""
        return next((role for role in self.roles if role.label == label), None)
