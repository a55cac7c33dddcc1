"""What each label of a recording is for: the landmark that it marks and the segment that carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MarkerRole:
    """What one marker is for: the landmark it marks ("" if none), its segment, its weight in the fit.

    `soft`: it rides on skin or a girdle that the model does not have; its place on the segment is taken from the walk.
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
        roles: one for each label that was understood.
        unknown: labels nobody explains; the fit attaches them by their movement.
        scores: share of the set's labels that are there, for the candidates: {name: score}.
        ambiguous: labels that could mean several things, and which: they mark no landmark.
        runner_up: name of the set that fits second best, "" where none does.
    """

    name: str
    title: str
    roles: tuple[MarkerRole, ...]
    unknown: tuple[str, ...]
    scores: dict[str, float]
    ambiguous: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    runner_up: str = ""

    def role(self, label: str) -> MarkerRole | None:
        """The role of a label, None if unknown."""
        return next((role for role in self.roles if role.label == label), None)
