"""study.toml: what a user says of a study, over what is found in its folder.

Precedence, the first that says something counts: `[trials]` (of several entries that match, the later one), then
`[subjects]`, `[groups]`, `[conditions]`, then `layout`, then what names and headers say. Settings are merged in the
same order over `[settings]`. An entry that matches nothing is an error: nothing is ignored in silence.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from biodyn.errors import SettingsError
from biodyn.settings import Settings, invalid_entry
from biodyn.study.collecting.options import OutputOptions
from biodyn.study.group.options import AnalysisOptions

Kilograms = Annotated[float, Field(gt=0)]
Metres = Annotated[float, Field(gt=0)]
Text = Annotated[str, Field(min_length=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SubjectEntry(_Section):
    """`[subjects.<name>]`: what is true of one subject."""

    mass_kg: Kilograms | None = Field(default=None, description="body mass, kg; omitted = the files', else measured")
    height_m: Metres | None = Field(default=None, description="body height, m; omitted = the files', else estimated")
    static: Text | None = Field(
        default=None, description="static trial of all their walks, relative to the study's folder"
    )
    group: str | None = Field(default=None, description="group in the comparisons")
    sessions: dict[str, str] = Field(default_factory=dict, description="found session, or a pattern -> its name")
    conditions: dict[str, str] = Field(default_factory=dict, description="found condition, or a pattern -> its name")
    settings: dict[str, Any] = Field(default_factory=dict, description="trial settings of this subject")


class TrialEntry(_Section):
    """`[trials."<path or pattern>"]`: what is true of some files."""

    exclude: Text | None = Field(default=None, description="leave these files out; why")
    role: Literal["walk", "static", "other"] | None = Field(default=None, description="what these files are")
    subject: Text | None = Field(default=None, description="whose they are")
    session: str | None = Field(default=None, description="their session")
    condition: str | None = Field(default=None, description="their condition")
    static: Text | None = Field(default=None, description="their static trial, relative to the study's folder")
    mass_kg: Kilograms | None = Field(default=None, description="body mass in these trials, kg")
    height_m: Metres | None = Field(default=None, description="body height in these trials, m")
    settings: dict[str, Any] = Field(default_factory=dict, description="settings of these trials")


class RunningOptions(_Section):
    """`[running]`: how trials are run."""

    workers: int | None = Field(default=None, ge=1, description="processes on this machine; omitted = one a processor")
    time_limit_s: float = Field(default=300.0, gt=0, description="longest time for one trial, s")
    memory_limit_mb: int = Field(default=2048, ge=0, description="memory of the process of one trial, MB; 0: any")


class StudyDefinition(_Section):
    """All of a study.toml; without one, all defaults."""

    name: Text | None = Field(default=None, description="name of the study; omitted = its folder's")
    root: Text = Field(default=".", description="folder of the recordings, relative to study.toml")
    include: tuple[Text, ...] = Field(default=(), description="patterns of the files that count; none = all")
    exclude: tuple[Text, ...] = Field(default=(), description="patterns of files that are left out")
    layout: Text | None = Field(
        default=None, description="what the parts of a path are, e.g. {subject}/{session}/{condition}_{trial}.c3d"
    )
    settings: dict[str, Any] = Field(default_factory=dict, description="trial settings over the defaults")
    subjects: dict[str, SubjectEntry] = Field(default_factory=dict, description="facts of subjects by name")
    trials: dict[str, TrialEntry] = Field(default_factory=dict, description="facts of files by path or pattern")
    conditions: dict[str, str] = Field(default_factory=dict, description="found condition, or a pattern -> its name")
    groups: dict[str, tuple[Text, ...]] = Field(default_factory=dict, description="group -> its subjects, or patterns")
    running: RunningOptions = RunningOptions()
    output: OutputOptions = OutputOptions()
    analysis: AnalysisOptions = AnalysisOptions()

    def folder(self, path: Path) -> Path:
        """Return the folder of the recordings, for the study.toml at `path`."""
        return (Path(path).resolve().parent / self.root).resolve()


def read_definition(path: str | Path) -> StudyDefinition:
    """Read a study.toml. Raises SettingsError naming the entry that is not valid."""
    path = Path(path)
    if not path.is_file():
        raise SettingsError(f"Study file '{path}' does not exist.", "Write one with 'biodyn study FOLDER --init'.")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"'{path}' is not a valid TOML file: {error}.", "Correct the line it names.") from error
    try:
        definition = StudyDefinition.model_validate(content)
    except ValidationError as error:
        raise invalid_entry(error, StudyDefinition, str(path)) from error
    _check_settings(definition, path)
    return definition


def _check_settings(definition: StudyDefinition, path: Path) -> None:
    """Every table of trial settings is valid by itself, found now and not in each of a thousand trials."""
    tables = [("settings", definition.settings)]
    tables += [(f"subjects.{name}.settings", entry.settings) for name, entry in definition.subjects.items()]
    tables += [(f"trials.{name}.settings", entry.settings) for name, entry in definition.trials.items()]
    for where, table in tables:
        try:
            Settings.model_validate(table)
        except ValidationError as error:
            raise invalid_entry(error, Settings, str(path), where) from error
