"""Checks of what the force plates measured: contacts, coverage of each leg, joint moments."""

from __future__ import annotations

from collections import Counter

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.registry import CheckResult, quality_check
from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, Side
from biodyn.processing.dynamics.solve import feet_below


@quality_check("contacts", "Foot-plate contacts", place=40)
def contacts(analysis: TrialAnalysis) -> CheckResult:
    """At least one contact must be known to be of one foot; contacts that were not used are told with their reasons."""
    used = {side: sum(c.decision == "assigned" and c.side == side for c in analysis.contacts) for side in SIDES}
    not_used = [c for c in analysis.contacts if c.decision != "assigned"]
    text = "Used: " + ", ".join(f"{used[side]} of the {SIDE_NAMES[side]} foot" for side in SIDES) + "."
    if not_used:
        text += " Not used: " + "; ".join(f"plate {c.plate} at {c.start_s:.2f} s, {c.reason}" for c in not_used) + "."
    hint = (
        "Only a contact of one whole foot gives joint moments of that leg's stance: record again, or check the plates."
    )
    return CheckResult("pass" if any(used.values()) else "fail", text, float(sum(used.values())), 1.0, hint=hint)


def _coverage(analysis: TrialAnalysis, side: Side) -> CheckResult:
    """Was any stance of this leg measured, and how much of its time on the ground?"""
    name = SIDE_NAMES[side]
    reaction = analysis.reaction
    if side not in reaction.measured or not reaction.on_floor[side].any():
        return CheckResult("not_assessed", f"The {name} foot was never seen on the ground.")
    floor, known = reaction.on_floor[side], reaction.measured[side]
    share = float(np.mean(known[floor]))
    used = any(c.decision == "assigned" and c.side == side for c in analysis.contacts)
    if used and share > 0.0:
        return CheckResult(
            "pass", f"{100 * share:.0f} % of the {name} foot's time on the ground was measured.", share, 0.0
        )
    return CheckResult(
        "warn",
        f"No stance of the {name} leg was measured ({_why(analysis, side)}); no moments for that leg on the ground.",
        share,
        0.0,
        hint=f"Use a trial in which the {name} foot hits a plate as a whole, and alone.",
    )


def _why(analysis: TrialAnalysis, side: Side) -> str:
    """Why no contact of this foot could be used, or else where it stood."""
    refused = [c for c in analysis.contacts if c.decision != "assigned" and c.side in (side, None)]
    if refused:
        return "; ".join(f"plate {c.plate}: {c.reason}" for c in refused)
    floor = analysis.reaction.on_floor[side]
    reasons = Counter(reason for reason, on in zip(analysis.reaction.reason[side], floor, strict=True) if on and reason)
    common = reasons.most_common(1)
    return common[0][0] if common else "no plate contact"


@quality_check("coverage-right", f"Force-plate coverage, {SIDE_NAMES['r']} leg", place=50)
def coverage_right(analysis: TrialAnalysis) -> CheckResult:
    """Force-plate coverage of the right leg."""
    return _coverage(analysis, "r")


@quality_check("coverage-left", f"Force-plate coverage, {SIDE_NAMES['l']} leg", place=51)
def coverage_left(analysis: TrialAnalysis) -> CheckResult:
    """Force-plate coverage of the left leg."""
    return _coverage(analysis, "l")


@quality_check("joint-moments", "Joint moments", place=60)
def joint_moments(analysis: TrialAnalysis) -> CheckResult:
    """A trial without the moment of a single leg joint in stance has not answered the question."""
    known = stance_moments_known(analysis)
    share, residual = float(np.mean(known)), float(np.mean(analysis.dynamics.residual_valid))
    if known.any():
        text = (
            f"Moments of a leg on the ground in {100 * share:.0f} % of the frames; motion and forces can be compared in "
            f"{100 * residual:.0f} %."
        )
        return CheckResult("pass", text, share, 0.0)
    reasons = Counter(reason for reason in analysis.dynamics.reason if reason).most_common(1)
    why = f": {reasons[0][0]}" if reasons else ""
    return CheckResult(
        "fail",
        f"No frame has the moment of a leg on the ground{why}.",
        0.0,
        0.0,
        hint="See the checks of contacts, coverage and fitted frames; there is no result to use.",
    )


def stance_moments_known(analysis: TrialAnalysis) -> BoolArray:
    """Frames (T,) in which a foot is on the ground and every joint of its leg has a moment."""
    model, reaction, dynamics = analysis.model, analysis.reaction, analysis.dynamics
    sides: list[Side] = [side for side in reaction.wrench if side in model.sole_body]
    below = feet_below(model, sides)
    known = np.zeros(len(dynamics.torque_valid), dtype=bool)
    for side in sides:
        columns = [i for i, c in enumerate(model.coordinates) if below[c.body] == [side]]
        if columns:
            known |= dynamics.torque_valid[:, columns].all(axis=1) & reaction.on_floor[side]
    return known
