"""An analysis with one thing done otherwise, of a known kind and size: does a comparison name it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.comparison import part_exchange
from biodyn.comparison.differences import CycleSpan
from biodyn.comparison.moment_convention import MomentConvention
from biodyn.conventions import FloatArray
from biodyn.geometry.rotations import matrices_from_axis_angle
from biodyn.model.body_model import SubjectModel, with_bodies, with_inertias, with_mass, with_misplaced_centre
from biodyn.model.skeleton import Inertia, static_angles
from biodyn.processing.dynamics.inverse_dynamics import solve_dynamics
from biodyn.processing.gait.cycles import find_gait_cycles
from biodyn.processing.signals.filtering import butterworth_lowpass

#: The names that a comparison may give to each planted cause.
NAMES = {
    "filter": {part_exchange.SMOOTHING, part_exchange.FORCE_SMOOTHING},
    "centre": {part_exchange.CENTRES},
    "axis": {part_exchange.AXES},
    "inertia": {part_exchange.INERTIAS},
    "mass": {part_exchange.MASS},
    "events": {part_exchange.EVENTS},
}


def planted(analysis: TrialAnalysis, kind: str, rng: np.random.Generator) -> TrialAnalysis:
    """Return the analysis with a cause of that kind in it, of a size as laboratories differ."""
    return _PLANTS[kind](analysis, rng)


def _filter(analysis: TrialAnalysis, rng: np.random.Generator) -> TrialAnalysis:
    """Markers, forces, or both through another cut-off."""
    inputs = analysis.propagation
    assert inputs is not None
    hz = float(inputs.cutoff_hz * rng.choice([rng.uniform(0.55, 0.8), rng.uniform(1.3, 2.2)]))
    which = rng.integers(3)
    fit, reaction = analysis.fit, analysis.reaction
    if which != 1:
        raw = inputs.unfiltered_markers
        smooth = butterworth_lowpass(raw.positions, raw.rate_hz, hz, inputs.filter_order)
        fit = inputs.refit(analysis.model, replace(inputs.markers, positions=smooth))
    if which != 0:
        lower = min(hz, 0.8 * inputs.cutoff_hz) if inputs.force_cutoff_hz else hz
        wrench = {
            side: butterworth_lowpass(values, inputs.rate_hz, lower, inputs.filter_order)
            for side, values in reaction.wrench.items()
        }
        reaction = replace(reaction, wrench=wrench)
    return _with(analysis, analysis.model, fit=fit, reaction=reaction)


def _centre(analysis: TrialAnalysis, rng: np.random.Generator) -> TrialAnalysis:
    """One joint centre of a leg 8 to 30 mm (hip) or 5 to 15 mm (knee, ankle) off, the skeleton fitted anew."""
    chain = _leg(analysis.model, str(rng.choice(["r", "l"])))
    at = int(rng.integers(len(chain)))
    size = rng.uniform(0.008, 0.030) if at == 0 else rng.uniform(0.005, 0.015)
    direction = rng.normal(size=3)
    model = with_misplaced_centre(analysis.model, chain[at], size * direction / np.linalg.norm(direction))
    return _with(analysis, model)


def _axis(analysis: TrialAnalysis, rng: np.random.Generator) -> TrialAnalysis:
    """The axes of a thigh or shank turned by 4 to 15 degrees about its long axis, the skeleton fitted anew."""
    chain = _leg(analysis.model, str(rng.choice(["r", "l"])))
    angle = np.deg2rad(rng.uniform(4.0, 15.0) * rng.choice([-1.0, 1.0]))
    return _with(analysis, with_turned_axes(analysis.model, chain[int(rng.integers(2))], float(angle)))


def _inertia(analysis: TrialAnalysis, rng: np.random.Generator) -> TrialAnalysis:
    """Mass, mass centre and moments of inertia of the legs' segments as another table has them; the same body mass."""
    factors = {"mass": rng.uniform(0.75, 1.3, 3), "place": rng.uniform(0.9, 1.1, 3), "spread": rng.uniform(0.7, 1.8, 3)}
    found: dict[str, Inertia] = {}
    root = analysis.model.bodies[0]
    spare = 0.0
    for side in "rl":
        for k, name in enumerate(_leg(analysis.model, side)):
            own = next(b.inertia for b in analysis.model.bodies if b.definition.name == name)
            mass = own.mass * factors["mass"][k]
            spare += own.mass - mass
            found[name] = Inertia(
                mass, own.com * factors["place"][k], own.tensor * factors["mass"][k] * factors["spread"][k]
            )
    own = root.inertia
    found[root.definition.name] = Inertia(own.mass + spare, own.com, own.tensor)
    return _with(analysis, with_inertias(analysis.model, found), fit=analysis.fit)


def _mass(analysis: TrialAnalysis, rng: np.random.Generator) -> TrialAnalysis:
    """Body mass 2 to 15 % off."""
    factor = 1.0 + rng.uniform(0.02, 0.15) * rng.choice([-1.0, 1.0])
    return _with(analysis, with_mass(analysis.model, float(analysis.model.mass_kg * factor)), fit=analysis.fit)


def _events(analysis: TrialAnalysis, rng: np.random.Generator) -> TrialAnalysis:
    """Foot strikes of one side, or of both, 8 to 40 ms early or late, each by a little more or less; or one of them missed.

    In half of the cases on top of a body mass that is .5 % off: what else differs a little must not be named instead.
    """
    sides = ("r", "l") if rng.random() < 0.5 else (str(rng.choice(["r", "l"])),)
    late_s = rng.uniform(0.008, 0.040) * rng.choice([-1.0, 1.0])
    strikes = [e for e in analysis.events if e.kind == "foot_strike"]
    by_side = {side: [e for e in strikes if e.side == side] for side in "rl"}
    missed = None
    if rng.random() < 0.2 and any(len(own) > 2 for own in by_side.values()):  # a cycle is left without it
        own = next(own for own in by_side.values() if len(own) > 2)
        missed = own[-1]
    events = tuple(
        replace(e, time_s=e.time_s + late_s + rng.uniform(-0.004, 0.004)) if e in strikes and e.side in sides else e
        for e in analysis.events
        if e is not missed
    )
    if rng.random() < 0.5:
        heavier = with_mass(analysis.model, float(1.005 * analysis.model.mass_kg))
        analysis = _with(analysis, heavier, fit=analysis.fit)
    return replace(analysis, events=events)


def spans_of(analysis: TrialAnalysis) -> tuple[CycleSpan, ...]:
    """The gait cycles of an analysis."""
    return tuple(CycleSpan(c.side, c.start_s, c.end_s) for c in find_gait_cycles(analysis.gait_events))


def with_changed_writing(usual: MomentConvention, kind: str, rng: np.random.Generator) -> MomentConvention:
    """A way of writing a joint moment with a sign turned or another frame."""
    if kind == "frame":
        return replace(usual, frame=str(rng.choice(["proximal", "world"])))
    turned = rng.integers(0, 2, size=3).astype(bool)
    turned[rng.integers(3)] = True
    return replace(usual, signs=tuple(-sign if flip else sign for sign, flip in zip(usual.signs, turned, strict=True)))


_PLANTS: dict[str, Callable[[TrialAnalysis, np.random.Generator], TrialAnalysis]] = {
    "filter": _filter,
    "centre": _centre,
    "axis": _axis,
    "inertia": _inertia,
    "mass": _mass,
    "events": _events,
}


def _with(analysis: TrialAnalysis, model: SubjectModel, fit=None, reaction=None) -> TrialAnalysis:  # type: ignore[no-untyped-def]
    inputs = analysis.propagation
    assert inputs is not None
    fit = inputs.refit(model, inputs.markers) if fit is None else replace(fit, model=model)
    reaction = analysis.reaction if reaction is None else reaction
    return replace(analysis, model=model, fit=fit, reaction=reaction, dynamics=solve_dynamics(fit, reaction))


def _leg(model: SubjectModel, side: str) -> list[str]:
    """Segments of a leg, the thigh first."""
    chain: list[str] = []
    name = model.sole_body[side]
    while model.skeleton.body(name).parent:
        chain.insert(0, name)
        name = model.skeleton.body(name).parent
    return chain


def with_turned_axes(model: SubjectModel, body: str, angle_rad: float) -> SubjectModel:
    """Return the model whose segment has its axes turned about its long axis: markers and joint centres stay in place."""
    turn: FloatArray = matrices_from_axis_angle(np.array([0.0, 1.0, 0.0]), angle_rad)
    bodies = []
    for part in model.bodies:
        name, above = part.definition.name, part.definition.parent
        R_PB, p_PB, inertia = part.R_PB, part.p_PB, part.inertia
        if name == body:
            R_PB = R_PB @ turn
            inertia = Inertia(inertia.mass, inertia.com @ turn, turn.T @ inertia.tensor @ turn)
        if above == body:
            R_PB, p_PB = turn.T @ R_PB, turn.T @ p_PB
        angles = static_angles(part.definition, R_PB) if body in (name, above) else part.static_angles_rad
        bodies.append(replace(part, R_PB=R_PB, p_PB=p_PB, inertia=inertia, static_angles_rad=angles))
    markers = tuple(replace(m, p_BM=m.p_BM @ turn) if m.body == body else m for m in model.markers)
    return replace(with_bodies(model, tuple(bodies)), markers=markers)
