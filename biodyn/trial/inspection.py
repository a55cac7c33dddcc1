"""Contents of a recording for `biodyn check`: signals, marker set, plates, and findings."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from biodyn.checks.files import FileFacts, find_problems
from biodyn.conventions import SIDE_NAMES
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError, MarkerSetError, PlateError, ResultError, TableError
from biodyn.io import read, read_facts
from biodyn.library.pose_systems import find_pose_system
from biodyn.library.toml_files import SUFFIX
from biodyn.model.from_library.label_reading.label_dictionary import DICTIONARY
from biodyn.model.from_library.label_reading.spelling import normalise
from biodyn.model.from_library.marker_set_table import MarkerSet, load_marker_set
from biodyn.model.from_library.markersets import draft_marker_set, missing_labels, missing_landmarks
from biodyn.model.from_library.user_tables import load_user_tables
from biodyn.model.from_osim.imported_model import imported_model
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.signals.world_frame import find_world
from biodyn.recording import Recording
from biodyn.rigid_body import OpenSimModel, from_osim
from biodyn.rigid_body.marker_fit import MIN_MARKERS
from biodyn.session import recording_role
from biodyn.settings import Settings, settings_from
from biodyn.trial.bodies.body_from_poses import with_segment_origins
from biodyn.trial.trial_files import choose_poses_or_markers

MODEL_SUFFIX = ".osim"
_SHOWN = 40  # number of names on a line


def table_lines(recording: Recording) -> Iterator[str]:
    """Yield lines on the contents of a recording without markers."""
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
        foot = f"on the {SIDE_NAMES[plate.side]} foot" if plate.side else "foot not stated in the file"
        yield f"Ground force {plate.number}, {plate.channel_labels[0]} ...: {foot}, up to {largest:.0f} N"
    if coordinates is not None:
        yield "No markers. To analyse the coordinates with their model: biodyn run FILE --model MODEL.osim --forces GRF.mot"
    else:
        yield "No markers. To use these forces with a motion: biodyn run WALK.trc --forces FILE"


def coordinate_lines(recording: Recording) -> Iterator[str]:
    """Yield lines on the joint coordinates and their ranges."""
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
            f"{label} {known.min():.3g} to {known.max():.3g} {word}" if len(known) else f"{label} without values"
        )
    more = " ..." if len(coordinates.labels) > _SHOWN else ""
    yield f"Joint coordinates: {len(coordinates.labels)}: {', '.join(ranges)}{more}"


def model_lines(path: str | Path) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return lines on the contents of an OpenSim model, and findings on unused parts; ModelError if it cannot be read."""
    model = from_osim(path)
    tied = {coupling.dependent for coupling in model.couplings}
    names = [coordinate.name + (" (coupled)" if coordinate.name in tied else "") for coordinate in model.coordinates]
    bodies = [body.name for body in model.multibody.bodies if "/" not in body.name]
    lines = (
        f"{Path(path).name}: OpenSim model {model.name or 'without a name'}, {model.multibody.total_mass_kg:.2f} kg",
        f"Bodies: {len(bodies)}: {', '.join(bodies[:_SHOWN])}{' ...' if len(bodies) > _SHOWN else ''}",
        f"Coordinates: {len(names)}: {', '.join(names[:_SHOWN])}{' ...' if len(names) > _SHOWN else ''}",
        f"Markers: {len(model.markers)}",
        *_recognised_model_lines(model),
        f"To analyse a motion with it: biodyn run MOTION.mot --model {Path(path).name} --forces LOADS.xml",
    )
    return lines, model.notes


def common_marker_lines(labels: Sequence[str], path: str | Path) -> tuple[str, ...]:
    """Return lines on the common markers of a recording and an OpenSim model; ModelError if the model cannot be read."""
    model = from_osim(path)
    model_markers = [marker.name for marker in model.markers if marker.body is not None]
    common = [name for name in model_markers if name in labels]
    lacking = [name for name in model_markers if name not in labels]
    others = [label for label in labels if label not in model_markers]
    text = f"With {Path(path).name}: {len(common)} of its {len(model_markers)} markers are in the recording"
    text += f"; missing: {_list_names(lacking)}" if lacking else ""
    text += f"; not on the model: {_list_names(others)}" if others else ""
    few = () if len(common) >= MIN_MARKERS else (f"The fit of the model needs at least {MIN_MARKERS} common markers.",)
    return (f"{text}.", *few, *_recognised_model_lines(model))


def _recognised_model_lines(model: OpenSimModel) -> Iterator[str]:
    """Yield lines on feet and gait variables that are recognised in the model by name and geometry."""
    body = imported_model(model)
    if body is None:
        yield "Several moving bodies are attached to ground: such a model cannot be analysed."
        return
    feet = ", ".join(body.sole_body.values())
    yield (
        f"Feet: {feet}"
        if len(body.sole_body) == len(SIDE_NAMES)
        else "Feet: not recognised, so there are no gait events and cycles"
    )
    turned = body.reversed_coordinates()
    if turned:
        yield f"Coordinates with the opposite sign of biodyn's variables: {_list_names(list(turned))}"


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")


# Identifies a page written by biodyn.
_OURS = '<meta name="generator" content="biodyn'
# A plate with a smaller largest force was not stepped on, N.
_LOADED_N = 20.0


@dataclass(frozen=True)
class FileCheck:
    """The result of `check_file`: lines that describe the file, and the findings of the checks."""

    lines: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


def check_file(
    path: str | Path,
    settings: Settings | str | Path | None = None,
    marker_set: str | None = None,
    model: str | Path | None = None,
) -> FileCheck:
    """Read a recording and describe its contents; raises InputFileError if it cannot be read.

    Parameters:
        settings: settings of the planned analysis, whose tables are checked, too.
        marker_set: name or TOML file of a marker set that replaces the one in the settings.
        model: OpenSim model to be fitted to the markers.

    Raises SettingsError and TableError for invalid settings and tables.
    """
    return _check_contents(path, settings, marker_set, model)[0]


def write_check_page(
    path: str | Path,
    target: str | Path | None = None,
    settings: Settings | str | Path | None = None,
    marker_set: str | None = None,
    model: str | Path | None = None,
) -> tuple[FileCheck, Path]:
    """Describe the contents of a recording and write a page with its 3-D view; returns the description and the page.

    target: folder of the page, by default a temporary one; other parameters as in `check_file`.

    Raises errors as `check_file` does, InputFileError if no marker is seen, and ResultError if the page cannot be written or
    would replace a file that biodyn did not write.
    """
    from biodyn.output.report.check_page import render_check_page
    from biodyn.output.store.record import program_versions

    checked, file = _check_contents(path, settings, marker_set, model)
    page = (
        None
        if file is None
        else render_check_page(file, checked.lines, checked.diagnostics, program_versions()["biodyn"])
    )
    if page is None:
        raise InputFileError(f"'{Path(path).name}' has no visible marker to show.", "Omit --out and --open.")
    name = f"{Path(path).name}.check.html"
    try:
        place = Path(tempfile.mkdtemp(prefix="biodyn-check-") if target is None else target) / name
        if place.exists() and _OURS not in place.read_text(encoding="utf-8", errors="replace")[:1000]:
            raise ResultError(f"'{place}' was not written by biodyn and is not replaced.", "Choose another folder.")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ResultError(f"'{name}' cannot be written: {error.strerror}.", "Choose another folder.") from error
    return checked, place


def _check_contents(
    path: str | Path, settings: Settings | str | Path | None, marker_set: str | None, model: str | Path | None
) -> tuple[FileCheck, FileFacts | None]:
    """Return the contents of a file, and the facts of a recording with markers."""
    options = settings_from(settings)
    chosen = options.model.marker_set if marker_set is None else marker_set
    load_user_tables(replace(options.table_names, marker_set=chosen))
    if Path(path).suffix.lower() == MODEL_SUFFIX:
        return FileCheck(*model_lines(path)), None
    result = read(path)
    if result.motion.markers is None and result.motion.poses is None:
        return FileCheck(tuple(table_lines(result)), result.diagnostics), None
    result = choose_poses_or_markers(result, options.poses.use)
    world = find_world(with_segment_origins(result) if result.uses_poses else result)
    file = FileFacts(result.rotated(world.R_WL), options, chosen)
    role, why = recording_role(read_facts(path))
    lines = (
        *_content_lines(result),
        *coordinate_lines(result),
        f"Role: {role}. {why}",
        f"World: {world.reason}",
        *_pose_lines(file.recording),
        *_marker_lines(file),
        *_plate_lines(file),
        *(() if model is None else common_marker_lines((*result.markers.labels, *result.model_outputs), model)),
    )
    file_check = FileCheck(lines, (*result.diagnostics, *world.diagnostics, *find_problems(file)))
    return file_check, None if file.recording.uses_poses else file


def _content_lines(recording: Recording) -> Iterator[str]:
    markers, subject = recording.markers, recording.subject
    yield f"{recording.path.name}: {markers.frame_count} frames at {markers.rate_hz:g} Hz, first frame {recording.first_frame}"
    facts = [f"name {subject.name}" if subject.name else "no name"]
    facts.append(f"{subject.mass_kg:.1f} kg" if subject.mass_kg else "no mass")
    facts.append(f"{subject.height_m:.2f} m" if subject.height_m else "no height")
    yield f"Subject: {', '.join(facts)}; {len(subject.measures)} measures ({', '.join(subject.measures) or 'none'})"
    yield f"Events in the file: {len(recording.events)}; model outputs: {len(recording.model_outputs)}"


def write_marker_set_template(path: str | Path, target: str | Path) -> Path:
    """Write a marker set file with comments for the labels of a recording; returns its path.

    Raises TableError if the file exists or cannot be written, InputFileError for an unreadable recording.
    """
    place = Path(target)
    if place.suffix.lower() != SUFFIX:
        raise TableError(
            f"'{place}' is not a valid name of a marker set file, which must end in .toml.", "Choose another name."
        )
    result = read(path)
    if result.uses_poses:
        raise TableError(f"'{Path(path).name}' contains segment poses but no markers, which a marker set needs.")
    text = draft_marker_set(result.markers.labels, Path(path).name, place.name)
    try:
        with place.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise TableError(f"'{place}' already exists and is not replaced.", "Choose another name.") from error
    except OSError as error:
        raise TableError(f"'{place}' cannot be written: {error.strerror}.", "Choose another path.") from error
    return place


def _pose_lines(recording: Recording) -> Iterator[str]:
    """Yield lines on the segments with poses: share of frames, and stored reliability."""
    poses = recording.motion.poses
    if poses is None:
        return
    system = find_pose_system(poses.labels)
    yield f"Poses: {len(poses.labels)} segments, {poses.frame_count} frames at {poses.rate_hz:g} Hz, " + (
        "of an unknown system" if system is None else f"axes and joints of {system.title}"
    )
    reliabilities = []
    for i, label in enumerate(poses.labels):
        seen = np.isfinite(poses.origins[:, i, 0])
        reliability = np.full(1, np.nan) if poses.reliability is None else poses.reliability[seen, i]
        known = reliability[np.isfinite(reliability)]
        reliabilities.append(
            f"{label} {100 * seen.mean():.0f} %" + (f" ({known.min():.2g}-{known.max():.2g})" if known.size else "")
        )
    yield f"Frames with pose (minimum and maximum reliability): {', '.join(reliabilities)}"
    if system is None:
        return
    unused = [
        label for label in poses.labels if label not in system.bodies and label not in {p.at for p in system.points}
    ]
    absent = [label for label in system.bodies if label not in poses.labels]
    if absent:
        yield f"Not in this file: {', '.join(absent)}"
    if unused:
        yield f"Not used: {', '.join(unused)}"
    if poses.landmarks:
        yield f"Landmarks in the file: {', '.join(poses.landmarks)}"


def _marker_lines(file: FileFacts) -> Iterator[str]:
    if file.recording.uses_poses:
        yield "Markers: none, the poses are used"
        return
    labels, mapping, marker_set = file.recording.markers.labels, file.mapping, file.marker_set
    yield f"Markers: {len(labels)}: {', '.join(labels)}"
    if isinstance(mapping, MarkerSetError):
        if marker_set != "auto":
            yield from _found_marker_lines(load_marker_set(marker_set), labels)
        return
    yield f"Marker set: {mapping.title} ({_match_fraction_text(mapping, mapping.name)}){_runner_up_text(mapping, labels)}"
    if marker_set != "auto":
        yield from _requested_set_lines(load_marker_set(marker_set), mapping)
    else:
        yield from _missing_marker_lines(mapping, labels)
    if mapping.ambiguous:
        unsure = [f"{label} ({' or '.join(could)})" for label, could in mapping.ambiguous.items()]
        yield f"Ambiguous labels, not used as landmarks: {', '.join(unsure)}"
    if mapping.unknown:
        yield f"Unknown labels, attached to segments by their movement: {', '.join(mapping.unknown)}"


def _match_fraction_text(mapping: MarkerMapping, name: str) -> str:
    """Return the fit of a marker set as text: share of known labels for the dictionary, share of its markers for other sets."""
    return f"{100 * mapping.scores[name]:.0f} % of {'the labels' if name == DICTIONARY else 'its markers'}"


def _runner_up_text(mapping: MarkerMapping, labels: Sequence[str]) -> str:
    """Return a text on the second-best marker set and its missing markers; "" if no other was tried."""
    second = mapping.runner_up
    if not second:
        return ""
    lacks = missing_labels(load_marker_set(second), labels)
    but = f", but lacks {', '.join(lacks)}" if lacks else ""
    return f"; next: {load_marker_set(second).title} ({_match_fraction_text(mapping, second)}{but})"


def _missing_marker_lines(mapping: MarkerMapping, labels: Sequence[str]) -> Iterator[str]:
    """Yield lines on markers of a recognised set that are missing in the file, with their segments."""
    marked = {role.landmark for role in mapping.roles}
    if mapping.name == DICTIONARY:
        return
    absent = missing_landmarks(load_marker_set(mapping.name), marked, labels)
    if absent:
        yield f"Not in this file: {', '.join(f'{marker.text} on {marker.body}' for marker in absent)}"
    later = missing_labels(load_marker_set(mapping.name), labels)
    if later:
        yield f"Expected in the static trial: {', '.join(later)}"


def _requested_set_lines(marker_set: MarkerSet, mapping: MarkerMapping) -> Iterator[str]:
    """Yield lines on the markers found by a requested set, and those recognised by anatomical names."""
    yield from _found_marker_lines(marker_set, [role.label for role in mapping.roles if role.source == mapping.name])
    anatomical = [
        f"{role.label} ({role.landmark or role.body})" for role in mapping.roles if role.source != mapping.name
    ]
    if anatomical:
        yield f"Recognised by anatomical names in addition: {', '.join(anatomical)}"


def _found_marker_lines(marker_set: MarkerSet, labels: Sequence[str]) -> Iterator[str]:
    present = {normalise(label) for label in labels}
    recognised = [f"{label} ({e.landmark or e.body})" for label in labels if (e := marker_set.find(label)) is not None]
    absent = [e.keys[0] + (" (static trial only)" if e.static_only else "") for e in marker_set.entries
              if present.isdisjoint(e.keys)]  # fmt: skip
    yield f"Found of '{marker_set.name}': {', '.join(recognised) or 'none'}"
    yield f"Not found of '{marker_set.name}': {', '.join(absent) or 'none'}"


def _plate_lines(file: FileFacts) -> Iterator[str]:
    if not file.recording.plates:
        yield "Force plates: none"
    for plate, wrench in zip(file.recording.plates, file.wrenches, strict=True):
        size = [np.linalg.norm(plate.corners[0] - plate.corners[i]) for i in (1, 3)]
        outline = f"type {plate.type}, {size[0]:.2f} x {size[1]:.2f} m" if plate.outlined else "edges unknown"
        foot = f", on the {SIDE_NAMES[plate.side]} foot" if plate.side else ""
        text = f"Plate {plate.number}: {outline}{foot}, {plate.rate_hz:g} Hz"
        if isinstance(wrench, PlateError):
            yield text
            continue
        peak = float(np.nanmax(wrench.wrench[:, 4]))
        yield text + (f", largest vertical force {peak:.0f} N" if peak > _LOADED_N else ", never loaded")
