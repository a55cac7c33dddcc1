"""From a recording in which the thighs move about the hips to what a functional joint-centre method takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.from_library.hip_centre import FunctionalTrial
from biodyn.model.from_library.skeleton import SkeletonRecipe
from biodyn.model.marker_roles import MarkerMapping
from biodyn.recording import Markers


def functional_trials(
    skeleton: SkeletonRecipe, mapping: MarkerMapping, static_points: Mapping[str, FloatArray], markers: Markers
) -> dict[str, FunctionalTrial]:
    """Return by side the markers of the root and of the segment of that side that hangs on it, for `ScalingOptions`.

    Parameters: `static_points` label -> (3,) m in World, markers of the static trial; `markers` of the functional trial.
    """
    pelvis = [label for label in _labels_on(skeleton.root.name, mapping, markers) if label in static_points]
    standing = np.array([static_points[label] for label in pelvis]).reshape(-1, 3)
    return {
        body.side: FunctionalTrial(
            _positions(markers, pelvis), standing, _positions(markers, _labels_on(body.name, mapping, markers))
        )
        for body in skeleton.bodies
        if body.side and body.parent == skeleton.root.name
    }


def _labels_on(body: str, mapping: MarkerMapping, markers: Markers) -> list[str]:
    return [role.label for role in mapping.roles if role.body == body and role.label in markers.labels]


def _positions(markers: Markers, labels: Sequence[str]) -> FloatArray:
    return markers.positions[:, [markers.labels.index(label) for label in labels]]
