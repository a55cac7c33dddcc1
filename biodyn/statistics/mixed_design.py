"""The fixed effects of a mixed model as columns of a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import StatisticsError


@dataclass(frozen=True)
class Design:
    """Columns of the fixed effects.

    Attributes:
        matrix: (n, p), the intercept first.
        names: of the columns.
        effects: columns of each factor, covariate and interaction.
        references: reference level of each factor.
    """

    matrix: FloatArray
    names: tuple[str, ...]
    effects: dict[str, list[int]]
    references: dict[str, object]


def fixed_effects(
    factors: Mapping[str, np.ndarray],
    covariates: Mapping[str, FloatArray],
    interactions: Sequence[tuple[str, str]],
    references: Mapping[str, object],
    count: int,
) -> Design:
    """Return the columns: intercept, each factor's levels but the reference, covariates, products of pairs.

    Raises:
        StatisticsError: unknown names, a factor of one level, or columns that depend on each other.
    """
    both = set(factors) & set(covariates)
    if both:
        raise StatisticsError(f"{sorted(both)} are factors and covariates at once.")
    blocks: dict[str, list[tuple[str, FloatArray]]] = {}
    used: dict[str, object] = {}
    for name, labels in factors.items():
        levels = list(dict.fromkeys(labels.tolist()))
        reference = references.get(name, levels[0] if levels else None)
        if reference not in levels or len(levels) < 2:
            raise StatisticsError(
                f"Factor {name!r} needs two levels or more, the reference {reference!r} among them; found {levels}."
            )
        used[name] = reference
        blocks[name] = [(f"{name}[{level}]", (labels == level).astype(float)) for level in levels if level != reference]
    blocks.update({name: [(name, column)] for name, column in covariates.items()})
    for first, second in interactions:
        missing = [name for name in (first, second) if name not in blocks]
        if missing:
            raise StatisticsError(f"Interaction of unknown {missing} (there are: {', '.join(blocks) or 'none'}).")
        blocks[f"{first}:{second}"] = [(f"{a}:{b}", one * two) for a, one in blocks[first] for b, two in blocks[second]]
    names, columns, effects = ["intercept"], [np.ones(count)], {}
    for effect, block in blocks.items():
        effects[effect] = list(range(len(names), len(names) + len(block)))
        names += [name for name, _ in block]
        columns += [column for _, column in block]
    matrix = np.column_stack(columns)
    lengths = np.linalg.norm(matrix, axis=0)
    if (lengths == 0.0).any() or np.linalg.matrix_rank(matrix / lengths) < len(names):
        raise StatisticsError(
            f"The data cannot tell these effects apart: {', '.join(names[1:])}.",
            "Look for combinations of levels that never occur, or a covariate that is constant.",
        )
    return Design(matrix, tuple(names), effects, used)
