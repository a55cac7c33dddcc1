"""The walk's own C3D with the result added: angles, moments, powers and forces as points, and the events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from biodyn.errors import ResultError, printable
from biodyn.io import file_sha256
from biodyn.io.formats.c3d.append import NewEvent, NewPoint, appended
from biodyn.trial.export.conventions import channels

if TYPE_CHECKING:
    from biodyn.output.report.view import TrialView

USUAL: Final = "plug_in_gait"
_GROUPS: Final = {"angle": "ANGLES", "moment": "MOMENTS", "power": "POWERS", "force": "FORCES"}
_LABELS: Final = {"foot_strike": "Foot Strike", "foot_off": "Foot Off"}
_CONTEXTS: Final = {"r": "Right", "l": "Left"}


def c3d_file(view: TrialView, convention: str, recording: Path | None) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the recording with the channels of a convention and the events added.

    Raises ResultError where the recording is not found, or is not the one that was analysed; InputFileError where it cannot
    be added to.
    """
    path = _recording(view, recording)
    points = [
        NewPoint(found.name, _GROUPS[found.group], found.unit, found.meaning, found.triple)
        for found in channels(view, convention or USUAL)
        if found.group in _GROUPS
    ]
    made = view.record["input"]
    content, notes = appended(path, points, _events(view), made.get("first_frame"), int(made.get("frame_step", 1)))
    return {path.name: content}, notes


def _recording(view: TrialView, given: Path | None) -> Path:
    """The walk's own file: the one that was named, else where it was analysed; it must be the same still."""
    made = view.record["input"]
    path = given if given is not None else Path(str(made.get("path", "")))
    again = "Name it with --recording FILE."
    if given is None and not path.is_file():
        path = _shown_as(path) or path
    if not path.is_file():
        raise ResultError(f"The recording '{made.get('file', path.name)}' is not at '{path}'.", again)
    if file_sha256(path) != made.get("sha256"):
        raise ResultError(f"'{path}' is not the recording that was analysed: its digest differs.", again)
    if path.suffix.lower() != ".c3d":
        raise ResultError(
            f"'{path.name}' is no C3D file: there is nothing to write the result into.", "Export to mat or xlsx."
        )
    return path


def _shown_as(path: Path) -> Path | None:
    """The file whose path is recorded so: a record shows characters that cannot be printed by their escapes."""
    found = Path(path.anchor)
    for part in path.parts[1:] if path.anchor else path.parts:
        exact = found / part
        try:
            named = [exact] if exact.exists() else [one for one in found.iterdir() if part in _shown(one.name)]
        except OSError:
            return None
        if len(named) != 1:
            return None
        (found,) = named
    return found


def _shown(name: str) -> tuple[str, str]:
    return printable(name), printable(name, keep="\n\t")


def _events(view: TrialView) -> list[NewEvent]:
    table = view.tables["events"]
    return [
        NewEvent(float(time_s), _CONTEXTS[str(side)], _LABELS[str(event)])
        for time_s, side, event in zip(table["time_s"].to_numpy(), table["side"], table["event"], strict=True)
    ]
