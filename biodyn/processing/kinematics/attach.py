"""Markers that the static trial did not show: the segment that each of them rides on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.body_model import AttachedMarker
from biodyn.model.inside_body import inside_segment
from biodyn.processing.kinematics.fit import Fit
from biodyn.recording import Markers

# A marker that rides on a segment moves less than this against it; more, and it belongs to none.
_ATTACHMENT_LIMIT_M = 0.02


def attach_by_movement(
    fit: Fit, markers: Markers, candidates: Mapping[str, str | None], weight: float
) -> tuple[tuple[AttachedMarker, ...], list[Diagnostic]]:
    """Find the segment that each marker the static trial did not show rides on.

    `candidates` maps labels to the segment named by the marker set, or None where nobody knows: then the segment
    against which the marker moves least is taken, if it is little enough.
    """
    model = fit.model
    bodies = [model.skeleton.root.name, *(body.definition.name for body in model.moving)]
    extra: list[AttachedMarker] = []
    notes: list[Diagnostic] = []
    for label, named in candidates.items():
        p = markers.positions[:, markers.labels.index(label)]
        frames = np.isfinite(p[:, 0]) & fit.solved
        if frames.sum() < 10:
            continue
        best: tuple[float, str, FloatArray] | None = None
        for body in [named] if named in bodies else bodies:
            R, origin = fit.body_pose(str(body))
            local = np.einsum("tji,tj->ti", R[frames], p[frames] - origin[frames])
            place = np.median(local, axis=0)
            spread = float(np.sqrt(np.mean(np.sum((local - place) ** 2, axis=1))))
            if best is None or spread < best[0]:
                best = (spread, str(body), place)
        if best is None:
            continue
        spread, body_name, place = best
        if spread > _ATTACHMENT_LIMIT_M:
            notes.append(
                Diagnostic(
                    "marker-not-used",
                    "info",
                    f"Marker {label} moves with no segment (best: {body_name}, {1000 * spread:.0f} mm): not used.",
                    value=spread,
                    limit=_ATTACHMENT_LIMIT_M,
                    unit="m",
                    about=label,
                )
            )
            continue
        carrier = next(b for b in model.bodies if b.definition.name == body_name)
        inside = None if named in bodies else inside_segment(label, place, carrier, model)
        if inside is not None:
            notes.append(inside)
            continue
        extra.append(AttachedMarker(label, body_name, place, weight, "attached by its movement"))
        notes.append(
            Diagnostic(
                "marker-attached",
                "info",
                f"Marker {label} moves with {body_name} ({1000 * spread:.0f} mm) and was attached there with weight "
                f"{weight:g}.",
                value=spread,
                unit="m",
                about=label,
            )
        )
    return tuple(extra), notes
