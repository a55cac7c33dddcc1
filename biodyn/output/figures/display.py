"""How figures are laid out: which variables stand in which panel; data of the library.

What a variable means (title, unit, sign, side rule, norms) is said by `biodyn.variables`, not here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from biodyn.library.load import load_table


@cache
def display_table() -> dict[str, Any]:
    """The library's display table: panels of the figures."""
    return load_table("figures/display")
