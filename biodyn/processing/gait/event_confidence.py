"""How sure a gait event is: the probability that it lies within 20 ms of the true one (`library/gait/events.toml`)."""

from __future__ import annotations

import math

from scipy.special import stdtr

from biodyn.library.load import load_table


def probability_close(error_s: float, bias_s: float = 0.0) -> float:
    """Probability to lie within `close_s` for a bias and a standard deviation, s; heavy-tailed (`tail_df`)."""
    table = load_table("gait/events")
    df, close_s = float(table["tail_df"]), float(table["close_s"])
    scale = error_s * math.sqrt((df - 2.0) / df)
    return float(stdtr(df, (close_s - bias_s) / scale) - stdtr(df, (-close_s - bias_s) / scale))
