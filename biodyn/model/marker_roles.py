"""Role of each label of a recording: its landmark and segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MarkerRole:
    """Role of one marker: its landmark ("" if none), segment, and weight in the fit.

    `soft`: True for a marker on soft tissue or on a girdle that the model lacks; its position is estimated from the walk.
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
        name, title: name and title of the set.
        roles: roles of the recognised labels.
        unknown: other labels, which the fit attaches by their motion.
        scores: fraction of the labels of each candidate set that are present, by name of the set.
        ambiguous: labels without landmark that have several meanings, and these meanings.
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
        """Return the role of the marker with this label; None if it is unknown."""
        return next((role for role in self.roles if role.label == label), None)
