"""What the walks of a session tell of constants that they share: inertias of the body, errors of the plates.

Each walk gives an information matrix and a gradient, its motion left free; their sum with what was known before gives the
constants of all. Nothing else of a walk is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from biodyn.conventions import FloatArray

# How far a gross error goes, in standard deviations of the usual ones; until when the shares of both are found anew.
_GROSS = 8.0
_MOST_ROUNDS, _SETTLED = 50, 1e-6


@dataclass(frozen=True)
class Known:
    """Constants (P,) after all that was told, in standard deviations of before.

    Attributes:
        values, sd: the constants, and the standard deviations that are left.
        drawn: what each was drawn towards 0 with: 1 = its own standard deviation, more where its error is a gross one.
    """

    values: FloatArray
    sd: FloatArray
    drawn: FloatArray


@dataclass(frozen=True)
class Told:
    """What a stretch tells of constants, in standard deviations of before, the motion left free.

    Attributes:
        names: (P,) of the constants. information: (P, P), and pull (P,): the value is where information @ value = pull.
        seldom_gross: groups of names whose errors are usual ones or, seldom, gross ones, each group as a whole.
        gross_share: how seldom.
    """

    names: tuple[str, ...]
    information: FloatArray
    pull: FloatArray
    seldom_gross: tuple[tuple[str, ...], ...] = ()
    gross_share: float = 0.0

    def with_others(self, others: Sequence[Told]) -> Known:
        """Return the own constants, from all that is told of them and of before.

        What is believed before of an error that may be gross is a mixture of two normal densities. Which of them it is of is
        found by expectation and maximisation (Dempster et al. 1977): a small error is drawn towards 0 as ever, a large one
        hardly.
        """
        names = list(dict.fromkeys((*self.names, *(name for other in others for name in other.names))))
        information, pull = np.zeros((len(names), len(names))), np.zeros(len(names))
        for told in (self, *others):
            at = np.array([names.index(name) for name in told.names], dtype=np.int64)
            information[np.ix_(at, at)] += told.information
            pull[at] += told.pull
        may_be_gross = {group for told in (self, *others) for group in told.seldom_gross if self.gross_share}
        places = [[names.index(name) for name in group] for group in may_be_gross]
        before = np.ones(len(names))
        for _ in range(_MOST_ROUNDS):
            left = np.linalg.inv(information + np.diag(before))
            values, variance, last = left @ pull, np.diag(left), before.copy()
            for group in places:
                square = float(np.sum(values[group] ** 2 + variance[group]))
                before[group] = _precision(square, len(group), self.gross_share)
            if np.abs(before - last).max(initial=0.0) < _SETTLED:
                break
        count = len(self.names)
        return Known(values[:count], np.sqrt(variance[:count]), 1.0 / np.sqrt(last[:count]))


def _precision(square: float, count: int, gross_share: float) -> float:
    """Expected precision of `count` numbers with this sum of squares, of usual errors (1) or of gross ones."""
    log_odds = 0.5 * square * (1.0 - _GROSS**-2) - count * np.log(_GROSS) + logit(gross_share)
    gross = expit(log_odds)
    return float(1.0 - gross + gross / _GROSS**2)
