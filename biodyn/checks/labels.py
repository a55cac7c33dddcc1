"""Labels on the wrong markers: both sides altogether, or single pairs."""

from __future__ import annotations

import numpy as np

from biodyn.checks.estimators.labels import exchanged_markers
from biodyn.checks.estimators.sides import CLEAR, handedness, sides_exchanged
from biodyn.checks.facts import TrialFacts
from biodyn.checks.registry import CheckResult, check


@check(
    "sides",
    "Left-right labels",
    compares="side of the right markers against where pelvis, feet, trunk and head face; handedness of walk against static "
    "trial (sine of the angle: 1 for right on the right, -1 for right on the left)",
    causes="labels of both sides swapped, or a mirrored laboratory frame",
    place=10,
    turn=10,  # the skeleton is its own mirror image: all else that could be found follows from that
    limit=-CLEAR,
    shown=(1.0, ""),
    findings={"sides-exchanged": "Left-right swap"},
)
def left_and_right(trial: TrialFacts, limit: float) -> CheckResult:
    """Does the right side lie to the right of where the body faces, in walk and static trial?"""
    analysis, standing = trial.analysis, trial.analysis.static.points
    midline = [body.definition.name for body in analysis.model.bodies if not body.definition.side]
    still = midline or [analysis.model.skeleton.root.name]
    found = sides_exchanged(trial.markers, standing, trial.landmarks, trial.bodies, still)
    points = {landmark: standing[label] for landmark, label in trial.landmarks.items() if label in standing}
    return CheckResult(value=min(handedness(points).values(), default=np.nan), findings=found)


@check(
    "labels",
    "Labels of single markers",
    compares="distances between markers of a segment in the walk against those of the static trial, as labelled and swapped",
    causes="two trajectories swapped while labelling",
    place=20,
    turn=30,
    findings={"labels-exchanged": "Marker labels swapped"},
    unless=("sides",),
)
def labels_of_single_markers(trial: TrialFacts, limit: float) -> CheckResult:
    """Would two markers fit far better with each other's label?"""
    if trial.analysis.imported is not None:  # there is no static trial
        return CheckResult("not_assessed")
    found = exchanged_markers(trial.markers, trial.analysis.static.points, trial.bodies, trial.parents)
    return CheckResult(findings=found)
