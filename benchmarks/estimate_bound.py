"""How true the torques of a recording could be at best: `python benchmarks/estimate_bound.py`.

An observer who knows the simulator: the covariance of the skin's movement (from draws of it), the sizes of the noise and of the
errors of joint centres, inertias and plates, all forces without noise (beside the plates too), that the knees are hinges, and how
fast each torque of this person changes as long after a strike. He does not know the values. Markers, the balance of the body and
that knowledge are linearised about the truth; his torques then err by the covariance of the posterior, of which samples are
drawn. No estimate that knows no more of torques than their smoothness does better on average; one that knew how walks resemble
each other might. Left out: what moves above 50 Hz, knees that are no hinges.

Rows: RMS error as a ratio to that of the program at 6 Hz in the same frames, pooled over the people: of the program's estimate;
of the observer; of the observer who is told one kind of error, or all but the noise; then how his error's variance is divided by
frequency and by part of the stride. Recordings smoothed before storing are left out, for their noise is not white.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from common import Record, Table, parser_of
from estimate_sources import analysed
from rough_walks import BASE, TORQUES, series_of, true_series
from simulator.reaction import stance_of, walk_strikes
from simulator.rough_walks import RoughRecording, class_of, hinged_model, rough_recording
from simulator.skin import soft_tissue
from simulator.tables import load_data
from simulator.walking import Walk
from simulator.wobble import swinging

from biodyn.conventions import SIDE_SIGN, SIDES, FloatArray, without_side
from biodyn.estimation.estimation_problem import EstimationProblem, StretchMotion, UniformSpline
from biodyn.estimation.noise_model import (
    NoiseModel,
    coordinate_kinds,
    map_by_time_after_strike,
    strike_torque_change_rms,
    times_since_strikes,
)
from biodyn.estimation.normal_equation_terms import (
    REACH,
    add_marker_terms,
    derivatives_by_coefficients,
    marker_information,
    nonzero_weights,
    torque_derivatives,
)
from biodyn.estimation.solver import CholeskyFactor, NormalEquations
from biodyn.estimation.unknown_parameters import InertiaUnknowns, PlateUnknowns
from biodyn.model.body_model import SubjectModel, with_inertias, with_misplaced_centre
from biodyn.model.observability import marker_jacobian
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.recording import Contact
from biodyn.rigid_body import body_poses, inverse_dynamics
from biodyn.uncertainty.error_sources import group_segments_by_kind, scale_mass
from biodyn.uncertainty.propagation_inputs import load_magnitudes

SMOOTHED = "smoothed_before"
KINDS = ("skin", "joint centres", "masses", "plates")
BANDS_HZ = (2.0, 6.0, 20.0)
PARTS = ("swing", "stance", "own strike", "other's strike")
STRIKE_S = (-0.03, 0.10)
LOADED_S = 0.2  # a foot stays that long at least
DRAWS, SAMPLES = 100, 30
SKIN_KEPT = 0.999  # of the variance of a segment's skin
SMALL = 1e-3  # of a unit, for differences
LEAST_NOISE_M = 1e-4
LEAST_CHANGE_NM = 0.02
ROOT_SD = (0.2, 0.5)  # Nm, N: what the forces' own noise does to the balance
FIRM = 1e-6  # precision of what nothing else holds


@dataclass(frozen=True)
class Unknown:
    """Constants of one kind: what one standard deviation of each moves the markers by (T, M, 3, P), the torques by (T, nv, P)."""

    kind: str
    markers: FloatArray
    torques: FloatArray


@dataclass(frozen=True)
class Scene:
    """The truth with knees that are hinges: model, motion, wrenches (T, 2, 6), the markers' columns in the recording."""

    recording: RoughRecording
    walk: Walk
    model: SubjectModel
    path: StretchMotion
    wrenches: FloatArray
    links: FloatArray
    columns: list[int]

    def markers(self, model: SubjectModel) -> FloatArray:
        """Markers (T, M, 3) of a model in this motion."""
        R, p = body_poses(model.multibody, self.path.q)
        links, p_LM, _ = model.marker_arrays()
        places = p[:, links] + (R[:, links] @ p_LM[:, :, None])[..., 0]
        return np.asarray(places[:, self.columns])

    def torques(self, model: SubjectModel, wrenches: FloatArray | None = None) -> FloatArray:
        """Generalised forces (T, nv) of a model in this motion."""
        own = self.wrenches if wrenches is None else wrenches
        return inverse_dynamics(model.multibody, self.path.q, self.path.v, self.path.vdot, own, self.links)


def scene_of(recording: RoughRecording, name: str, seed: int) -> Scene:
    """Take the truth onto the hinged model."""
    truth, model = recording.truth, hinged_model(name, seed)
    assert isinstance(recording.motion, Walk)
    there = {c.name: c for c in truth.body.model.coordinates}
    q = np.zeros((len(truth.q), model.multibody.nq))
    v, vdot = np.zeros((2, len(q), model.multibody.nv))
    q[:, :7], v[:, :6], vdot[:, :6] = truth.q[:, :7], truth.v[:, :6], truth.vdot[:, :6]
    for c in model.coordinates:
        q[:, c.q_index] = truth.q[:, there[c.name].q_index]
        v[:, c.v_index], vdot[:, c.v_index] = truth.v[:, there[c.name].v_index], truth.vdot[:, there[c.name].v_index]
    seen = [i for i, marker in enumerate(model.markers) if marker.label in truth.labels]
    links = np.array([model.frames[model.sole_body[side]].link for side in SIDES])
    wrenches = np.stack([truth.wrench[side] for side in SIDES], axis=1)
    return Scene(recording, recording.motion, model, StretchMotion(q, v, vdot), wrenches, links, seen)


def skin(scene: Scene, draws: int) -> Unknown:
    """Movements of the skin: each segment's markers together, by the main components of draws."""
    walk, truth, options = scene.walk, scene.recording.truth, scene.recording.truth.options
    time_s = truth.time_s - options.lead_in * walk.stride_s
    phase, struck = time_s / walk.stride_s, walk_strikes(walk, time_s)
    labels = list(walk.body.static_points)
    found = []
    for seed in range(10_000, 10_000 + draws):
        moved = soft_tissue(walk.body, truth.q, phase, seed)
        if options.wobble:
            moved = moved + swinging(walk.body, time_s, struck, seed)
        found.append(moved)
    of = {m.label: m.body for m in scene.model.markers}
    own = [scene.model.markers[i].label for i in scene.columns]
    R, _ = body_poses(scene.model.multibody, scene.path.q)
    pieces = []
    for body in dict.fromkeys(of[label] for label in own):
        rows = [i for i, label in enumerate(own) if of[label] == body]
        at = [labels.index(own[i]) for i in rows]
        all_of = np.stack([moved[:, at] for moved in found]).reshape(draws, -1)
        _, size, shape = np.linalg.svd((all_of - all_of.mean(axis=0)) / np.sqrt(draws - 1), full_matrices=False)
        kept = 1 + int(np.searchsorted(np.cumsum(size**2) / np.sum(size**2), SKIN_KEPT))
        local = (size[:kept, None] * shape[:kept]).reshape(kept, len(truth.q), len(rows), 3)
        frame = scene.model.frames[body]
        piece = np.zeros((len(truth.q), len(own), 3, kept))
        piece[:, rows] = np.einsum("tij,ktmj->tmik", R[:, frame.link] @ frame.R_LB, local)
        pieces.append(piece)
    markers = np.concatenate(pieces, axis=3)
    return Unknown("skin", markers, np.zeros((len(truth.q), scene.model.multibody.nv, markers.shape[3])))


def changed_models(scene: Scene, kind: str, models: list[SubjectModel]) -> Unknown:
    """Differences of models that are off by `SMALL` of a standard deviation."""
    at, tau = scene.markers(scene.model), scene.torques(scene.model)
    return Unknown(
        kind,
        np.stack([(scene.markers(model) - at) / SMALL for model in models], axis=3),
        np.stack([(scene.torques(model) - tau) / SMALL for model in models], axis=2),
    )


def centres(scene: Scene) -> Unknown:
    """Joint centres that are off, both sides as mirror images."""
    sizes, kinds = load_magnitudes().joint_centre_m, defaultdict(list)
    for part in scene.model.moving_segments:
        if part.definition.name in sizes:
            kinds[without_side(part.definition.name, part.definition.side)].append(part.definition)
    models = []
    for members in kinds.values():
        for axis in range(3):
            model = scene.model
            for one in members:
                shift = SMALL * sizes[one.name] * np.eye(3)[axis]
                model = with_misplaced_centre(
                    model, one.name, shift * (1.0, 1.0, SIDE_SIGN[one.side] if one.side else 1.0)
                )
            models.append(model)
    return changed_models(scene, "joint centres", models)


def masses(scene: Scene) -> Unknown:
    """Masses, moments and mass centres of segments that are off, both sides alike."""
    sizes, models = load_magnitudes(), []
    bodies = [part.definition.name for part in scene.model.bodies]
    before = {body.definition.name: body.inertia for body in scene.model.bodies if body.definition.name in bodies}
    total = scene.model.mass_kg
    for group in group_segments_by_kind(scene.model):
        share = sum(before[name].mass for name in group) / total
        more = {n: 1.0 + SMALL * sizes.mass_share * ((n in group) - share) for n in bodies}
        models.append(with_inertias(scene.model, {n: scale_mass(before[n], more[n]) for n in bodies}))
        turned = {n: replace(before[n], tensor=before[n].tensor * (1.0 + SMALL * sizes.moment_share)) for n in group}
        models.append(with_inertias(scene.model, {**before, **turned}))
        for axis in range(2):
            step = SMALL * sizes.com_m * np.eye(3)[axis]
            moved = {n: replace(before[n], com=before[n].com + step) for n in group}
            models.append(with_inertias(scene.model, {**before, **moved}))
    return changed_models(scene, "masses", models)


def plates(scene: Scene) -> Unknown:
    """Plates that stand elsewhere and read too much."""
    table = load_data("rough_walks")
    entry = {**table["errors"], **table["class"][scene.recording.name]}
    truth, walk = scene.recording.truth, scene.walk
    time_s = truth.time_s - truth.options.lead_in * walk.stride_s
    tau, columns = scene.torques(scene.model), []
    for number in range(len(truth.plates)):
        here, foot = stance_of(walk, time_s, number), number % 2
        own = np.where(here[:, None], scene.wrenches[:, foot], 0.0)
        changes = [entry["plate_gain"] * own]
        for axis in np.eye(3)[[0, 2]]:
            change = np.zeros_like(own)
            change[:, :3] = np.cross(1e-3 * entry["plate_mm"] * axis, own[:, 3:])
            changes.append(change)
        for change in changes:
            wrenches = scene.wrenches.copy()
            wrenches[:, foot] += change
            columns.append(scene.torques(scene.model, wrenches) - tau)
    nothing = np.zeros((len(tau), len(scene.columns), 3, len(columns)))
    return Unknown("plates", nothing, np.stack(columns, axis=2))


@dataclass(frozen=True)
class Observed:
    """Samples (S, T, nv) of the observer's errors by what he is told, and the frames (T,) that he sees in balance."""

    errors: Mapping[str, FloatArray]
    balanced: FloatArray


def observe(scene: Scene, unknowns: list[Unknown], samples: int) -> Observed:
    """Draw the errors of the observer."""
    truth, model, nv = scene.recording.truth, scene.model, scene.model.multibody.nv
    frames, rate_hz = len(truth.q), truth.options.rate_hz
    balanced = np.ones(frames, dtype=np.bool_)  # forces beside the plates are known to the observer too
    noise_m = max(1e-3 * truth.options.noise_mm, LEAST_NOISE_M)
    knots = UniformSpline(frames, 1, rate_hz)
    weights = np.zeros((frames, len(model.markers)))
    weights[:, scene.columns] = 1.0
    problem = _problem(scene, knots, weights, noise_m, balanced)
    normal = NormalEquations(knots.coefficient_count, REACH, nv)
    information = marker_information(problem, scene.path.q)[0]
    add_marker_terms(normal, problem, information, np.zeros((frames, nv)))
    parts = torque_derivatives(problem, model.multibody, scene.path)
    by_motion = derivatives_by_coefficients(knots, parts, 0)
    root = balanced[:, None] / np.repeat(ROOT_SD, 3)
    root_rows = by_motion[:, :6] * root[:, :, None, None]
    normal.add_rows(0, root_rows, np.zeros((frames, 6)))
    # second differences of all torques where they are known, each as large as in this walk at this moment
    change = np.maximum(_changes(scene), LEAST_CHANGE_NM)
    known = 1.0 / change
    wide = np.zeros((frames - 2, nv - 6, by_motion.shape[2] + 2, nv))
    for i, w in enumerate((1.0, -2.0, 1.0)):
        wide[:, :, i : i + by_motion.shape[2]] += w * by_motion[i : frames - 2 + i, 6:]
    wide *= known[:, :, None, None]
    normal.add_rows(0, wide, np.zeros(wide.shape[:2]))
    normal.add_diagonal(
        0, np.ones(1), np.full((knots.coefficient_count, nv), FIRM / noise_m), np.zeros((knots.coefficient_count, nv))
    )
    factor = CholeskyFactor(normal)
    X = np.concatenate([one.markers for one in unknowns], axis=3) / noise_m
    torques = np.concatenate([one.torques for one in unknowns], axis=2)
    P = X.shape[3]
    J = marker_jacobian(model, scene.path.q)[:, scene.columns].reshape(frames, -1, nv) / noise_m
    flat = X.reshape(frames, -1, P)
    seen = J.transpose(0, 2, 1) @ flat
    coupled = np.zeros((knots.coefficient_count, nv, P))
    for i, w in enumerate(nonzero_weights(knots.weights[0][0])):
        coupled[i : i + frames, :, :P] += w * seen
    of_root = torques[:, :6] * root[:, :, None]
    of_change = np.diff(torques[:, 6:], 2, axis=0) * known[:, :, None]
    for rows, values in ((root_rows, of_root), (wide, of_change)):
        for s in range(rows.shape[2]):
            coupled[s : s + len(rows)] += rows[:, :, s].transpose(0, 2, 1) @ values
    own = sum(part.reshape(-1, P).T @ part.reshape(-1, P) for part in (flat, of_root, of_change))
    halved = factor.solve_forward(coupled)[:, :, :P].reshape(-1, P)
    whole = np.eye(P) + own - halved.T @ halved
    kinds = np.concatenate([np.full(one.torques.shape[2], KINDS.index(one.kind)) for one in unknowns])
    rng, errors = np.random.default_rng(0), {}
    draws = rng.normal(size=(samples, knots.coefficient_count, nv))
    told = {"nothing told": (), **{f"{kind} told": (kind,) for kind in KINDS}, "all told": KINDS}
    for what, some in told.items():
        free = ~np.isin(kinds, [KINDS.index(kind) for kind in some])
        theta = np.zeros((P, samples))
        if free.any():
            lower = np.linalg.cholesky(whole[np.ix_(free, free)])
            theta[free] = np.linalg.solve(lower.T, rng.normal(size=(int(free.sum()), samples)))
        drawn = []
        for s in range(samples):
            c = factor.solve_backward(draws[s] - (halved @ theta[:, s]).reshape(knots.coefficient_count, nv))
            windows = np.stack([c[i : i + frames] for i in range(by_motion.shape[2])], axis=1)
            drawn.append(np.einsum("tmwn,twn->tm", by_motion, windows, optimize=True) + torques @ theta[:, s])
        errors[what] = np.stack(drawn)
    return Observed(errors, truth.measured["r"] & truth.measured["l"])


def _changes(scene: Scene) -> FloatArray:
    """Root mean squares (T - 2, nv - 6) of the second differences of the true torques, by the time after a strike."""
    truth, model = scene.recording.truth, scene.model
    there = {c.name: c.v_index for c in truth.body.model.coordinates}
    strikes = [
        Contact(number, event.time_s, event.time_s + LOADED_S, event.side, "assigned", "")
        for number, event in enumerate(truth.events)
        if event.kind == "foot_strike"
    ]
    places = np.arange(6, model.multibody.nv)
    own = {c.v_index: there[c.name] for c in model.coordinates}
    tau = truth.tau[:, [own[at] for at in places.tolist()]]
    rate_hz = truth.options.rate_hz
    shares = map_by_time_after_strike(
        coordinate_kinds(model, places), times_since_strikes(strikes, len(tau), rate_hz)[1:-1]
    )
    return strike_torque_change_rms(tau, np.ones(tau.shape, dtype=np.bool_), shares, 1.0 / rate_hz)


def _problem(
    scene: Scene, knots: UniformSpline, weights: FloatArray, noise_m: float, balanced: FloatArray
) -> EstimationProblem:
    model, nv = scene.model, scene.model.multibody.nv
    nowhere = np.zeros(0, dtype=np.int64)
    return EstimationProblem(
        model=model,
        start=scene.path,
        knots=knots,
        sizes=NoiseModel(
            marker_sd_m=np.full(len(model.markers), noise_m),
            stiffness=np.zeros(nv),
            balance=np.repeat(ROOT_SD, 3),
            strikes_alike_share=0.0,
            alike_frames=1.0,
            unseen_sd_rad=np.full(nv, np.inf),
        ),
        seen_at=np.zeros((knots.frames, len(model.markers), 3)),
        weights=weights,
        wrenches=scene.wrenches,
        wrench_links=scene.links,
        balanced=balanced,
        to_close=balanced,
        torque_rows=nowhere,
        torque_known=np.zeros((knots.frames, 0), dtype=bool),
        torque_change_nm=np.zeros(0),
        since_strike_s=np.full((knots.frames, len(SIDES)), np.inf),
        inertias=InertiaUnknowns.empty(),
        plates=PlateUnknowns.empty(knots.rate_hz),
        estimates_parameters=False,
    )


def parts_of(scene: Scene, side: str) -> FloatArray:
    """Which of `PARTS` (T,) each frame belongs to."""
    truth = scene.recording.truth
    result = np.where(truth.wrench[side][:, 4] > 20.0, 1, 0)
    for event in truth.events:
        if event.kind == "foot_strike":
            near = (truth.time_s >= event.time_s + STRIKE_S[0]) & (truth.time_s < event.time_s + STRIKE_S[1])
            result[near] = 2 if event.side == side else 3
    return result


def in_bands(errors: FloatArray, rate_hz: float) -> list[FloatArray]:
    """Errors (S, T) by the bands between `BANDS_HZ`, below and above."""
    passed = [butterworth_lowpass(errors.T, rate_hz, hz).T for hz in BANDS_HZ]
    return [passed[0], *(b - a for a, b in pairwise(passed)), errors - passed[-1]]


Sums = dict[str, dict[str, float]]


def person(seed: int, draws: int, samples: int) -> Sums:
    """Mean squares times frames of one person, by row and torque."""
    name = class_of(seed)
    recording = rough_recording(name, seed)
    true, mass_kg = true_series(recording), recording.truth.body.person.mass_kg
    found = {method: series_of(analysed(recording, method, None), mass_kg) for method in (BASE, "estimate")}
    scene = scene_of(recording, name, seed)
    seen = observe(scene, [skin(scene, draws), centres(scene), masses(scene), plates(scene)], samples)
    rate_hz, sums = recording.truth.options.rate_hz, defaultdict(lambda: defaultdict(float))
    column = {c.name: c.v_index for c in scene.model.coordinates}
    for torque in TORQUES:
        for side in SIDES:
            one = f"{torque}_{side}"
            known = seen.balanced & np.all([np.isfinite(s.torque[one]) for s in found.values()], axis=0)
            for method, series in found.items():
                sums[method][torque] += float(np.sum((series.torque[one] - true.torque[one])[known] ** 2))
            for what, errors in seen.errors.items():
                own = errors[:, :, column[one]] / mass_kg
                sums[what][torque] += float(np.sum(np.mean(own**2, axis=0)[known]))
            own = seen.errors["nothing told"][:, :, column[one]] / mass_kg
            where = parts_of(scene, side)
            for number, part in enumerate(PARTS):
                sums[part][torque] += float(np.sum(np.mean(own**2, axis=0)[known & (where == number)]))
            for hz, band in zip((*BANDS_HZ, np.inf), in_bands(own, rate_hz), strict=True):
                sums[f"up to {hz:g} Hz"][torque] += float(np.sum(np.mean(band**2, axis=0)[known]))
    return sums


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2, 3, 4], help="people")
    parser.add_argument("--draws", type=int, default=DRAWS, help="of the skin")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of the observer's errors")
    arguments = parser.parse_args()
    record, table = Record("estimate_bound", vars(arguments)), Table(["", *TORQUES])
    total: Sums = defaultdict(lambda: defaultdict(float))
    for seed in arguments.seeds:
        if class_of(seed) == SMOOTHED:
            continue
        own = person(seed, arguments.draws, arguments.samples)
        row = [np.sqrt(own["nothing told"][t] / own[BASE][t]) for t in TORQUES]
        now = [np.sqrt(own["estimate"][t] / own[BASE][t]) for t in TORQUES]
        print(f"{seed} {class_of(seed)}", *(f"{a:.2f}/{b:.2f}" for a, b in zip(row, now, strict=True)), flush=True)
        for what, sums in own.items():
            for torque, value in sums.items():
                total[what][torque] += value
    shares = (*PARTS, *(what for what in total if what.startswith("up to")))
    for what, sums in total.items():
        if what == BASE:
            continue
        under = total["nothing told"] if what in shares else total[BASE]
        values = {t: sums[t] / under[t] for t in TORQUES}
        if what not in shares:
            values = {t: float(np.sqrt(value)) for t, value in values.items()}
        table.row(what + (", share of the variance" if what in shares else ""), *(f"{v:.2f}" for v in values.values()))
        for torque, value in values.items():
            record.add(f"{what}: {torque}", value, "share" if what in shares else "of 6 Hz")
    record.close()


if __name__ == "__main__":
    main()
