"""What the estimate of motion and forces leaves over and moves: `python benchmarks/estimate.py WALK.c3d ...`.

A row a walk: base residual raw and left (RMS, N and Nm), markers moved (RMS), the coordinate moved most (RMS, and the largest
movement of any), the mass centre moved most, and the processor time of the step on this machine. `--set force_sd_n=1` and
the like change entries of [estimation].
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from common import Table, parser_of

from biodyn.trial.run import analyse_trial
from biodyn.trial.state import TrialState
from biodyn.trial.steps import STEPS, estimate, with_step


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("walks", nargs="+", type=Path)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=NUMBER", help="entries of [estimation]")
    arguments = parser.parse_args()
    section: dict[str, Any] = {key: float(text) for key, text in (pair.split("=") for pair in arguments.set)}
    settings = {"signals": {"method": "estimate"}, "estimation": section}
    table = Table(
        ["walk", "raw N / Nm", "left N / Nm", "markers mm", "moved most deg", "mass centre cm", "s", "frames"]
    )
    spent: list[float] = []

    def timed(trial: TrialState) -> None:
        begin = time.process_time()
        estimate(trial)
        spent.append(time.process_time() - begin)

    for walk in arguments.walks:
        analysis = analyse_trial(walk, settings=settings, torques_only=True, steps=with_step(STEPS, "estimate", timed))
        account = analysis.estimate
        assert account is not None
        most = int(np.argmax(account.moved_rms_rad))
        far = max(account.centre_shifts_m.items(), key=lambda item: float(np.abs(item[1]).max()))
        table.row(
            walk.stem,
            "{:.1f} / {:.1f}".format(*account.residual_before),
            "{:.1f} / {:.1f}".format(*account.residual_after),
            f"{1e3 * account.marker_rms_m:.2f}",
            f"{account.coordinates[most]} {np.rad2deg(account.moved_rms_rad[most]):.2f} "
            f"({np.rad2deg(account.moved_max_rad.max()):.1f})",
            f"{far[0]} {100 * float(np.abs(far[1]).max()):.1f}",
            f"{spent[-1]:.1f}",
            str(len(analysis.fit.solved)),
        )


if __name__ == "__main__":
    main()
