"""Joint centres that the laboratory's software stored in the static trial, where they are to take the place of biodyn's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.library.load import load_table
from biodyn.library.tables import sided_rows
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.recording import ModelOutput, Recording

_SEPARATORS = re.compile(r"[\s_.\-#]+")
# A joint centre lies within the body: farther from every marker it is in another unit or frame.
_FARTHEST_M = 0.3


@dataclass(frozen=True)
class StoredCentre:
    """A joint centre that a recording holds: the label of the computed point, the landmark that it is, a segment at the joint."""

    label: str
    landmark: str
    body: str


def stored_centres(static: Recording) -> tuple[StoredCentre, ...]:
    """Return the joint centres that the recording holds, one a joint.

    Take it before the recording is turned: computed points keep the file's own frame.
    """
    found: dict[str, StoredCentre] = {}
    for _, row in sided_rows("body/computed_centres", "centre"):
        labels = (_matching(static, re.compile(pattern)) for pattern in row["labels"])
        label = next(filter(None, labels), "")
        if label:
            found.setdefault(row["landmark"], StoredCentre(label, row["landmark"], row["body"]))
    return tuple(found.values())


def with_stored_centres(static: Recording, centres: Sequence[StoredCentre]) -> Recording:
    """Return the recording with its stored joint centres among the markers, so that they are averaged and turned with them."""
    columns = [_metres(static.model_outputs[centre.label])[:, None] for centre in centres]
    if not columns:
        return static
    markers = static.markers
    positions = np.concatenate([markers.positions, *columns], axis=1)
    more = replace(markers, labels=(*markers.labels, *(centre.label for centre in centres)), positions=positions)
    return replace(static, motion=replace(static.motion, markers=more))


def centre_roles(mapping: MarkerMapping, centres: Sequence[StoredCentre]) -> tuple[MarkerMapping, list[Diagnostic]]:
    """Return the mapping in which the stored centres mark their landmarks and are fitted to nothing, and the notice of it."""
    if not centres:
        return mapping, []
    roles = tuple(MarkerRole(c.label, c.landmark, c.body, 0.0, True, "stored") for c in centres)
    said = ", ".join(f"{centre.label} ({centre.landmark})" for centre in centres)
    note = Diagnostic(
        "stored-centres",
        "info",
        f"Joint centres are those that the static trial's file stores: {said}.",
        hint="[model] stored_centres = false uses biodyn's own.",
    )
    return replace(mapping, roles=mapping.roles + roles), [note]


def _matching(static: Recording, pattern: re.Pattern[str]) -> str:
    """A computed point whose label matches, is seen, and lies in the body."""
    for label, output in static.model_outputs.items():
        if output.kind != "virtual_point" or not pattern.fullmatch(_SEPARATORS.sub("", label.upper())):
            continue
        place = np.nanmedian(_metres(output), axis=0) if np.isfinite(output.values).any() else np.full(3, np.nan)
        distance = np.linalg.norm(np.nanmedian(static.markers.positions, axis=0) - place, axis=1)
        if np.isfinite(place).all() and np.nanmin(distance) < _FARTHEST_M:
            return label
    return ""


def _metres(output: ModelOutput) -> FloatArray:
    factors = load_table("formats/c3d_names")["length_units"]
    return np.asarray(output.values * factors.get(output.unit.strip().lower(), 0.001))
