"""study.toml: what a user says of a study, over what is found in its folder.

Precedence, the first that says something counts: `[trials]` (of several entries that match, the later one), then
`[subjects]`, `[groups]`, `[conditions]`, then `layout`, then what names and headers say. Settings are merged in the
same order over `[settings]`. An entry that matches nothing is an error: nothing is ignored in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from biodyn.errors import SettingsError
from biodyn.library.load import beside, read_user_toml
from biodyn.library.section import invalid_entry
from biodyn.model.from_library.user_tables import user_tables
from biodyn.settings import Settings, joined, with_table_paths
from biodyn.study.collecting.options import OutputOptions
from biodyn.study.group.options import AnalysisOptions

Kilograms = Annotated[float, Field(gt=0)]
Metres = Annotated[float, Field(gt=0)]
Text = Annotated[str, Field(min_length=1, max_length=4000)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


class SubjectEntry(_Section):
    """`[subjects.<name>]`: what is true of one subject."""

    mass_kg: Kilograms | None = Field(default=None, description="body mass, kg; omitted = the files', else measured")
    height_m: Metres | None = Field(default=None, description="body height, m; omitted = the files', else estimated")
    static: Text | None = Field(
        default=None, description='static trial of all their walks, relative to the study\'s folder; "none": none'
    )
    group: str | None = Field(default=None, description="group in the comparisons")
    sessions: dict[str, str] = Field(default_factory=dict, description="found session, or a pattern -> its name")
    conditions: dict[str, str] = Field(default_factory=dict, description="found condition, or a pattern -> its name")
    settings: dict[str, Any] = Field(default_factory=dict, description="trial settings of this subject")


class TrialEntry(_Section):
    """`[trials."<path or pattern>"]`: what is true of some files."""

    exclude: Text | None = Field(default=None, description="leave these files out; why")
    role: Literal["walk", "static", "functional", "other"] | None = Field(
        default=None, description="what these files are"
    )
    subject: Text | None = Field(default=None, description="whose they are")
    session: str | None = Field(default=None, description="their session")
    condition: str | None = Field(default=None, description="their condition")
    static: Text | None = Field(
        default=None, description='their static trial, relative to the study\'s folder; "none": none'
    )
    mass_kg: Kilograms | None = Field(default=None, description="body mass in these trials, kg")
    height_m: Metres | None = Field(default=None, description="body height in these trials, m")
    settings: dict[str, Any] = Field(default_factory=dict, description="settings of these trials")


class RunningOptions(_Section):
    """`[running]`: how trials are run."""

    workers: int | None = Field(
        default=None, ge=1, le=10_000, description="processes on this machine; omitted = one per core"
    )
    time_limit_s: float = Field(default=300.0, gt=0, le=1e6, description="longest time for one trial, s")
    memory_limit_mb: int = Field(
        default=2048, ge=0, le=10_000_000, description="memory of the process of one trial, MB; 0: any"
    )


class StudyDefinition(_Section):
    """All of a study.toml; without one, all defaults."""

    name: Text | None = Field(default=None, description="name of the study; omitted = its folder's")
    root: Text = Field(default=".", description="folder of the recordings, relative to study.toml")
    include: tuple[Text, ...] = Field(
        default=(), strict=False, description="patterns of the files that count; none = all"
    )
    exclude: tuple[Text, ...] = Field(default=(), strict=False, description="patterns of files that are left out")
    layout: Text | None = Field(
        default=None, description="what the parts of a path are, e.g. {subject}/{session}/{condition}_{trial}.c3d"
    )
    settings: dict[str, Any] = Field(default_factory=dict, description="trial settings over the defaults")
    subjects: dict[str, SubjectEntry] = Field(default_factory=dict, description="facts of subjects by name")
    trials: dict[str, TrialEntry] = Field(default_factory=dict, description="facts of files by path or pattern")
    conditions: dict[str, str] = Field(default_factory=dict, description="found condition, or a pattern -> its name")
    groups: dict[str, Annotated[tuple[Text, ...], Field(strict=False)]] = Field(
        default_factory=dict, description="group -> its subjects, or patterns"
    )
    running: RunningOptions = RunningOptions()
    output: OutputOptions = OutputOptions()
    analysis: AnalysisOptions = AnalysisOptions()

    @property
    def on_model(self) -> bool:
        """Whether any trial is to run on an OpenSim model."""
        tables = [self.settings, *(entry.settings for entry in self.subjects.values())]
        tables += [entry.settings for entry in self.trials.values()]
        sections = [table.get("model") for table in tables]
        return any(isinstance(section, Mapping) and section.get("osim") for section in sections)

    def folder(self, path: Path) -> Path:
        """Return the folder of the recordings, for the study.toml at `path`."""
        return (Path(path).resolve().parent / self.root).resolve()


def read_definition(path: str | Path) -> StudyDefinition:
    """Read a study.toml. Raises SettingsError naming the entry that is not valid."""
    path = Path(path)
    file = read_user_toml(path, "study file", SettingsError, "Write one with 'biodyn study FOLDER --init'.")
    content = all_table_paths(file.content, lambda name: beside(name, file.path))
    try:
        definition = StudyDefinition.model_validate(content)
    except ValidationError as error:
        raise invalid_entry(error, StudyDefinition, f"'{path}'") from error
    _check_settings(definition, path)
    return definition


def all_table_paths(content: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return the content of a study.toml, checked or not, with every path of a user's own table changed."""
    content = dict(content)
    if isinstance(content.get("settings"), dict):
        content["settings"] = with_table_paths(content["settings"], change)
    for section in ("subjects", "trials"):
        entries = content.get(section)
        if isinstance(entries, dict):
            content[section] = {
                name: {**entry, "settings": with_table_paths(entry["settings"], change)}
                if isinstance(entry, dict) and isinstance(entry.get("settings"), dict)
                else entry
                for name, entry in entries.items()
            }
    return content


def _check_settings(definition: StudyDefinition, path: Path) -> None:
    """Every table of trial settings is valid, with the tables it names: found now and not in each of a thousand trials."""
    tables = [("settings", definition.settings)]
    tables += [(f"subjects.{name}.settings", entry.settings) for name, entry in definition.subjects.items()]
    tables += [(f"trials.{name}.settings", entry.settings) for name, entry in definition.trials.items()]
    for where, table in tables:
        try:
            Settings.model_validate(table)
        except ValidationError as error:
            raise invalid_entry(error, Settings, f"'{path}'", where) from error
        user_tables(Settings.model_validate(joined(definition.settings, table)).tables)
