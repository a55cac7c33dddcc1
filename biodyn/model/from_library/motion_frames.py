"""Frames of a motion as the recipes of landmarks need them: some frames, evenly spread, each as points by label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import StaticTrialError
from biodyn.model.from_library.scaling import ScalingOptions, standing_pose
from biodyn.model.from_library.skeleton import SkeletonRecipe
from biodyn.model.marker_roles import MarkerMapping

#: A frame as (3,) m in World by label, markers that are seen.
Points = Mapping[str, FloatArray]

_SEEN_SHARE = 0.8
_HEIGHT_FRAMES = 9


def usable_frames(positions: FloatArray) -> IntArray:
    """Frames in which most of the markers (T, M, 3) are seen."""
    count = np.isfinite(positions[..., 0]).sum(axis=1)
    return np.flatnonzero(count >= _SEEN_SHARE * count.max())


def evenly(frames: IntArray, most: int) -> IntArray:
    """At most so many of the frames, evenly spread."""
    return frames[np.unique(np.linspace(0, len(frames) - 1, min(most, len(frames))).astype(int))]


def points_of(labels: Sequence[str], positions: FloatArray) -> list[Points]:
    """Return frames (F, M, 3) m as points by label."""
    return [{label: p for label, p in zip(labels, frame, strict=True) if np.isfinite(p[0])} for frame in positions]


def with_height(
    skeleton: SkeletonRecipe, mapping: MarkerMapping, seen: Sequence[Points], options: ScalingOptions
) -> ScalingOptions:
    """The options with the body height that some of the frames make, where none is known.

    Raises StaticTrialError where no frame shows the pelvis and a leg.
    """
    if options.height_m is not None:
        return options
    heights = []
    refusal = StaticTrialError("The walk shows no person: no frame has the markers of pelvis and legs.")
    for row in evenly(np.arange(len(seen)), _HEIGHT_FRAMES):
        try:
            heights.append(standing_pose(skeleton, mapping, seen[row], options).height_m)
        except StaticTrialError as error:
            refusal = error
    if not heights:
        raise refusal
    return replace(options, height_m=float(np.median(heights)))
