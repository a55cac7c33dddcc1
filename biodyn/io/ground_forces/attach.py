"""A recording without force plates gets those of a file of forces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from biodyn.conventions import SIDE_NAMES
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.events import later
from biodyn.io.ground_forces.beside import forces_beside
from biodyn.io.ground_forces.read import GroundForces, read_ground_forces
from biodyn.io.tables.force_plates import frame_forces
from biodyn.recording import Recording

_OTHERS = "Where these are not its forces: --forces FILE, or --forces none."


def with_forces(recording: Recording, path: str | Path) -> Recording:
    """Return a recording with the ground forces of a file (`read`) as its plates, whatever plates it had.

    Frames that the forces do not cover are left out. Raises InputFileError where the file cannot be read or is of another time.
    """
    return with_ground_forces(recording, read_ground_forces(path))


def with_ground_forces(recording: Recording, forces: GroundForces) -> Recording:
    """Return a recording with ground forces that were read; see `with_forces`."""
    markers = recording.markers
    made = frame_forces(
        forces.table,
        forces.forces,
        markers.frame_count,
        markers.rate_hz,
        recording.start_s,
        markers.positions,
        forces.plates,
    )
    kept = replace(markers, positions=markers.positions[made.first : made.stop])
    outputs = {
        label: replace(output, values=output.values[made.first : made.stop])
        for label, output in recording.model_outputs.items()
    }
    return replace(
        recording.with_markers(kept),
        plates=made.plates,
        events=later(recording.events, made.first / markers.rate_hz, kept.frame_count, markers.rate_hz),
        model_outputs=outputs,
        first_frame=recording.first_frame + made.first,
        start_s=recording.start_s + made.first / markers.rate_hz,
        also_read=(*recording.also_read, *forces.files),
        diagnostics=(
            *recording.diagnostics,
            _taken(forces),
            *forces.table.notes,
            *forces.notes,
            *_left_out(forces),
            *made.notes,
        ),
    )


def with_forces_beside(recording: Recording) -> Recording:
    """Return a recording with the forces of the file beside it that belongs to it, if there is one; see `forces_beside`."""
    found = forces_beside(recording.path)
    try:
        if found.path is not None:
            return with_forces(recording, found.path)
        if found.unread is not None:
            read_ground_forces(found.unread)  # says what it lacks
    except InputFileError as error:
        return with_unusable(recording, f"The ground forces beside '{recording.path.name}'", error)
    if not found.several:
        return recording
    names = ", ".join(path.name for path in found.several)
    note = Diagnostic(
        "forces-unclear",
        "warning",
        f"Several files beside '{recording.path.name}' could hold its ground forces: {names}; none is taken.",
        hint="Name one: --forces FILE.",
    )
    return replace(recording, diagnostics=(*recording.diagnostics, note))


def with_unusable(recording: Recording, forces: str, error: InputFileError) -> Recording:
    """Return a recording that says why some `forces` are not used."""
    note = Diagnostic("forces-unusable", "warning", f"{forces} are not used: {error.message}", hint=error.hint)
    return replace(recording, diagnostics=(*recording.diagnostics, note))


def _taken(forces: GroundForces) -> Diagnostic:
    """What was taken, and what a table of forces cannot tell."""
    if not forces.forces:
        text = f"The ground forces are those of {len(forces.plates)} plates in '{forces.path.name}'."
        return Diagnostic("forces-of-a-table", "info", text, hint=_OTHERS)
    named = [f"{one.force[0]} ... on the {SIDE_NAMES[one.side]} foot" for one in forces.forces if one.side]
    unnamed = [f"{one.force[0]} ..." for one in forces.forces if not one.side]
    by_pressure = [f"{', '.join(unnamed)} (whose foot: by the centre of pressure)"] if unnamed else []
    return Diagnostic(
        "forces-of-a-table",
        "info",
        f"The ground forces are those of '{forces.path.name}': {'; '.join((*named, *by_pressure))}. A table of forces does not "
        "tell the edges of the plates: whether a foot hung over one cannot be checked.",
        hint=_OTHERS,
    )


def _left_out(forces: GroundForces) -> tuple[Diagnostic, ...]:
    if not forces.left_out:
        return ()
    names = ", ".join(forces.left_out)
    text = f"'{forces.path.name}' also loads what is no foot: {names}. These loads are left out."
    return (Diagnostic("loads-left-out", "warning", text, value=float(len(forces.left_out))),)
