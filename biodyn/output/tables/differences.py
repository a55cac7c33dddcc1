"""Tables of a comparison of two results, and of a forward replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from biodyn.comparison.differences import UNEXPLAINED, Difference
from biodyn.comparison.exchange import CAUSES
from biodyn.conventions import SIDE_NAMES, FloatArray
from biodyn.verification.replay import Convergence, OpenLoop, Tracked


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


#: Errors of integrators span ten orders of magnitude: more decimals than other tables.
CONVERGENCE_DECIMALS = 15


def replay_drift(cases: Mapping[str, OpenLoop], names: Mapping[int, str]) -> pd.DataFrame:
    """One row per case (walk, rest), kind of torques, window length and ground; see `processing.replay.DriftRow`."""
    rows = []
    for case, found in cases.items():
        for row in found.rows:
            values = asdict(row) | {"coordinate": names[row.coordinate]}
            rows.append({"case": case.split(":")[0]} | values)
    frame = pd.DataFrame(rows)
    return frame.rename(columns={"coordinate": "most_drifted", "within": "share_within_tolerance"})


def replay_feedback(
    tracked: Sequence[Tracked], time_s: FloatArray, q: FloatArray, coordinates: Mapping[str, tuple[int, int]]
) -> pd.DataFrame:
    """Tidy: one row per frame and coordinate: recorded torque, feedback torque added to it, angle error of the replay.

    coordinates: index in q and in v by name.
    """
    blocks = []
    for part in tracked:
        frames = np.arange(part.frames[0], part.frames[1] + 1)
        for name, (at_q, at_v) in coordinates.items():
            blocks.append(
                pd.DataFrame(
                    {
                        "time_s": time_s[frames],
                        "coordinate": pd.Categorical.from_codes(np.zeros(len(frames), dtype=int), pd.Index([name])),
                        "recorded_Nm": part.recorded[:, at_v],
                        "feedback_Nm": part.feedback[:, at_v],
                        "error_deg": np.degrees(part.q[:, at_q] - q[frames, at_q]),
                    }
                )
            )
    table = pd.concat([block.astype({"coordinate": str}) for block in blocks], ignore_index=True)
    return table.astype({"coordinate": "category"})


def replay_convergence(found: Sequence[Convergence]) -> pd.DataFrame:
    """One row per integrator and step (or tolerance): largest error at the end of a short window, evaluations, order."""
    rows = [
        {
            "method": case.method,
            "window_s": case.window_s,
            "control": "relative tolerance" if case.method == "solve_ivp" else "steps a frame",
            "control_value": control,
            "error_rad_or_m": error,
            "evaluations": evaluations,
            "order": case.order,
        }
        for case in found
        for control, error, evaluations in zip(case.control, case.error, case.evaluations, strict=True)
    ]
    return pd.DataFrame(rows)
