"""What the estimate of motion and forces leaves over and moves: `python benchmarks/estimate.py WALK.c3d ...`.

A row a walk: base residual raw, as believed (before the last step) and left (RMS, N and Nm), the error of the balance of forces
that the trial shows, markers moved (RMS), the coordinate moved most (RMS, and the largest movement of any), the mass centre moved
most, and the processor time of the step on this machine. `--set inertia_sd_factor=0` and the like change entries of [estimation].

`--seconds 5 10 60`: processor time of the estimate of simulated walks of these lengths without and with bands, of the step that
propagates what is systematic, and the estimate's memory with bands (the second time, so that nothing is compiled).
"""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import Table, Walker, parser_of, record_session, write_session
from simulator import Person

from biodyn.trial.run import analyse_trial
from biodyn.trial.stages import SolvedTrial
from biodyn.trial.steps import STEPS, compute_uncertainty, estimate_motion_and_forces, with_step

WALKER = Walker(Person("Adam", height_m=1.78, mass_kg=74.0, sex="male"), 1.3, 1.1)
MOST_PLATES = 20  # channels that a C3D file holds

Settings = Mapping[str, Mapping[str, Any]]


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("walks", nargs="*", type=Path)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=NUMBER", help="entries of [estimation]")
    parser.add_argument("--seconds", nargs="*", type=float, default=[], help="simulated walks of these lengths")
    arguments = parser.parse_args()
    section: dict[str, Any] = {key: float(text) for key, text in (pair.split("=") for pair in arguments.set)}
    settings = {"signals": {"method": "estimate"}, "estimation": section}
    if arguments.walks:
        show_walks(arguments.walks, settings)
    if arguments.seconds:
        show_lengths(arguments.seconds, settings)


def show_walks(walks: Sequence[Path], settings: Settings) -> None:
    """Print what is left and moved of every walk."""
    table = Table(
        [
            "walk",
            "raw N / Nm",
            "believed N / Nm",
            "left N / Nm",
            "balance N",
            "markers mm",
            "moved most deg",
            "mass centre cm",
            "s",
            "frames",
        ]
    )
    spent: list[float] = []

    def timed(trial: SolvedTrial) -> SolvedTrial:
        begin = time.process_time()
        estimated = estimate_motion_and_forces(trial)
        spent.append(time.process_time() - begin)
        return estimated

    for walk in walks:
        analysis = analyse_trial(walk, settings=settings, torques_only=True, steps=with_step(STEPS, "estimate", timed))
        account = analysis.estimate
        assert account is not None
        most = int(np.argmax(account.moved_rms_rad))
        far = max(account.centre_shifts_m.items(), key=lambda item: float(np.abs(item[1]).max()))
        table.row(
            walk.stem,
            "{:.1f} / {:.1f}".format(*account.residual_before),
            "{:.1f} / {:.1f}".format(*account.residual_unclosed),
            "{:.1f} / {:.1f}".format(*account.residual_after),
            f"{account.balance_sd[0]:.1f}",
            f"{1e3 * account.marker_rms_m:.2f}",
            f"{account.coordinates[most]} {np.rad2deg(account.moved_rms_rad[most]):.2f} "
            f"({np.rad2deg(account.moved_max_rad.max()):.1f})",
            f"{far[0]} {100 * float(np.abs(far[1]).max()):.1f}",
            f"{spent[-1]:.1f}",
            str(len(analysis.fit.solved)),
        )


def show_lengths(lengths_s: Sequence[float], settings: Settings) -> None:
    """Print time and memory of the estimate of walks of several lengths."""
    solved = WALKER.walk()
    table = Table(
        [
            "walk, s",
            "frames",
            "coordinates",
            "markers",
            "estimate, s",
            "with bands, s",
            "systematic part, s",
            "memory, MB",
        ]
    )
    for seconds in lengths_s:
        strides = seconds / WALKER.stride_s
        options = replace(
            WALKER.laboratory, forward="+x", strides=strides, plate_types=(2,) * min(int(2 * strides), MOST_PLATES)
        )
        found: list[float] = []

        def several(trial: SolvedTrial, found: list[float] = found) -> SolvedTrial:
            def once(bands: bool) -> tuple[float, SolvedTrial]:
                own = trial.settings.uncertainty.model_copy(update={"compute": bands})
                begun = replace(trial, settings=trial.settings.model_copy(update={"uncertainty": own}))
                begin = time.process_time()
                estimated = estimate_motion_and_forces(begun)
                return time.process_time() - begin, estimated

            once(bands=True)
            found.extend(once(bands)[0] for bands in (False, True))
            _, estimated = once(bands=True)
            compute_uncertainty(estimated)
            begin = time.process_time()
            compute_uncertainty(estimated)
            found.append(time.process_time() - begin)
            tracemalloc.start()
            once(bands=True)
            found.append(tracemalloc.get_traced_memory()[1] / 1e6)
            tracemalloc.stop()
            return estimated

        with tempfile.TemporaryDirectory() as place:
            files = write_session(Path(place), *record_session(WALKER.person, options, solved))
            steps = with_step(STEPS, "estimate", several)
            analysis = analyse_trial(*files, settings=settings, torques_only=True, steps=steps)
        model = analysis.model
        table.row(
            f"{seconds:g}",
            str(len(analysis.fit.solved)),
            str(model.multibody.nv),
            str(len(model.markers)),
            *(f"{spent:.2f}" for spent in found[:-1]),
            f"{found[-1]:.0f}",
        )


if __name__ == "__main__":
    main()
