"""Which legs the markers show: one is enough, and its torques do not need the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from biodyn.conventions import SIDE_NAMES, Side
from biodyn.diagnostics import Diagnostic
from biodyn.errors import MarkerSetError
from biodyn.model.body_model import AttachedMarker, SubjectModel
from biodyn.model.from_library.landmarks import StaticPose
from biodyn.model.skeleton import SkeletonDefinition

_NEEDED = "Joint torques of a leg need markers on pelvis, thigh, shank and foot; see 'biodyn check FILE.c3d'."


def with_seen_legs(
    model: SubjectModel, pose: StaticPose, markers: Sequence[AttachedMarker], tracked: Collection[str]
) -> tuple[SubjectModel, list[Diagnostic]]:
    """Return the model, with an unknown sole for a leg that the markers do not place, and a warning that names it.

    A thigh or shank without markers has a stiff joint: the torques of that whole leg would be wrong, not only unknown. With
    its sole unknown no contact is given to it, its joints have no torque, and neither has the body as a whole a residual;
    the other leg is computed from its own foot upwards and needs nothing of this one.

    Parameters: `pose` of the static trial; `markers` that it places; `tracked` labels seen in the walk.
    Raises MarkerSetError where no leg is placed.
    """
    moving = {body.definition.name for body in model.moving}
    lost: dict[Side, list[str]] = {}
    for side, carrier in model.sole_body.items():
        stiff = [name for name in _chain(model.skeleton, carrier) if name not in moving]
        if stiff:
            lost[side] = stiff  # type: ignore[index]
    if not lost:
        return model, []
    if len(lost) == len(model.sole_body):
        names = [name for stiff in lost.values() for name in stiff]
        raise MarkerSetError(
            f"The markers do not place {', '.join(names)} in both the static trial and the walk"
            f"{_what_lacks(names, pose, markers, tracked)}.",
            _NEEDED,
        )
    outlines = {s: np.full_like(o, np.nan) if s in lost else o for s, o in model.foot_outlines.items()}
    notes = [
        Diagnostic(
            "leg-not-seen",
            "warning",
            f"The markers do not place {', '.join(stiff)} in both the static trial and the walk"
            f"{_what_lacks(stiff, pose, markers, tracked)}. No torques of the {SIDE_NAMES[side]} leg, "
            "and no residual of the whole body. The other leg is analysed by itself.",
            hint=_NEEDED,
            about=SIDE_NAMES[side],
        )
        for side, stiff in lost.items()
    ]
    return replace(model, foot_outlines=outlines), notes


def _what_lacks(
    lost: Sequence[str], pose: StaticPose, markers: Sequence[AttachedMarker], tracked: Collection[str]
) -> str:
    """What would place the lost segments: markers that the walk lacks, landmarks that the static trial does not show."""
    gone = [marker.label for marker in markers if marker.body in lost and marker.label not in tracked]
    unseen = [name for body in lost for name in pose.lacking(pose.skeleton.body(body))]
    told = [f"the walk lacks {', '.join(dict.fromkeys(gone))}"] if gone else []
    told += [f"the static trial does not show {', '.join(dict.fromkeys(unseen))}"] if unseen else []
    return f": {'; '.join(told)}" if told else ""


def _chain(skeleton: SkeletonDefinition, name: str) -> list[str]:
    """Names of the segments from the root's child to `name`."""
    chain = []
    body = skeleton.body(name)
    while body.parent:
        chain.append(body.name)
        body = skeleton.body(body.parent)
    return chain[::-1]
