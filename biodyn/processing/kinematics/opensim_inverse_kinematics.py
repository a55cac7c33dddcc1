"""Coordinates of an OpenSim model from marker positions: OpenSim's inverse kinematics problem, solved to convergence.

In each frame sum_m w_m |p_WM - x_m(q)|^2 + W sum_j c_j (q_j - target_j)^2 is minimised over q within the ranges of clamped
coordinates, with W the sum of w over the visible markers. Locked and prescribed coordinates are given, coupled ones are
functions of others. OpenSim divides the marker term by the sum of its weights, hence the factor W (Simbody, Markers::calcGoal).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import ModelError
from biodyn.geometry.points import all_finite
from biodyn.processing.kinematics.visibility import undetermined_coordinates, undetermined_rotations, visibility_weights
from biodyn.processing.signals.filtering import finite_rms
from biodyn.rigid_body.coupling.coupled_multibody import TrackedMarkers, fit_coordinates
from biodyn.rigid_body.marker_fit import MIN_MARKERS, STOPPED, UNDETERMINED, UNSEEN, InverseKinematics
from biodyn.rigid_body.osim.model import Coordinate, OpenSimModel

#: If the distances are smaller, the markers were computed with this model.
OWN_MARKERS_M = 1e-6


@dataclass(frozen=True)
class TrackingTasks:
    """Weights and targets of the markers and coordinates that the fit follows.

    Attributes:
        markers: weight by name; None = weight 1 for every marker of the model.
        coordinates: weight and target of each coordinate by name; target in rad or m, a number or (T,); None = model default.
        fade_s: time over which the weight of a marker fades next to a gap, so that other markers are not affected abruptly; 0 =
        no fading, as in OpenSim.
    """

    markers: Mapping[str, float] | None = None
    coordinates: Mapping[str, tuple[float, float | FloatArray | None]] = field(default_factory=dict)
    fade_s: float = 0.0


@dataclass(frozen=True, eq=False)
class ModelFit:
    """Coordinates fitted to markers.

    Attributes:
        q: (T, n) values of all coordinates of the model, rad and m, NaN in frames without enough markers.
        labels, weights: names and weights of the M tracked markers. solution: errors (T, M) m, cost, steps, status of every
            frame.
        notes: findings about excluded tasks and undetermined coordinates.
        open: coordinates that the markers leave undetermined in some frame.
        followed: tracked markers on the model, with weights (T, M), 0 where not visible.
        recorded: measured positions (T, M, 3) m, in the order of `labels`.
        target_weights: weights (n,) of the tasks of the independent coordinates, as in `fit_coordinates`.
    """

    q: FloatArray
    labels: tuple[str, ...]
    weights: FloatArray
    solution: InverseKinematics
    notes: tuple[Diagnostic, ...]
    open: tuple[str, ...] = ()
    followed: TrackedMarkers | None = None
    target_weights: FloatArray | None = None
    recorded: FloatArray = field(default_factory=lambda: np.empty((0, 0, 3)))

    @property
    def rms_m(self) -> float:
        """RMS distance of all markers from their positions on the model, m."""
        return float(finite_rms(self.solution.marker_error.reshape(-1)))


def fit_to_markers(
    model: OpenSimModel,
    labels: Sequence[str],
    p_WM: FloatArray,
    time_s: FloatArray,
    tasks: TrackingTasks | None = None,
    report: bool = True,
) -> ModelFit:
    """Fit the coordinates of a model to recorded markers.

    labels, p_WM: (T, M, 3) m in the ground frame of the model, NaN = not visible. time_s: (T,) for prescribed coordinates.
    report: False omits the findings about the fit. Raises ModelError if model, recording and tasks have fewer than three common
    markers, or fewer than three with a weight above 0.
    """
    tasks = tasks or TrackingTasks()
    chosen, notes = _match_markers(model, labels, tasks)
    places = {marker.name: marker for marker in model.markers}
    weights = np.array([1.0 if tasks.markers is None else tasks.markers[name] for name in chosen])
    if np.count_nonzero(weights > 0.0) < MIN_MARKERS:
        raise ModelError(
            f"Only {np.count_nonzero(weights > 0.0)} of {len(chosen)} tracked markers have a weight above 0; a fit needs "
            f"{MIN_MARKERS}."
        )
    names, coupled = model.independent_coordinates()
    by_name = {coordinate.name: coordinate for coordinate in model.coordinates}
    free = [by_name[name] for name in names]
    lower, upper, given = _coordinate_limits(free, time_s)
    target_weights, targets, more = _coordinate_tasks(free, given, tasks, len(time_s))
    default = np.array([coordinate.default for coordinate in free])
    bodies = np.array([model.multibody.body_index(str(places[name].body)) for name in chosen])
    local = np.array([places[name].place_m for name in chosen])
    recorded = p_WM[:, [list(labels).index(name) for name in chosen]]
    rate_hz = 1.0 / float(np.median(np.diff(time_s))) if len(time_s) > 1 else 1.0
    seen = all_finite(recorded)
    by_frame = weights * visibility_weights(seen, round(tasks.fade_s * rate_hz))
    solution = fit_coordinates(
        coupled,
        bodies,
        local,
        recorded,
        by_frame,
        lower,
        upper,
        _initial_configurations(free, default),
        np.array([coordinate.to_ground for coordinate in free]),
        target_weights,
        targets,
    )
    free_to_move = np.asarray((lower < upper).all(axis=0))
    followed = TrackedMarkers(bodies, local, by_frame)
    at = undetermined_coordinates(coupled, followed, solution, free_to_move, target_weights) if report else ()
    q = np.full((len(p_WM), len(model.coordinates)), np.nan)
    turns = np.array([coordinate.to_ground and coordinate.rotational for coordinate in free])
    lost = undetermined_rotations(coupled, followed, solution.q, free_to_move, target_weights, turns, rate_hz)
    known = (solution.status != UNSEEN) & ~lost
    if known.any():
        q[known] = _insert_given_coordinates(model, names, solution.q[known])
    unclear = tuple(names[k] for k in at)
    notes += [*more, *(_fit_findings(solution, unclear, lost) if report else ())]
    return ModelFit(q, tuple(chosen), weights, solution, tuple(notes), unclear, followed, target_weights, recorded)


def _insert_given_coordinates(model: OpenSimModel, names: Sequence[str], q: FloatArray) -> FloatArray:
    everything = np.empty((len(q), len(model.coordinates)))
    at = [k for k, coordinate in enumerate(model.coordinates) if coordinate.name in names]
    everything[:, at] = q
    return model.apply_couplings(everything)


def _match_markers(
    model: OpenSimModel, labels: Sequence[str], tasks: TrackingTasks
) -> tuple[list[str], list[Diagnostic]]:
    """Return the markers common to model, recording and tasks, in the order of the model, and findings about unused tasks."""
    on_model = {marker.name: marker for marker in model.markers}
    wanted = set(on_model) if tasks.markers is None else set(tasks.markers)
    chosen = [
        name for name, marker in on_model.items() if name in wanted and name in labels and marker.body is not None
    ]
    if len(chosen) < MIN_MARKERS:
        raise ModelError(
            f"Model and recording have {len(chosen)} markers in common"
            + (" with a task in the set-up" if tasks.markers is not None else "")
            + f"; a fit needs {MIN_MARKERS}.",
            f"Markers of the model: {_list_text(on_model)}. Markers of the recording: {_list_text(labels)}.",
        )
    notes = []
    lacking = [name for name in wanted if name not in chosen]
    if tasks.markers is not None and lacking:
        notes.append(
            Diagnostic(
                "marker-weights",
                "warning",
                f"{len(lacking)} of {len(wanted)} markers of the set-up are not on the model or not in the recording: "
                f"{_list_text(sorted(lacking))}.",
                value=float(len(lacking)),
            )
        )
    return chosen, notes


def _coordinate_limits(free: Sequence[Coordinate], time_s: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return lower and upper limits (1 or T, n), and which coordinates (n,) are given because they are locked or prescribed."""
    prescribed = any(coordinate.prescribed and coordinate.prescription is not None for coordinate in free)
    rows = len(time_s) if prescribed else 1
    lower, upper = np.full((rows, len(free)), -np.inf), np.full((rows, len(free)), np.inf)
    given = np.zeros(len(free), dtype=np.bool_)
    for k, coordinate in enumerate(free):
        if coordinate.locked or coordinate.prescribed:
            given[k] = True
            function = coordinate.prescription if coordinate.prescribed else None
            lower[:, k] = coordinate.default if function is None else function.evaluate(time_s[None])[0]
            upper[:, k] = lower[:, k]
        elif coordinate.clamped and coordinate.lower <= coordinate.upper:
            lower[:, k], upper[:, k] = coordinate.lower, coordinate.upper
    return lower, upper, given


def _coordinate_tasks(
    free: Sequence[Coordinate], given: BoolArray, tasks: TrackingTasks, frames: int
) -> tuple[FloatArray, FloatArray, list[Diagnostic]]:
    """Return weights (n,) and targets (1 or T, n) of the coordinate tasks, and findings about unused ones."""
    long = any(isinstance(target, np.ndarray) for _, target in tasks.coordinates.values())
    target_weights, targets = np.zeros(len(free)), np.zeros((frames if long else 1, len(free)))
    for k, coordinate in enumerate(free):
        weight, target = tasks.coordinates.get(coordinate.name, (0.0, None))
        targets[:, k] = coordinate.default if target is None else target
        target_weights[k] = 0.0 if given[k] else weight
    unused = [name for name in tasks.coordinates if name not in {coordinate.name for coordinate in free}]
    if not unused:
        return target_weights, targets, []
    message = f"Coordinates of the set-up do not exist in the model or are coupled: {_list_text(unused)}."
    return target_weights, targets, [Diagnostic("marker-weights", "warning", message, value=float(len(unused)))]


def _initial_configurations(free: Sequence[Coordinate], default: FloatArray) -> FloatArray:
    """Return initial configurations (K, n) for the first frame: the default, and copies with the body rotated by right angles."""
    starts = [default]
    for k, coordinate in enumerate(free):
        if coordinate.to_ground and coordinate.rotational and not coordinate.locked:
            for turn in (0.5 * np.pi, np.pi, -0.5 * np.pi):
                start = default.copy()
                start[k] += turn
                starts.append(start)
    return np.array(starts)


def _fit_findings(solution: InverseKinematics, unclear: Sequence[str], lost: BoolArray) -> list[Diagnostic]:
    # OpenSim recommends 20 mm RMS. Beyond the second limit the marker names have other meanings, or the model is of
    # another person.
    far_m, too_far_m = 0.03, 0.08
    said = (
        (STOPPED, "ik-not-converged", "The fit did not converge in"),
        (UNDETERMINED, "ik-undetermined", f"The markers leave {_list_text(unclear)} undetermined in"),
        (UNSEEN, "ik-unseen", f"Fewer than {MIN_MARKERS} markers are visible in"),
    )
    notes = []
    for status, code, words in said:
        count = int(np.count_nonzero(solution.status == status))
        if count:
            message = f"{words} {count} of {len(solution.status)} frames."
            notes.append(Diagnostic(code, "warning", message, value=float(count)))
    if lost.any():
        rows = np.flatnonzero(lost)
        message = (
            f"In {len(rows)} of {len(lost)} frames ({rows[0]}-{rows[-1]}) the visible markers do not determine the "
            "orientation of the body that is joined to ground. These frames have no motion and no torques."
        )
        hint = "Fill the gaps of the markers of pelvis, trunk and thighs in the capture software, or cut the trial."
        frames = (int(rows[0]), int(rows[-1]))
        notes.append(
            Diagnostic(
                "root-undetermined", "warning", message, value=float(len(rows)), limit=0.0, frames=frames, hint=hint
            )
        )
    overall = float(finite_rms(solution.marker_error.reshape(-1)))
    if overall > far_m:
        message = (
            f"Marker tracking error: {1e3 * overall:.0f} mm RMS (limit {1e3 * far_m:.0f} mm). Do not use the torques."
        )
        hint = (
            "Scale the model to the person (--scale-setup or --static), and check that markers of the same name "
            "have the same location."
        )
        notes.append(
            Diagnostic(
                "model-far",
                "error" if overall > too_far_m else "warning",
                message,
                value=overall,
                limit=far_m,
                unit="m",
                hint=hint,
            )
        )
    return notes


def _list_text(names: Sequence[str] | Mapping[str, object]) -> str:
    most_names = 6  # number of names listed in a message
    shown = list(names)
    return ", ".join(shown[:most_names]) + (" ..." if len(shown) > most_names else "") if shown else "none"
