"""One walk as `biodyn run` takes it: on the person's own model, or on an OpenSim model."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biodyn.cli.screen import Shown, progress, tell_result

if TYPE_CHECKING:
    from rich.console import Console

    from biodyn.trial.bodies.opensim_result import CoordinateResult
    from biodyn.trial.result import TrialResult

Say = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """The options of `biodyn run`, as they were given; what each means stands there."""

    static: Path | None = None
    static_frames: str | None = None
    mass_kg: float | None = None
    height_m: float | None = None
    settings: Path | None = None
    preset: str | None = None
    entries: tuple[str, ...] = ()
    vary: str | None = None
    model: Path | None = None
    forces: Path | None = None
    ik_setup: Path | None = None
    scale_setup: Path | None = None
    force: bool = False
    pdf: bool = False
    head: Path | None = None
    timings: bool = False

    @property
    def on_model(self) -> bool:
        """Whether an option asks for an OpenSim model."""
        return self.model is not None or self.ik_setup is not None or self.scale_setup is not None

    @property
    def factors(self) -> list[str]:
        """The names of --vary."""
        return [name.strip() for name in (self.vary or "").split(",") if name.strip()]


def analyse(asked: Asked, console: Console, walk: Path, folder: Path, shown: Shown) -> bool:
    """Analyse a walk, write its result and print a summary; return whether its checks failed."""
    from biodyn.output.store.folder import require_free

    began = time.perf_counter()
    require_free(folder, asked.force)  # before any work is done
    with progress(console, shown.heading) as step:
        from biodyn.rigid_body import compilation_note

        note = compilation_note()
        if note:
            console.print(note, highlight=False, markup=False, soft_wrap=True)
        result = _analysed(walk, asked, console, step)
        from biodyn.trial.result import TrialResult

        if isinstance(result, TrialResult):
            result.save(folder, force=asked.force, progress=step, pdf=asked.pdf, head=asked.head)
        else:
            result.save(folder, force=asked.force)
    if isinstance(result, TrialResult):
        tell_result(console, result.told(), tuple(result.verdict.besides(result.diagnostics)), folder, shown)
    else:
        tell_result(console, [(line, None) for line in result.summary()], result.findings, folder, shown)
        if asked.pdf:
            console.print("There is no PDF: this model gives torques alone, and they have no report.", highlight=False)
    if asked.timings:
        _tell_timings(folder, time.perf_counter() - began, console)
    return isinstance(result, TrialResult) and result.failed


def _analysed(walk: Path, asked: Asked, console: Console, step: Say) -> TrialResult | CoordinateResult:
    from biodyn.trial.files import needs_model

    on_model = asked.on_model or needs_model(walk)
    return _on_model(walk, asked, console, step) if on_model else _on_own_body(walk, asked, step)


def _tell_timings(folder: Path, whole_s: float, console: Console) -> None:
    """Print what the record says of the time that each step took."""
    from biodyn.output.store.folder import RECORD_NAME, TIMINGS_ENTRY
    from biodyn.trial.clock import timing_lines

    seconds = json.loads((folder / RECORD_NAME).read_text(encoding="utf-8"))[TIMINGS_ENTRY]
    for line in timing_lines(seconds, whole_s):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


# -- on the person's own model ------------------------------------------------------------------------------------------


def _on_own_body(walk: Path, asked: Asked, step: Say) -> TrialResult:
    given = _given(asked) | {"progress": step}
    if asked.vary is None:
        from biodyn.trial.run import run_trial

        return run_trial(walk, **given)
    from biodyn.trial.sensitivity import vary_trial

    return vary_trial(walk, asked.factors, **given)


def _given(asked: Asked) -> dict[str, Any]:
    """What an analysis on the person's own body is told beside the walk."""
    return {
        "static": asked.static,
        "static_frames": _frame_range(asked.static_frames),
        "mass_kg": asked.mass_kg,
        "height_m": asked.height_m,
        "settings": asked.settings,
        "preset": asked.preset,
        "entries": asked.entries,
        "forces": asked.forces,
    }


def _frame_range(text: str | None) -> tuple[int, int] | None:
    """The frames of "A-B"; StaticTrialError where it is written otherwise."""
    from biodyn.errors import StaticTrialError

    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", text)
    if found is None or int(found[1]) > int(found[2]):
        raise StaticTrialError(
            f"'{text}' is no range of frames.", "Give the first and the last one: --static-frames 120-180."
        )
    return int(found[1]), int(found[2])


# -- on an OpenSim model ------------------------------------------------------------------------------------------------


def _on_model(motion: Path, asked: Asked, console: Console, step: Say) -> TrialResult | CoordinateResult:
    """Run on an OpenSim model; SettingsError where an option does not go with that."""
    from biodyn.errors import SettingsError
    from biodyn.settings import settings_from
    from biodyn.trial.bodies.opensim import OnModel, run_on_model
    from biodyn.trial.bodies.opensim_motion import holds_coordinates
    from biodyn.trial.sensitivity import vary_on_model

    coordinates = holds_coordinates(motion)
    if asked.model is None:
        raise SettingsError(
            f"'{motion.name}' holds coordinates of a model: name it with --model MODEL.osim."
            if coordinates
            else f"{'--ik-setup' if asked.ik_setup else '--scale-setup'} goes with an OpenSim model: name it with "
            "--model MODEL.osim."
        )
    _require_meaning(asked, coordinates)
    options = settings_from(asked.settings, entries=asked.entries)
    _tell_unused(options.model_dump(exclude_unset=True), console)
    body = OnModel(
        asked.model, asked.forces, asked.ik_setup, asked.scale_setup, asked.static, asked.mass_kg, asked.height_m
    )
    if asked.vary is None:
        return run_on_model(motion, body, options, progress=step)
    return vary_on_model(motion, body, asked.factors, options, progress=step)


def _require_meaning(asked: Asked, coordinates: bool) -> None:
    """Raise SettingsError for an option or a setting of --set that a run on an OpenSim model does not follow."""
    from biodyn.errors import SettingsError
    from biodyn.trial.bodies.opensim import FOLLOWED

    none = {"--static-frames": asked.static_frames, "--preset": asked.preset}
    sizes = {
        "--static": asked.static,
        "--scale-setup": asked.scale_setup,
        "--mass": asked.mass_kg,
        "--ik-setup": asked.ik_setup,
    }
    given = [name for name, value in {**none, **(sizes if coordinates else {})}.items() if value is not None]
    if given:
        raise SettingsError(
            f"{given[0]} has no meaning with --model"
            + (" and coordinates: they are those of a model that has its own size and mass." if coordinates else ".")
        )
    unused = [entry for entry in asked.entries if not _is_followed(entry.partition("=")[0].strip())]
    if unused:
        raise SettingsError(
            f"'{unused[0]}' has no meaning with --model: of the settings it follows {', '.join(FOLLOWED)}."
        )


def _is_followed(name: str) -> bool:
    """Whether a run on an OpenSim model follows a setting, "section.key"."""
    from biodyn.trial.bodies.opensim import FOLLOWED

    return any(name == followed or name.startswith(f"{followed}.") for followed in FOLLOWED)


def _tell_unused(stated: Mapping[str, Any], console: Console) -> None:
    """Say which settings of a file a run on an OpenSim model does not use."""
    named = [
        f"{section}.{key}" for section, table in stated.items() for key in (table if isinstance(table, Mapping) else ())
    ]
    unused = [name for name in named if not _is_followed(name)]
    if unused:
        text = f"warning: some settings are not used with --model; without effect: {', '.join(unused)}."
        console.print(text, highlight=False, markup=False, soft_wrap=True)
