"""What is in a file without markers, for `biodyn check`: coordinates and ground forces of a table, an OpenSim model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from biodyn.conventions import SIDE_NAMES
from biodyn.diagnostics import Diagnostic
from biodyn.model.from_osim.subject import imported_model
from biodyn.recording import Recording
from biodyn.rigid_body import OpenSimModel, from_osim
from biodyn.rigid_body.marker_fit import MIN_MARKERS

MODEL_SUFFIX = ".osim"
_SHOWN = 40  # names on a line


def table_lines(recording: Recording) -> Iterator[str]:
    """What a recording without markers holds."""
    coordinates = recording.motion.coordinates
    if coordinates is not None:
        count, rate_hz = coordinates.frame_count, coordinates.rate_hz
    else:
        rate_hz = recording.plates[0].rate_hz if recording.plates else 0.0
        count = len(recording.plates[0].channels) if recording.plates else 0
    end_s = recording.start_s + (count - 1) / rate_hz if rate_hz else recording.start_s
    yield f"{recording.path.name}: {count} rows at {rate_hz:.6g} Hz, {recording.start_s:.3f} to {end_s:.3f} s"
    yield from coordinate_lines(recording)
    for plate in recording.plates:
        largest = float(np.linalg.norm(plate.channels[:, :3], axis=1).max())
        foot = f"on the {SIDE_NAMES[plate.side]} foot" if plate.side else "the file names no foot"
        yield f"Ground force {plate.number}, {plate.channel_labels[0]} ...: {foot}, up to {largest:.0f} N"
    if coordinates is not None:
        yield "No markers. Joint torques of the model of these coordinates: biodyn run FILE --model MODEL.osim --forces GRF.mot"
    else:
        yield "No markers. These forces belong to a motion: biodyn run WALK.trc --forces FILE"


def coordinate_lines(recording: Recording) -> Iterator[str]:
    """Joint coordinates with their ranges; nothing where there are none."""
    coordinates = recording.motion.coordinates
    if coordinates is None:
        return
    ranges = []
    for label, unit in list(zip(coordinates.labels, coordinates.units, strict=True))[:_SHOWN]:
        values = coordinates.column(label)
        shown = np.degrees(values) if unit == "rad" else values
        word = "deg" if unit == "rad" else unit
        known = shown[np.isfinite(shown)]
        ranges.append(
            f"{label} {known.min():.3g} to {known.max():.3g} {word}" if len(known) else f"{label} without a number"
        )
    more = " ..." if len(coordinates.labels) > _SHOWN else ""
    yield f"Joint coordinates: {len(coordinates.labels)}: {', '.join(ranges)}{more}"


def model_lines(path: str | Path) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """What an OpenSim model holds, and what of it is not used; ModelError where it cannot be read."""
    model = from_osim(path)
    tied = {coupling.dependent for coupling in model.couplings}
    names = [one.name + (" (coupled)" if one.name in tied else "") for one in model.coordinates]
    bodies = [body.name for body in model.multibody.bodies if "/" not in body.name]
    lines = (
        f"{Path(path).name}: OpenSim model {model.name or 'without a name'}, {model.multibody.total_mass_kg:.2f} kg",
        f"Bodies: {len(bodies)}: {', '.join(bodies[:_SHOWN])}{' ...' if len(bodies) > _SHOWN else ''}",
        f"Coordinates: {len(names)}: {', '.join(names[:_SHOWN])}{' ...' if len(names) > _SHOWN else ''}",
        f"Markers: {len(model.markers)}",
        *_meaning(model),
        f"Run a motion on it: biodyn run MOTION.mot --model {Path(path).name} --forces LOADS.xml",
    )
    return lines, model.notes


def with_model_lines(labels: Sequence[str], path: str | Path) -> tuple[str, ...]:
    """How the markers of a recording and of an OpenSim model meet; ModelError where the model cannot be read."""
    model = from_osim(path)
    own = [marker.name for marker in model.markers if marker.body is not None]
    common, lacking = [name for name in own if name in labels], [name for name in own if name not in labels]
    others = [label for label in labels if label not in own]
    text = f"With {Path(path).name}: {len(common)} of its {len(own)} markers are in the recording"
    text += f"; not there: {_listed(lacking)}" if lacking else ""
    text += f"; not on the model: {_listed(others)}" if others else ""
    few = (
        ()
        if len(common) >= MIN_MARKERS
        else (f"The model follows at least {MIN_MARKERS} markers: it cannot follow these.",)
    )
    return (f"{text}.", *few, *_meaning(model))


def _meaning(model: OpenSimModel) -> Iterator[str]:
    """What of the model is known by name and geometry: feet, and coordinates that are variables of the gait cycle."""
    body = imported_model(model)
    if body is None:
        yield "Several bodies hang on ground: torques alone, without cycles, report and replay."
        return
    feet = ", ".join(body.sole_body.values())
    yield (
        f"Feet: {feet}"
        if len(body.sole_body) == len(SIDE_NAMES)
        else "Feet: no two that are known; no events and cycles"
    )
    turned = body.reversed()
    if turned:
        yield f"Counted the other way than here: {_listed(list(turned))}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")
