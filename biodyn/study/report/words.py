"""Numbers and names as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES
from biodyn.output.figures.curves import unit_words
from biodyn.study.report.means import BOTH
from biodyn.variables import is_known, variable

MISSING = "–"
_IDENTIFIER = re.compile(r"\b[a-z][a-z0-9]*(?:_[A-Za-z0-9]+)+\b")


def number(value: float, unit: str = "") -> str:
    """A value with the digits its unit deserves; a dash where there is none."""
    if value is None or not np.isfinite(value):
        return MISSING
    digits = _digits(unit, abs(value))
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def spread(mean: float, sd: float, unit: str) -> str:
    """Mean ± SD."""
    if not np.isfinite(mean):
        return MISSING
    text = f" ± {sd:.{_digits(unit, abs(mean))}f}" if np.isfinite(sd) else ""
    return number(mean, unit) + text


def probability(p: float) -> str:
    """A p value: three digits, "< 0.001" below."""
    if not np.isfinite(p):
        return MISSING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _digits(unit: str, size: float) -> int:
    if unit in ("deg", "%", "steps/min"):
        return 1
    return 3 if size < 0.1 else 2


def side_words(side: str) -> str:
    """ "right", "left", or both."""
    return "both sides" if side == BOTH else SIDE_NAMES.get(side, side)  # type: ignore[call-overload, no-any-return]


def versus(comparison: str) -> str:
    """A comparison with a minus sign."""
    return comparison.replace(" - ", " − ")


def condition_words(rows: pd.DataFrame) -> dict[str, str]:
    """Conditions in words; nothing where there is one without a name."""
    found = list(dict.fromkeys(rows["condition"]))
    return {condition: level_words(condition, "condition") if len(found) > 1 else condition for condition in found}


def level_words(level: str, factor: str) -> str:
    """A condition or group; words where it has no name."""
    return level or f"(no {factor})"


@dataclass(frozen=True)
class Names:
    """Words for the variables and parameters of a study; `parameters` by name: title and unit."""

    parameters: Mapping[str, tuple[str, str]]

    def title(self, name: str) -> str:
        """Title of a parameter or variable."""
        if name in self.parameters:
            return self.parameters[name][0]
        return variable(name).title

    def spoken(self, sentence: str) -> str:
        """A sentence with the names of tables replaced by words, where it names any."""
        return _IDENTIFIER.sub(lambda match: self._word(match[0]), sentence)

    def _word(self, name: str) -> str:
        if "_" in name and (name in self.parameters or is_known(name)):
            return self.title(name)
        return name


def unit(name: str) -> str:
    """A unit in words; nothing for one."""
    return unit_words(name)
