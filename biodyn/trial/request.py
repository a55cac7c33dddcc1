"""The request of an analysis: a frozen dataclass that command line, Python, studies and sessions pass to the steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeAlias, TypedDict, TypeVar, Unpack

from biodyn.diagnostics import Diagnostic
from biodyn.library.subject_record import subject_record_file
from biodyn.library.toml_files import UserFile
from biodyn.processing.calibration.subject_measurements import require_plausible_body
from biodyn.recording import PlateCalibration
from biodyn.settings import Settings, settings_from, with_subject_record
from biodyn.trial.trial_files import (
    FrameRange,
    TrialFiles,
    keep_points_on_body,
    read_files,
    unify_spelling,
    user_files_of_settings,
    with_marker_names,
)

SettingsSource: TypeAlias = Settings | Mapping[str, Any] | str | Path | None
_Value = TypeVar("_Value")


class SessionMemory:
    """Cache of values shared by the walks of a session; the key includes all inputs of a value."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, Any] = OrderedDict()

    def get_or_compute(self, key: str, compute: Callable[[], _Value], size: int = 32) -> _Value:
        """Return the value of a key, computed if it is not in the cache; the last `size` values are kept."""
        value: _Value = self._values.pop(key) if key in self._values else compute()
        self._values[key] = value
        while len(self._values) > size:
            self._values.popitem(last=False)
        return value


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialRequest:
    """Files, subject and settings of an analysis; every stage of the analysis extends it.

    Attributes:
        path: recording of the walk, or table of coordinates of an OpenSim model.
        settings: `model.osim` selects an OpenSim model, `output` the written files; `subject` is the subject record.
        static_path: static trial; None = searched next to the walk; "none" = not searched.
        static_frames: first and last frame of standing, numbered as in the file.
        forces: file of the ground forces; None = forces in the walk or in a file next to it; "none" = not searched.
        ik_setup, scale_setup: OpenSim set-ups; only with `model.osim`.
        companions: other recordings of the session; None = searched in the folder of the walk.
        user_files: settings file, subject record, tables and plate calibration of the user.
        plate_calibration: calibration of the plates of the recordings, None without one.
        files: recordings that were already read. static_marker_names: corrected labels of static trials, by path.
        memory: cache of the session. notes: findings so far.
    """

    path: Path
    settings: Settings
    static_path: str | Path | None = None
    static_frames: FrameRange | None = None
    forces: str | Path | None = None
    ik_setup: Path | None = None
    scale_setup: Path | None = None
    companions: tuple[Path, ...] | None = None
    user_files: tuple[UserFile, ...] = ()
    plate_calibration: PlateCalibration | None = None
    files: TrialFiles | None = None
    static_marker_names: Mapping[Path, Mapping[str, str]] = field(default_factory=dict)
    memory: SessionMemory = field(default_factory=SessionMemory)
    notes: tuple[Diagnostic, ...] = ()

    def read(self) -> TrialFiles:
        """Return the walk and its static trial; they are read unless they are in `files`."""
        files = self.files or read_files(
            self.path, self.static_path, (), self.static_frames, self.settings.poses.use, self.forces
        )
        files = with_marker_names(files, self.settings.model.marker_names, self.static_marker_names)
        return keep_points_on_body(unify_spelling(files), self.settings.model.marker_set)

    def with_notes(self, *notes: Diagnostic) -> Self:
        """Return the request or stage with added findings."""
        return replace(self, notes=(*self.notes, *notes))


class RequestInputs(TypedDict, total=False):
    """Optional inputs of an analysis request, as described in `run.run_trial`.

    model: OpenSim model, replaces `model.osim` of the settings. plates: calibration of the force plates, or its file.
    """

    age_years: float | None
    sex: str | None
    side: str | None
    static_frames: FrameRange | None
    preset: str | None
    entries: Sequence[str]
    companions: Sequence[str | Path] | None
    forces: str | Path | None
    files: TrialFiles | None
    memory: SessionMemory | None
    model: str | Path | None
    ik_setup: Path | None
    scale_setup: Path | None
    plates: PlateCalibration | str | Path | None


def trial_request(
    trial: str | Path,
    static: str | Path | None = None,
    mass_kg: float | None = None,
    height_m: float | None = None,
    settings: SettingsSource = None,
    **inputs: Unpack[RequestInputs],
) -> TrialRequest:
    """Return the request of an analysis; parameters as for `run.run_trial`.

    Raises SettingsError for invalid settings or tables, SubjectError for an implausible mass or height.
    """
    given = {
        "mass_kg": mass_kg,
        "height_m": height_m,
        **{name: inputs.get(name) for name in ("age_years", "sex", "side")},
    }
    require_plausible_body(mass_kg, height_m)
    source = dict(settings) if isinstance(settings, Mapping) else settings
    options = settings_from(source, inputs.get("preset"), inputs.get("entries", ()))
    plates = inputs.get("plates")
    if isinstance(plates, (str, Path)):
        plates = PlateCalibration.read(plates)
    calibration_files = () if plates is None or plates.file is None else (plates.file,)
    model, companions = inputs.get("model"), inputs.get("companions")
    if model is not None:
        options = options.model_copy(update={"model": options.model.model_copy(update={"osim": str(model)})})
    file = subject_record_file(Path(trial))
    stored = {} if file is None else file.content
    if options.model.osim is not None:  # the model has its own mass, unless one is given
        stored = {name: value for name, value in stored.items() if name != "mass_kg"}
    options = with_subject_record(options, stored, given)
    require_plausible_body(options.subject.mass_kg, options.subject.height_m)
    return TrialRequest(
        path=Path(trial),
        settings=options,
        static_path=static,
        static_frames=inputs.get("static_frames"),
        forces=inputs.get("forces"),
        ik_setup=inputs.get("ik_setup"),
        scale_setup=inputs.get("scale_setup"),
        companions=None if companions is None else tuple(Path(path) for path in companions),
        user_files=(
            *user_files_of_settings(settings, options.table_names),
            *calibration_files,
            *([] if file is None else [file]),
        ),
        plate_calibration=plates,
        files=inputs.get("files"),
        memory=inputs.get("memory") or SessionMemory(),
    )
