"""What the walk itself tells about the model: knee axes, joint centres of trunk and arms, places of soft markers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.body_model import SubjectModel
from biodyn.model.changes import with_centre_refinement, with_moved_centres
from biodyn.recording import Markers
from biodyn.rigid_body import inverse_kinematics

# Enough frames to see a stride; more only cost time.
_FRAMES = 120
# A hinge must open this far for its axis to be told from the markers' noise and skin.
_LEAST_EXCURSION_RAD = np.deg2rad(30.0)
_TURN_STEPS_RAD = (np.deg2rad(10.0), np.deg2rad(4.0))
_MOST_TURN_RAD = np.deg2rad(30.0)
# A turn below this is within the repeatability of wand placement and is not worth a change.
_LEAST_TURN_RAD = np.deg2rad(1.0)
_TELLING_TURN_RAD = np.deg2rad(3.0)
# Weight of "the centre stays where the static trial has it" against markers of weight 1.
_CENTRE_PRIOR = 0.5
_MOST_CENTRE_SHIFT_M = 0.06


_Solved = tuple[FloatArray, FloatArray, tuple[str, ...]]


class Scaling(Protocol):
    """What the subject's model is made of: it can be made again with other axial rotation offsets."""

    def model(self, turns_rad: Mapping[str, float] | None = None) -> tuple[SubjectModel, list[Diagnostic]]:
        """Return the model with segments turned about their long axes, rad, and what had to be assumed."""


@dataclass(frozen=True)
class _Sample:
    """Some frames of the walk, evenly spread."""

    markers: Markers

    def solve(self, model: SubjectModel, prior_weights: FloatArray | None = None) -> _Solved:
        """Return q (n, nq), marker errors (n, M) and their segments, for the sampled frames."""
        columns = [self.markers.labels.index(marker.label) for marker in model.markers]
        links, p_LM, weights = model.marker_arrays()
        lower, upper = model.limits()
        start = model.static_configuration(np.eye(3), np.zeros(3))
        solution = inverse_kinematics(
            model.multibody,
            links,
            p_LM,
            self.markers.positions[:, columns],
            weights,
            lower,
            upper,
            q0=start,
            prior_weights=prior_weights,
            q_prior=None if prior_weights is None else start,
        )
        return solution.q, solution.marker_error, tuple(marker.body for marker in model.markers)


def sample(markers: Markers) -> _Sample:
    """Return an even sample of the frames in which most markers are seen."""
    seen = np.isfinite(markers.positions[..., 0]).sum(axis=1)
    usable = np.flatnonzero(seen >= 0.8 * seen.max())
    chosen = usable[np.unique(np.linspace(0, len(usable) - 1, min(_FRAMES, len(usable))).astype(int))]
    return _Sample(replace(markers, positions=markers.positions[chosen]))


def find_turns(
    frames: _Sample,
    model: SubjectModel,
    hinges: Mapping[str, str],
    scaling: Scaling,
) -> tuple[dict[str, float], list[Diagnostic]]:
    """Find the turn of each segment's axes about its long axis for which its hinge fits the walk best.

    The hinge of a knee bends by 60 degrees in every stride, so a wrong axis makes the markers of thigh and shank disagree:
    the summed squared marker error of both is a parabola in the turn, whose vertex is found from three turns, twice. The idea
    is that of the functional knee axes of Schwartz & Rozumalski 2005 (doi 10.1016/j.jbiomech.2004.03.009).

    Parameters: `hinges` maps segments to their hinge coordinate; `scaling` makes the model for given turns (rad).
    """
    turns = dict.fromkeys(hinges, 0.0)
    solved = frames.solve(model)
    q, _, _ = solved
    for name, coordinate in hinges.items():
        angle = q[:, model.coordinate(coordinate).q_index]
        if not np.isfinite(angle).any() or np.nanmax(angle) - np.nanmin(angle) < _LEAST_EXCURSION_RAD:
            del turns[name]
    if not turns:
        return {}, []
    # Both segments of each hinge as they are here: where few markers are left, a turned model may lose the hinge itself.
    pairs = {name: frozenset({name, model.coordinate(hinges[name]).body}) for name in turns}
    for step in _TURN_STEPS_RAD:
        costs = []
        for k in (-1, 0, 1):
            turned = {n: t + k * step for n, t in turns.items()}
            known = not any(turned.values())  # the model as it came, solved above
            candidate = model if known else scaling.model(turned)[0]
            costs.append(_leg_costs(candidate, solved if known else frames.solve(candidate), pairs))
        for name in turns:
            low, middle, high = (cost[name] for cost in costs)
            curvature = low - 2.0 * middle + high
            if curvature > 0.0:
                move = float(np.clip(0.5 * (low - high) / curvature, -2.0, 2.0)) * step
                turns[name] = float(np.clip(turns[name] + move, -_MOST_TURN_RAD, _MOST_TURN_RAD))
    turns = {name: turn for name, turn in turns.items() if abs(turn) >= _LEAST_TURN_RAD}
    notes = [
        Diagnostic(
            "axis-from-walk",
            "warning" if abs(turn) >= _MOST_TURN_RAD else "info",
            f"Axial rotation offset of {name}: {np.rad2deg(turn):+.0f} degrees; there {hinges[name]} fits the markers of the "
            "walk best.",
            value=float(np.rad2deg(turn)),
            limit=float(np.rad2deg(_MOST_TURN_RAD)),
            unit="deg",
            hint="The lateral wand is off the joint's plane; medial markers in the static trial resolve it.",
        )
        for name, turn in turns.items()
        if abs(turn) >= _TELLING_TURN_RAD
    ]
    return turns, notes


def _leg_costs(model: SubjectModel, solved: _Solved, pairs: Mapping[str, frozenset[str]]) -> dict[str, float]:
    _, errors, bodies = solved
    weights = model.marker_arrays()[2]
    costs = {}
    for name, both in pairs.items():
        columns = [index for index, body in enumerate(bodies) if body in both]
        costs[name] = float(np.nansum(weights[columns] * errors[:, columns] ** 2))
    return costs


def refine_centres(frames: _Sample, model: SubjectModel) -> tuple[SubjectModel, list[Diagnostic]]:
    """Move the uncertain joint centres (trunk, neck, shoulders) to where the walk's markers have them.

    The centres may slide in a fit of some frames, held by a prior; their mean slide becomes their place.
    """
    refined, slides = with_centre_refinement(model)
    if not slides:
        return model, []
    prior = np.zeros(refined.multibody.nv)
    for indices in slides.values():
        prior[list(indices)] = _CENTRE_PRIOR
    q, _, _ = frames.solve(refined, prior)
    shifts = {}
    notes = []
    for name in slides:
        at = [refined.multibody.q_slice(f"{name}:{axis}").start for axis in "xyz"]
        shift = np.nanmean(q[:, at], axis=0)
        size = float(np.linalg.norm(shift))
        if size > _MOST_CENTRE_SHIFT_M:
            shift = shift * _MOST_CENTRE_SHIFT_M / size
        shifts[name] = shift
        if size > 0.02:  # more than the spread of the regressions it replaces
            notes.append(
                Diagnostic(
                    "centre-from-walk",
                    "info",
                    f"Joint-centre refinement of {name}: {1000 * min(size, _MOST_CENTRE_SHIFT_M):.0f} mm from static trial to "
                    "the walk.",
                    value=min(size, _MOST_CENTRE_SHIFT_M),
                    limit=_MOST_CENTRE_SHIFT_M,
                    unit="m",
                    hint="Posture, skin or marker placement differ between static trial and walk.",
                )
            )
    return with_moved_centres(model, shifts), notes
