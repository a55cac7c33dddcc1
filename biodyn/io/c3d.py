"""Read C3D files: the bytes are parsed in a process that may die, what comes back is interpreted here, in SI."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io._events import read_events
from biodyn.io._header import C3dHeader, check_path, read_header
from biodyn.io._labels import PointRoles, point_roles
from biodyn.io._names import letters, names
from biodyn.io._platforms import read_plates
from biodyn.io._process import Failure, Parsed, parse_files
from biodyn.io._subject import Groups, subject_parameters
from biodyn.trial.recording import Markers, ModelOutput, Recording

DEFAULT_TIMEOUT_S = 20.0  # a 35 MB file takes half a second; a file that takes this long never ends

# A person's markers span a good part of their height in every frame; nobody is 1000 times larger or smaller.
_BODY_SPAN_M = (0.25, 3.5)
_LARGEST_COORDINATE_M = 1000.0
_WRONG_FACTORS = (1e-3, 1e3)
# No plate measures as much in any unit in use: 10 meganewton-metres in Nmm. One such number spoils a filtered channel.
_LARGEST_SAMPLE = 1e10
# Share of impossible positions that is still a slip of the export. A mark for "not seen" is one number, again and again.
_MOST_IMPOSSIBLE = 0.01
_DAMAGED = "Copy the original file again, or export the trial again from the capture software."


def read_c3d(path: str | Path, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Recording:
    """Read one C3D file.

    Raises InputFileError, in one sentence, for a file that does not exist, is no C3D, is damaged or truncated, makes
    the C3D library crash or hang, or holds no marker that was ever seen.
    """
    result = read_c3d_many([path], timeout_s=timeout_s)[0]
    if isinstance(result, InputFileError):
        raise result
    return result


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal; InputFileError if it cannot be read."""
    check_path(path)
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputFileError(f"'{path}' cannot be read: {error.strerror}.", "Check the permissions.") from error


def read_c3d_many(
    paths: Sequence[str | Path], *, timeout_s: float = DEFAULT_TIMEOUT_S
) -> list[Recording | InputFileError]:
    """Read several files side by side; a file that cannot be read is an InputFileError in its place."""
    results: list[Recording | InputFileError | None] = [None] * len(paths)
    headers: dict[int, C3dHeader] = {}
    for i, path in enumerate(paths):
        try:
            headers[i] = _sound_header(Path(path))
        except InputFileError as error:
            results[i] = error
    parsed = parse_files([header.path for header in headers.values()], timeout_s)
    for (i, header), answer in zip(headers.items(), parsed, strict=True):
        try:
            results[i] = _recording(header, answer)
        except InputFileError as error:
            results[i] = error
    return [result for result in results if result is not None]


def _sound_header(path: Path) -> C3dHeader:
    header = read_header(path)
    if header.point_count == 0:
        raise InputFileError(f"'{path}' holds no points; expected marker trajectories.", "Give a motion capture file.")
    if header.frames_stored < header.frame_count:
        raise InputFileError(
            f"'{path}' is truncated: it announces {header.frame_count} frames, bytes for "
            f"{header.frames_stored} are there ({header.size_bytes} bytes).",
            _DAMAGED,
        )
    return header


def _recording(header: C3dHeader, answer: Parsed | Failure) -> Recording:
    path = header.path
    if isinstance(answer, Failure):
        raise InputFileError(f"'{path}' could not be read: {answer.reason}.", _DAMAGED)
    facts, points = answer.facts, answer.points
    groups: Groups = facts["parameters"]
    frame_count, point_count = points.shape[:2]
    rate_hz = float(facts["rate_hz"]) or float(next(iter(_values(groups, "POINT", "RATE")), 0.0))
    if frame_count == 0 or point_count == 0:
        raise InputFileError(f"'{path}' holds no frames of points; expected marker trajectories.", _DAMAGED)
    if not np.isfinite(rate_hz) or rate_hz <= 0:
        raise InputFileError(f"'{path}' does not tell its frame rate (POINT:RATE is {rate_hz:g}).", _DAMAGED)
    _require_possible_samples(path, answer.samples)
    points = _unseen_as_nan(points)
    subject = subject_parameters(groups)
    labels, descriptions = (_point_texts(groups, name, point_count) for name in ("LABELS", "DESCRIPTIONS"))
    roles = point_roles(labels, points, _point_groups(groups), (subject.name,), descriptions)
    columns = [i for i, kind in enumerate(roles.kinds) if kind == "marker"]
    _require_markers(path, roles, points[:, columns])
    scale = _length_unit(groups, points[:, columns])
    first_frame = int(facts["first_frame"])
    positions, position_notes = _without_impossible(path, points[:, columns] * scale.markers)
    events, event_notes = read_events(groups.get("EVENT", {}), first_frame, frame_count, rate_hz)
    plates, plate_notes = read_plates(
        groups.get("FORCE_PLATFORM", {}),
        groups.get("ANALOG", {}),
        answer.samples,
        facts["channels"],
        scale.plates,
        frame_count,
        rate_hz,
    )
    return Recording(
        path=path,
        sha256=file_sha256(path),
        markers=Markers(tuple(roles.labels[i] for i in columns), positions, rate_hz),
        plates=plates,
        events=events,
        subject=subject,
        model_outputs=_model_outputs(groups, roles, points),
        vertical=_vertical(groups),
        first_frame=first_frame,
        declared_static=_declared_static(groups),
        diagnostics=(
            *roles.diagnostics,
            *scale.diagnostics,
            *position_notes,
            *event_notes,
            *plate_notes,
            *_dropped_note(roles),
        ),
    )


def _unseen_as_nan(points: FloatArray) -> FloatArray:
    """Also (0, 0, 0) exactly is a point that was not seen, as is a value that is not finite."""
    unseen = (points == 0.0).all(axis=2) | ~np.isfinite(points).all(axis=2)
    return np.where(unseen[..., None], np.nan, points)


def _require_possible_samples(path: Path, samples: FloatArray) -> None:
    """Raise InputFileError where plate channels hold numbers that only damaged bytes make."""
    impossible = np.abs(samples) > _LARGEST_SAMPLE  # NaN is how some exporters say "not recorded"
    if impossible.any():
        first, last = np.flatnonzero(impossible.any(axis=1))[[0, -1]] / len(samples)
        raise InputFileError(
            f"'{path}' is damaged: {int(impossible.sum())} samples of its plate channels are no number that a plate "
            f"measures, between {100 * first:.0f} and {100 * last:.0f} % of the recording.",
            _DAMAGED,
        )


def _without_impossible(path: Path, positions: FloatArray) -> tuple[FloatArray, tuple[Diagnostic, ...]]:
    """A coordinate of kilometres is a damaged number, not a place in a laboratory: it counts as not seen.

    Raises InputFileError where so many of them differ from each other that the rest is not to be trusted either.
    """
    impossible = np.atleast_2d((np.abs(positions) > _LARGEST_COORDINATE_M).any(axis=2))
    count = int(impossible.sum())
    if not count:
        return positions, ()
    different = len(np.unique(positions[impossible][:, 0]))
    seen = int(np.isfinite(positions[..., 0]).sum())
    if different > 0.5 * count and count > _MOST_IMPOSSIBLE * seen:
        raise InputFileError(
            f"'{path}' is damaged: {count} of its {seen} marker positions are kilometres away, each somewhere else.",
            _DAMAGED,
        )
    note = Diagnostic(
        "impossible-positions",
        "warning",
        f"{count} marker positions are farther than {_LARGEST_COORDINATE_M:g} m from the origin and count as not seen.",
        value=float(count),
        limit=0.0,
    )
    return np.where(impossible[..., None], np.nan, positions), (note,)


def _values(groups: Groups, group: str, name: str) -> list[Any]:
    values: list[Any] = groups.get(group, {}).get(name, {}).get("values", [])
    return values


def _point_texts(groups: Groups, name: str, count: int) -> list[str]:
    """POINT:LABELS (or DESCRIPTIONS) with LABELS2, LABELS3 ..., one for every point; "" where the file has none."""
    texts = [str(v) for v in _values(groups, "POINT", name)]
    number = 2
    while f"{name}{number}" in groups.get("POINT", {}):
        texts += [str(v) for v in _values(groups, "POINT", f"{name}{number}")]
        number += 1
    return (texts + [""] * count)[:count]


def _point_groups(groups: Groups) -> dict[str, list[str]]:
    """The lists of labels the POINT group holds: ANGLES, FORCES ..., continuations (ANGLES2) included.

    Also those that only POINT:TYPE_GROUPS calls groups of outputs.
    """
    announced = {str(v).strip() for v in _values(groups, "POINT", "TYPE_GROUPS")} - {
        "LABELS",
        "DESCRIPTIONS",
        "MARKERS",
    }
    kinds = {*names()["model_outputs"]["groups"], *announced}
    lists: dict[str, list[str]] = {}
    for name, parameter in groups.get("POINT", {}).items():
        base = name.rstrip("0123456789")
        if base in kinds:
            lists.setdefault(base, []).extend(str(v) for v in parameter["values"])
    return lists


def _require_markers(path: Path, roles: PointRoles, markers: FloatArray) -> None:
    if markers.shape[1] == 0:
        named = sum(bool(label) for label in roles.labels)
        raise InputFileError(
            f"'{path}' holds no marker: none of its {len(roles.labels)} points ({named} labelled) is a marker.",
            "Label the markers in the capture software.",
        )
    if not np.isfinite(markers).any():
        raise InputFileError(
            f"'{path}' holds {markers.shape[1]} marker labels, but no marker is seen in any frame.", _DAMAGED
        )


@dataclass(frozen=True)
class _LengthUnit:
    """Metres per file unit of the markers and of the plate geometry."""

    markers: float
    plates: float
    diagnostics: tuple[Diagnostic, ...] = ()


def _length_unit(groups: Groups, markers: FloatArray) -> _LengthUnit:
    """The unit POINT:UNITS states, corrected where it makes the body a thousand times too large or too small.

    The plates' geometry has its own check: exporters that convert the points do not always convert the corners.
    """
    text = str(next(iter(_values(groups, "POINT", "UNITS")), "")).strip()
    known = names()["length_units"]
    stated = known.get(letters(text))
    span = _typical_span(markers)
    sides = _plate_side(groups)
    if stated is None:
        unit = next((u for u in (0.001, 1.0, 0.01) if _BODY_SPAN_M[0] <= span * u <= _BODY_SPAN_M[1]), 0.001)
        note = Diagnostic(
            "length-unit-guessed",
            "warning",
            f"POINT:UNITS is '{text}', which is no known unit; {unit:g} m a unit is taken from the body's size.",
            value=span * unit,
            unit="m",
        )
        return _LengthUnit(unit, _plate_unit(unit, unit, sides), (note,))
    for wrong in _WRONG_FACTORS:
        corrected = stated * wrong
        if _BODY_SPAN_M[0] <= span * corrected <= _BODY_SPAN_M[1] and markers.shape[1] >= 4:
            note = Diagnostic(
                "length-unit-corrected",
                "warning",
                f"POINT:UNITS says '{text}', but then the markers would span {span * stated:.3g} m; "
                f"{corrected:g} m a unit is used instead.",
                value=span * stated,
                limit=_BODY_SPAN_M[1],
                unit="m",
                hint="Correct POINT:UNITS in the export settings.",
            )
            return _LengthUnit(corrected, _plate_unit(stated, corrected, sides), (note,))
    return _LengthUnit(stated, stated)


def _plate_unit(stated: float, corrected: float, side: float) -> float:
    """The plates follow the stated unit where it gives a plate of a possible size, else the corrected one."""
    plausible = 0.05 <= side * stated <= 10.0
    return stated if plausible else corrected


def _typical_span(markers: FloatArray) -> float:
    """Largest extent of the markers in a typical frame, file units; 0 where two are never seen together."""
    frames = markers[:: max(1, markers.shape[0] // 50)]
    seen = np.isfinite(frames[..., 0])
    frames = frames[seen.sum(axis=1) >= 2]
    if frames.shape[0] == 0:
        return 0.0
    spans = (np.nanmax(frames, axis=1) - np.nanmin(frames, axis=1)).max(axis=1)
    return float(np.median(spans))


def _plate_side(groups: Groups) -> float:
    """Longest side of the first plate, file units; 0 without plates."""
    corners = np.asarray(_values(groups, "FORCE_PLATFORM", "CORNERS")[:12], dtype=float)
    return float(np.ptp(corners.reshape(4, 3), axis=0).max()) if corners.size == 12 else 0.0


def _model_outputs(groups: Groups, roles: PointRoles, points: FloatArray) -> Mapping[str, ModelOutput]:
    unit_names = names()["model_outputs"]["unit_parameters"]
    units = {
        kind: str(next(iter(_values(groups, "POINT", parameter)), "")).strip() for kind, parameter in unit_names.items()
    }
    return {
        roles.labels[i]: ModelOutput(roles.labels[i], kind, points[:, i], units.get(kind, ""))  # type: ignore[arg-type]
        for i, kind in enumerate(roles.kinds)
        if kind not in ("marker", "dropped")
    }


def _vertical(groups: Groups) -> FloatArray | None:
    """The axis POINT:Y_SCREEN says points up; its sign is not to be trusted (Qualisys writes -Z with Z up)."""
    text = str(next(iter(_values(groups, "POINT", "Y_SCREEN")), "")).strip().upper()
    axis = "XYZ".find(text[-1:]) if text else -1
    if axis < 0:
        return None
    vertical = np.zeros(3)
    vertical[axis] = -1.0 if text.startswith("-") else 1.0
    return vertical


def _declared_static(groups: Groups) -> bool | None:
    for key in names()["subject"]["static_parameters"]:
        values = _values(groups, *key.split(":"))
        if values and not isinstance(values[0], str):
            return bool(values[0])
    return None


def _dropped_note(roles: PointRoles) -> tuple[Diagnostic, ...]:
    dropped = [label for label, kind in zip(roles.labels, roles.kinds, strict=True) if kind == "dropped"]
    if not dropped:
        return ()
    shown = ", ".join(label for label in dropped[:8] if label) + (" ..." if len(dropped) > 8 else "")
    text = f"{len(dropped)} unnamed points are left out" + (f": {shown}." if shown else ".")
    return (Diagnostic("points-dropped", "info", text, value=float(len(dropped))),)
