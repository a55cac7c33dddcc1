"""How far forward of the forces a body's mass centre lies: `python benchmarks/mass_centre.py [FOLDER ...] [--tables NAME ...]`.

Real walks with plates (without a folder: folder gait of BIODYN_TEST_DATA), analysed with each anthropometric table. In every
frame the ground reaction must turn the body as it turns; where it does not, the moment about the mass centre over the vertical
force is a lever. Its mean, weighed by the force, is how far the model's mass centre lies too far forward along the walk, and to
the right. A plate that stands elsewhere looks alike, but not to somebody who walks back over it.

A row a walk and table: those two levers, the base residual as recorded, then what the estimate of motion and forces makes of it:
how far forward and to the right it finds the plates (mean of those that it knows to 4.7 mm), and how far forward it moves the
trunk's mass centre. `--standing WALK ...`: of walks whose static trial stands on plates, centre of pressure minus mass centre
while standing.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from common import Record, Table, parser_of, real_recordings, walks_below

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.errors import BiodynError
from biodyn.estimation.summary import EstimateSummary
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.trial.run import analyse_trial
from biodyn.trial.stages import PreparedTrial, ScaledTrial
from biodyn.trial.steps import STEPS, scale_skeleton, with_step

_KNOWN_M = 0.0047  # standard deviation left of a plate's place; more of the prior's 5 mm is hardly told by the walk
_UP = np.array([0.0, 1.0, 0.0])
_HEADS = ("walk", "table", "forward mm", "right mm", "residual N / Nm", "plates forward / right mm", "trunk forward mm")


def main() -> None:
    parser = parser_of(__doc__, folders=True)
    parser.add_argument("--tables", nargs="+", default=["de_leva_1996", "dumas_2007", "de_leva_dumas"])
    parser.add_argument("--standing", nargs="*", type=Path, default=[], metavar="WALK")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)
    if arguments.standing:
        show_standing(arguments.standing, arguments.tables)
        return
    record, rows = Record("mass_centre", vars(arguments)), Table(_HEADS)
    levers: dict[str, list[float]] = {name: [] for name in arguments.tables}
    for folder in arguments.folders or [real_recordings() / "gait"]:
        for path in walks_below(folder):
            for name in arguments.tables:
                try:
                    found = _walk(path, name)
                except BiodynError as error:
                    rows.row(path.stem, name, error.message)
                    continue
                levers[name].append(found[0])
                rows.row(
                    path.stem,
                    name,
                    *(f"{value:.1f}" for value in found[:2]),
                    "{:.1f} / {:.1f}".format(*found[2:4]),
                    "{:.1f} / {:.1f}".format(*found[4:6]),
                    f"{found[6]:.1f}",
                )
    for name, values in levers.items():
        record.add(f"{name}: forward, mean of the walks", float(np.mean(values)), "mm")
    record.close()


def _walk(path: Path, table: str) -> tuple[float, ...]:
    settings = {"signals": {"method": "estimate"}, "model": {"anthropometry": table}}
    analysis = analyse_trial(path, settings=settings, torques_only=True)
    account = analysis.estimate
    assert account is not None
    forward = _direction(account)
    right = np.cross(forward, _UP)
    levers = 1e3 * _levers(account) @ np.stack([forward, right], axis=1)
    trunk = 1e3 * _moved(account, "torso") @ forward
    return (*levers, *account.residual_before, *_plates(analysis, forward, right), float(trunk))


def _direction(account: EstimateSummary) -> FloatArray:
    """Horizontal unit vector (3,) of the way that the pelvis goes."""
    _, places = account.raw_fit.body_pose(account.raw_fit.model.skeleton.root.name)
    seen = places[np.isfinite(places).all(axis=1)]
    way = (seen[-1] - seen[0]) * (1.0, 0.0, 1.0)
    return np.asarray(way / np.linalg.norm(way))


def _levers(account: EstimateSummary) -> FloatArray:
    """How far (3,) m in World the mass centre lies horizontally beyond the forces' line, weighed by the vertical force."""
    fit, dynamics = account.raw_fit, account.raw_dynamics
    _, root = fit.body_pose(fit.model.skeleton.root.name)
    about = dynamics.residual_moment + np.cross(root - _mass_centre(fit), dynamics.residual_force)
    vertical = sum(np.nan_to_num(wrench[:, 4]) for wrench in account.raw_reaction.wrench.values())
    known = dynamics.residual_valid
    # a force that acts d too far back lacks the moment d x F
    lever = np.cross(_UP, about[known])
    return np.asarray(vertical[known] @ lever / np.sum(vertical[known] ** 2))


def _mass_centre(fit: Fit) -> FloatArray:
    """The body's mass centre (T, 3) m."""
    total = np.zeros((len(fit.solved), 3))
    for body in fit.model.bodies:
        R, p = fit.body_pose(body.definition.name)
        total += body.inertia.mass * (R @ body.inertia.com + p)
    return total / fit.model.mass_kg


def _plates(analysis: TrialAnalysis, forward: FloatArray, right: FloatArray) -> tuple[float, float]:
    """Mean place of the plates along both directions, mm."""
    assert analysis.estimate is not None
    plates = analysis.estimate.plates
    axes = analysis.R_WL[:, ["xyz".index(axis) for axis in plates.axes]]
    told = [axes @ error.shift_m for error in plates.errors if error.shift_sd_m.max() < _KNOWN_M]
    if not told:
        return float("nan"), float("nan")
    mean = 1e3 * np.mean(told, axis=0)
    return float(mean @ forward), float(mean @ right)


def _moved(account: EstimateSummary, segment: str) -> FloatArray:
    """Mean move (3,) m of a segment's mass centre, World."""
    R, _ = account.raw_fit.body_pose(segment)
    return np.asarray(np.nanmean(R @ account.centre_shifts_m[segment], axis=0))


def show_standing(walks: list[Path], tables: list[str]) -> None:
    """Print where people stand on plates: centre of pressure minus the model's mass centre."""
    rows = Table(("static trial", "table", "carried kg", "forward mm", "right mm"))
    for path in walks:
        for name in tables:
            kept: list[ScaledTrial] = []

            def scaled(trial: PreparedTrial, kept: list[ScaledTrial] = kept) -> ScaledTrial:
                kept.append(scale_skeleton(trial))
                return kept[-1]

            steps = with_step(STEPS, "scaling", scaled)
            settings = {"signals": {"method": "butterworth"}, "model": {"anthropometry": name}}
            analyse_trial(path, settings=settings, torques_only=True, steps=steps)
            static, force, apart = kept[0].static.path.name, *_standing(kept[0])
            rows.row(static, name, f"{force / 9.80665:.1f}", f"{1e3 * apart[0]:.1f}", f"{1e3 * apart[1]:.1f}")


def _standing(trial: ScaledTrial) -> tuple[float, FloatArray]:
    """Vertical force N, and how far (2,) m the pressure lies forward and right of the mass centre; the plates as they read."""
    model, _ = trial.scaling.model()
    poses = trial.scaling.poses([body.name for body in model.skeleton.bodies], model.height_m, {})
    centre = sum(
        body.inertia.mass * (poses[body.definition.name][0] @ body.inertia.com + poses[body.definition.name][1])
        for body in model.bodies
    )
    markers, rows = trial.static.markers, slice(trial.standing.first, trial.standing.last + 1)
    total = np.zeros(6)
    for plate in trial.static.plates:
        wrench = plate_wrench(plate, markers.frame_count, markers.rate_hz)
        every = round(wrench.rate_hz / markers.rate_hz)
        total += np.mean(wrench.wrench[every * rows.start : every * rows.stop], axis=0)
    pressure = np.array([total[2], 0.0, -total[0]]) / total[4]
    apart = pressure - np.asarray(centre) / model.mass_kg
    forward = poses[model.skeleton.root.name][0][:, 0] * (1.0, 0.0, 1.0)
    forward = forward / np.linalg.norm(forward)
    return float(total[4]), np.array([apart @ forward, apart @ np.cross(forward, _UP)])


if __name__ == "__main__":
    main()
