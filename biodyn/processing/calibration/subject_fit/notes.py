"""What is said of a fit of the subject's model."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from biodyn.diagnostics import Diagnostic
from biodyn.processing.calibration.subject_fit.functional import FunctionalJoint
from biodyn.processing.calibration.subject_fit.result import SubjectFit

# Below these a change is within what a careful marker placement can differ by.
_TELLING_SHIFT_M = 0.010
_TELLING_TURN_RAD = np.deg2rad(5.0)
# A change this many standard deviations of its prior away asks for a look at the markers.
_STRANGE = 3.0
_MOST_OFF_M = 0.015
# Skin lets SCoRE and SARA miss by about half of these.
_FUNCTIONAL_M = 0.020
_FUNCTIONAL_RAD = np.deg2rad(12.0)


def fit_notes(fit: SubjectFit, wands: Collection[str]) -> list[Diagnostic]:
    """Return joint centres and axes that moved far, and markers that are not where the static trial had them.

    wands: segments whose axes rest on a skin wand.
    """
    notes = []
    for centre in fit.centres:
        size = float(np.linalg.norm(centre.shift_m))
        far = float(np.max(np.abs(centre.shift_m) / centre.prior_sd_m))
        if size >= _TELLING_SHIFT_M:
            notes.append(
                Diagnostic(
                    "centre-from-walk",
                    "warning" if far >= _STRANGE else "info",
                    f"The joint centre of {centre.segment} lies {1000 * size:.0f} mm from where its landmarks have it: there the "
                    "markers of the walk fit best.",
                    value=size,
                    limit=_STRANGE * float(np.linalg.norm(centre.prior_sd_m)),
                    unit="m",
                    hint="Markers beside their landmarks move it; check those of the joint.",
                )
            )
    for turn in fit.turns:
        if abs(turn.turn_rad) >= _TELLING_TURN_RAD:
            limit_deg = float(np.rad2deg(_STRANGE * turn.prior_sd_rad))
            notes.append(
                Diagnostic(
                    "axis-from-walk",
                    "warning" if abs(turn.turn_rad) >= _STRANGE * turn.prior_sd_rad else "info",
                    f"Axial rotation offset of {turn.segment}: {np.rad2deg(turn.turn_rad):+.0f} degrees; there its hinge fits "
                    "the markers of the walk best.",
                    value=float(np.rad2deg(turn.turn_rad)),
                    limit=limit_deg,
                    unit="deg",
                    hint="A wand off the joint's plane turns the axis; medial markers in the static trial resolve it."
                    if turn.segment in wands
                    else "Check the markers of its far joint in the static trial.",
                )
            )
    for marker in fit.markers:
        off = float(np.linalg.norm(marker.off_m))
        if off > _MOST_OFF_M and not marker.soft:
            notes.append(
                Diagnostic(
                    "marker-off-place",
                    "warning",
                    f"Marker {marker.label} lies {1000 * off:.0f} mm from its place in the static trial throughout the walk.",
                    value=off,
                    limit=_MOST_OFF_M,
                    unit="m",
                    hint="It was moved between the trials, or its segment does not move as the model's; see the marker errors.",
                    about=marker.label,
                )
            )
    return notes + [note for joint in fit.functional if (note := _disagreement(joint)) is not None]


def _disagreement(joint: FunctionalJoint) -> Diagnostic | None:
    """A joint that a functional trial alone puts elsewhere than the fitted model."""
    turned = joint.off_rad is not None and joint.off_rad > _FUNCTIONAL_RAD
    if joint.off_m <= _FUNCTIONAL_M and not turned:
        return None
    what = f"{1000 * joint.off_m:.0f} mm" + (
        "" if joint.off_rad is None else f" and {np.rad2deg(joint.off_rad):.0f} degrees"
    )
    return Diagnostic(
        "functional-disagrees",
        "warning",
        f"{joint.trial}: {joint.method} finds the joint of {joint.segment} {what} from where the model has it (markers of both "
        f"segments agree to {1000 * joint.residual_m:.0f} mm, range {np.rad2deg(joint.range_rad[0]):.0f} degrees).",
        value=joint.off_m,
        limit=_FUNCTIONAL_M,
        unit="m",
        hint='Skin of the thigh, or markers beside their landmarks; compare with [model] fit = "trial".',
        about=joint.segment,
    )
