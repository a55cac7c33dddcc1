"""What is in a C3D file, for `biodyn check`: contents, marker set, plates, and what looks wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, MarkerSetError, PlateError
from biodyn.io.c3d import read_c3d_many
from biodyn.model.markersets import recognise
from biodyn.processing.orientation import find_world
from biodyn.processing.plates import plate_wrench
from biodyn.trial import Recording

# A plate that never carries this much was not stepped on.
_LOADED_N = 20.0
_WELL_SEEN = 0.9


@dataclass(frozen=True)
class FileCheck:
    """Lines for people, and the findings behind them."""

    lines: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


def check_file(path: str | Path) -> FileCheck:
    """Read a C3D file and say what it holds; raises InputFileError if it cannot be read at all."""
    (result,) = read_c3d_many([path])
    if isinstance(result, InputFileError):
        raise result
    recording = result
    notes = list(recording.diagnostics)
    world = find_world(recording)
    notes += world.diagnostics
    lines = [*_contents(recording), f"World: {world.reason}"]
    lines += _markers(recording, notes)
    lines += _plates(recording.rotated(world.R_WL), notes)
    return FileCheck(tuple(lines), tuple(notes))


def _contents(recording: Recording) -> Iterator[str]:
    markers, subject = recording.markers, recording.subject
    yield f"{recording.path.name}: {markers.frame_count} frames at {markers.rate_hz:g} Hz, first frame {recording.first_frame}"
    facts = [f"name {subject.name}" if subject.name else "no name"]
    facts.append(f"{subject.mass_kg:.1f} kg" if subject.mass_kg else "no mass")
    facts.append(f"{subject.height_m:.2f} m" if subject.height_m else "no height")
    yield f"Subject: {', '.join(facts)}; {len(subject.measures)} measures ({', '.join(subject.measures) or 'none'})"
    yield f"Events in the file: {len(recording.events)}; computed channels: {len(recording.model_outputs)}"


def _markers(recording: Recording, notes: list[Diagnostic]) -> Iterator[str]:
    markers = recording.markers
    share = np.isfinite(markers.positions[..., 0]).mean(axis=0)
    yield f"Markers: {len(markers.labels)}: {', '.join(markers.labels)}"
    gappy = [
        f"{label} {100 * seen:.0f} %" for label, seen in zip(markers.labels, share, strict=True) if seen < _WELL_SEEN
    ]
    if gappy:
        notes.append(
            Diagnostic("marker-visibility", "warning", f"Seen in less than 90 % of the frames: {', '.join(gappy)}.")
        )
    try:
        mapping = recognise(markers.labels)
    except MarkerSetError as error:
        notes.append(Diagnostic("marker-set", "error", error.message, hint=error.hint))
        return
    yield f"Marker set: {mapping.title} ({100 * mapping.scores[mapping.name]:.0f} % of its markers)"
    if mapping.unknown:
        yield f"Not understood, attached by their movement: {', '.join(mapping.unknown)}"


def _plates(recording: Recording, notes: list[Diagnostic]) -> Iterator[str]:
    if not recording.plates:
        yield "Force plates: none"
    for plate in recording.plates:
        size = [np.linalg.norm(plate.corners[0] - plate.corners[i]) for i in (1, 3)]
        text = f"Plate {plate.number}: type {plate.type}, {size[0]:.2f} x {size[1]:.2f} m, {plate.rate_hz:g} Hz"
        try:
            wrench = plate_wrench(plate, recording.markers.frame_count, recording.markers.rate_hz)
        except PlateError as error:
            notes.append(Diagnostic("plate", "error", error.message, hint=error.hint))
            yield text
            continue
        notes += wrench.diagnostics
        peak = float(np.nanmax(wrench.wrench[:, 4]))
        yield text + (f", largest vertical force {peak:.0f} N" if peak > _LOADED_N else ", never loaded")
