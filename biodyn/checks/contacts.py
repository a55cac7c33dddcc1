"""What the force plates measured of each leg: contacts, coverage, joint moments."""

from __future__ import annotations

from collections import Counter

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check
from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, Side
from biodyn.processing.contacts.stances_off_plates import SILENT
from biodyn.processing.dynamics.solve import distal_feet

_COVERAGE = "time of the {} foot on the ground against the time in which its ground reaction was measured"
#: Of a motion on a model without any forces.
NO_FORCES = "No ground forces were given."
_SILENT_HINT = "That plate was switched off, not recorded, or lost its vertical force: check it and its channels."
_STANDING_HINT = (
    "The person stands still all the time, as in a static trial: run a walk instead, which finds it beside itself or is told it "
    "with --static."
)
_BESIDE = "a foot beside the plates, half on one, or together with the other foot"


@check(
    "contacts",
    "Foot-plate contacts",
    compares="loadings of the plates against the feet above them",
    causes="two feet on a plate, a foot over its edge, a plate of another place or channel",
    kind="result",
    place=40,
    limit=1.0,
)
def contacts(trial: TrialFacts, limit: float) -> CheckResult:
    """At least one contact must be known to be of one foot; contacts that were not used are told with their reasons."""
    if not trial.analysis.has_forces:
        return CheckResult("not_assessed", NO_FORCES)
    found = trial.analysis.contacts
    used = {side: sum(c.decision == "assigned" and c.side == side for c in found) for side in SIDES}
    not_used = [c for c in found if c.decision != "assigned"]
    text = "Used: " + ", ".join(f"{used[side]} of the {SIDE_NAMES[side]} foot" for side in SIDES) + "."
    if not_used:
        text += " Not used: " + "; ".join(f"plate {c.plate} at {c.start_s:.2f} s, {c.reason}" for c in not_used) + "."
    hint = (
        _STANDING_HINT
        if trial.analysis.activity.is_standing
        else "Only a contact of one whole foot gives joint moments of that leg's stance: record again, or check the plates."
    )
    return CheckResult("pass" if any(used.values()) else "fail", text, float(sum(used.values())), hint=hint)


def _add_coverage(side: Side, place: int) -> None:
    """Register the check of one leg: the same question for both."""

    @check(
        f"coverage-{SIDE_NAMES[side]}",
        f"Force-plate coverage, {SIDE_NAMES[side]} leg",
        compares=_COVERAGE.format(SIDE_NAMES[side]),
        causes=_BESIDE,
        kind="result",
        place=place,
        limit=0.0,
    )
    def coverage(trial: TrialFacts, limit: float) -> CheckResult:
        """Force-plate coverage of the leg."""
        if not trial.analysis.has_forces:
            return CheckResult("not_assessed", NO_FORCES)
        return _coverage(trial.analysis, side)


for _place, _side in enumerate(SIDES, start=50):
    _add_coverage(_side, _place)


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
        return CheckResult("pass", f"{100 * share:.0f} % of the {name} foot's time on the ground was measured.", share)
    return CheckResult(
        "warn",
        f"No stance of the {name} leg was measured ({_why(analysis, side)}); no moments for that leg on the ground.",
        share,
        hint=_SILENT_HINT
        if _on_silent_plates(analysis, side)
        else f"Use a trial in which the {name} foot hits a plate as a whole, and alone.",
    )


def _on_silent_plates(analysis: TrialAnalysis, side: Side) -> list[str]:
    """Where this foot stood on a plate that showed no load, for people, each once."""
    return list(dict.fromkeys(reason for reason in analysis.reaction.reason[side] if SILENT in reason))


def _why(analysis: TrialAnalysis, side: Side) -> str:
    """Why no contact of this foot could be used, or else where it stood."""
    refused = [c for c in analysis.contacts if c.decision != "assigned" and c.side in (side, None)]
    known = [f"plate {c.plate}: {c.reason}" for c in refused] + _on_silent_plates(analysis, side)
    if known:
        return "; ".join(known)
    floor = analysis.reaction.on_floor[side]
    reasons = Counter(reason for reason, on in zip(analysis.reaction.reason[side], floor, strict=True) if on and reason)
    common = reasons.most_common(1)
    return common[0][0] if common else "no plate contact"


@check(
    "joint-moments",
    "Joint moments",
    compares="frames with a leg on the ground against those in which all its joint moments are known",
    causes="no contact that could be used, or no pose while there was one",
    kind="result",
    place=60,
    limit=0.0,
)
def joint_moments(trial: TrialFacts, limit: float) -> CheckResult:
    """A trial without the moment of a single leg joint in stance has not answered the question."""
    if not trial.analysis.has_forces:
        return CheckResult("not_assessed", NO_FORCES)
    dynamics = trial.analysis.dynamics
    known = stance_moments_known(trial.analysis)
    share, residual = float(np.mean(known)), float(np.mean(dynamics.residual_valid))
    if known.any():
        text = (
            f"A leg on the ground has moments in {100 * share:.0f} % of the frames; motion and forces can be compared in "
            f"{100 * residual:.0f} %."
        )
        return CheckResult("pass", text, share)
    reasons = Counter(reason for reason in dynamics.reason if reason).most_common(1)
    why = f": {reasons[0][0]}" if reasons else ""
    return CheckResult(
        "fail",
        f"No frame has the moment of a leg on the ground{why}.",
        0.0,
        hint=_STANDING_HINT
        if trial.analysis.activity.is_standing
        else "See the checks of contacts, coverage and fitted frames; there is no result to use.",
    )


def stance_moments_known(analysis: TrialAnalysis) -> BoolArray:
    """Frames (T,) in which a foot is on the ground and every joint of its leg has a moment."""
    model, reaction, dynamics = analysis.model, analysis.reaction, analysis.dynamics
    sides: list[Side] = [side for side in reaction.wrench if side in model.sole_body]
    below = distal_feet(model, sides)
    known = np.zeros(len(dynamics.torque_valid), dtype=bool)
    for side in sides:
        columns = [i for i, c in enumerate(model.coordinates) if below[c.body] == [side]]
        if columns:
            known |= dynamics.torque_valid[:, columns].all(axis=1) & reaction.on_floor[side]
    return known
