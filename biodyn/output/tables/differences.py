"""The table of a comparison: a row per joint, plane and quantity, a column per cause."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from biodyn.comparison.differences import UNEXPLAINED, Difference
from biodyn.comparison.exchange import CAUSES
from biodyn.conventions import SIDE_NAMES


def causes_in(found: Sequence[Difference]) -> list[str]:
    """The causes that any difference has, in the order of tables; what is unexplained last."""
    held = {name for one in found for name in one.shares} - {UNEXPLAINED}
    own = [name for name in CAUSES if name in held]
    return [*sorted(held - set(own)), *own, UNEXPLAINED]


def difference_table(found: Sequence[Difference]) -> pd.DataFrame:
    """Return a row per difference: what, its unit, rms, mean (second minus first), size (RMS of the first),
    unexplained_rms (RMS of what no cause explains), and a column of per cents per cause.
    """
    causes = causes_in(found)
    return pd.DataFrame(
        [
            {
                "quantity": one.quantity,
                "joint": one.joint,
                "side": SIDE_NAMES.get(one.side, ""),
                "plane": one.plane,
                "unit": one.unit,
                "rms": one.rms,
                "mean": one.mean,
                "size": one.size,
                "unexplained_rms": one.left,
            }
            | {f"{cause.replace(' ', '_')}_pct": _per_cent(one, cause) for cause in causes}
            for one in found
        ]
    )


def _per_cent(one: Difference, cause: str) -> float:
    """Share of a cause; missing where there is no difference to share."""
    return 100.0 * one.shares.get(cause, 0.0) if one.shares else float("nan")
