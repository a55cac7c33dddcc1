"""`biodyn run`: a walk, or several one after the other."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biodyn.cli.endings import CHECKS_FAILED, plain_errors
from biodyn.cli.options import Entries, Head, Pdf, Preset
from biodyn.cli.screen import Shown, open_console, progress, tell_result
from biodyn.cli.several import run_each

if TYPE_CHECKING:
    from rich.console import Console

    from biodyn.trial.model_result import CoordinateResult
    from biodyn.trial.on_model import ModelResult
    from biodyn.trial.result import TrialResult

#: Files of coordinates of an OpenSim model.
COORDINATE_SUFFIXES = (".mot", ".sto")


def run(
    walks: Annotated[
        list[Path],
        typer.Argument(
            help="The walk: a C3D file with markers and force plates, or a TRC file with its forces beside it; or, with --model, "
            "coordinates (.mot, .sto). Several walks are analysed one after the other, each by itself.",
            metavar="WALK.c3d|.trc|.mot...",
        ),
    ],
    static: Annotated[
        Path | None,
        typer.Option(
            help="The static trial; by default it is looked for beside the walk. 'none': look for none, the walk's own file "
            "calibrates.",
            metavar="STATIC.c3d|none",
        ),
    ] = None,
    static_frames: Annotated[
        str | None,
        typer.Option(
            help="Frames of standing in the static trial (in the walk, where there is none), as the file counts them.",
            metavar="A-B",
        ),
    ] = None,
    mass: Annotated[float | None, typer.Option(help="Body mass, kg.", metavar="KG")] = None,
    height: Annotated[float | None, typer.Option(help="Body height, m.", metavar="M")] = None,
    settings: Annotated[Path | None, typer.Option(help="Settings over the defaults.", metavar="FILE.toml")] = None,
    preset: Preset = None,
    entries: Entries = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Result folder; by default reports/<name of the walk>. Of several walks: DIR/<name of the walk>.",
            metavar="DIR",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result folder.")] = False,
    vary: Annotated[
        str | None,
        typer.Option(
            help="Analyse again with other choices and show what they change: hip_centre, anthropometry, cutoff, "
            "marker_weights; several with commas.",
            metavar="FACTORS",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="OpenSim model that follows the markers of WALK, or moves by the coordinates of MOTION.mot or .sto.",
            metavar="MODEL.osim",
        ),
    ] = None,
    forces: Annotated[
        Path | None,
        typer.Option(
            help="Ground forces in a file of their own: a table (.mot, .sto) or an ExternalLoads XML; of a TRC by default those "
            "beside it. 'none': look for none.",
            metavar="GRF.mot|LOADS.xml|none",
        ),
    ] = None,
    ik_setup: Annotated[
        Path | None,
        typer.Option(
            help="What that model follows: weights of an OpenSim inverse kinematics set-up; by default every marker counts 1.",
            metavar="SETUP.xml",
        ),
    ] = None,
    scale_setup: Annotated[
        Path | None,
        typer.Option(
            help="How that model is scaled first: an OpenSim ScaleTool set-up; with --static alone by its markers.",
            metavar="SETUP.xml",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdict and the result folder only.")] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print run.json on standard output, of several walks a list; words go to standard error."
        ),
    ] = False,
    pdf: Pdf = False,
    head: Head = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    timings: Annotated[bool, typer.Option("--timings", help="Print where the time went.")] = False,
) -> None:
    """Analyse one walk, or several: joint torques, moments, angles, powers, tables, figures and a report."""
    from biodyn.output.report.paper_head import asked_paper
    from biodyn.output.store.replacing import default_folder, require_free

    console = open_console(on_error=as_json)

    def analyse(walk: Path, folder: Path, shown: Shown) -> bool:
        """Analyse a walk, write and tell; whether its checks failed."""
        began = time.perf_counter()
        require_free(folder, force)  # before any work is done
        if model is not None or walk.suffix.lower() in COORDINATE_SUFFIXES or ik_setup or scale_setup:
            sizes = (static, scale_setup, mass, height)
            others = {
                "--static-frames": static_frames,
                "--preset": preset,
            }
            chosen = (settings, entries or (), vary)
            files = (folder, force, pdf, head)
            failed = _on_model(walk, model, forces, ik_setup, sizes, chosen, files, others, console, shown)
            if timings:
                _tell_timings(folder, time.perf_counter() - began, console)
            return failed
        frames = _frame_range(static_frames)
        with progress(console, shown.heading) as step:
            given = (walk, static, frames, mass, height, settings)
            result = _analysed(*given, preset, entries or (), vary, forces, step)
            result.save(folder, force=force, progress=step, pdf=pdf, head=head)
        tell_result(console, result.told(), tuple(result.verdict.besides(result.diagnostics)), folder, shown)
        if timings:
            _tell_timings(folder, time.perf_counter() - began, console)
        return result.failed

    shown = Shown(quiet, as_json, open_page)
    with plain_errors():
        asked_paper(pdf, head)  # refused before any work is done
        if len(walks) > 1:
            raise typer.Exit(run_each(walks, out, force, analyse, shown))
        failed = analyse(walks[0], out if out is not None else default_folder(walks[0]), shown)
    if failed:
        raise typer.Exit(CHECKS_FAILED)


def _tell_timings(folder: Path, whole_s: float, console: Console) -> None:
    """Print what the record says of the time that each step took."""
    from biodyn.trial.clock import timing_lines

    seconds = json.loads((folder / "run.json").read_text(encoding="utf-8"))["timings_s"]
    for line in timing_lines(seconds, whole_s):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _on_model(
    motion: Path,
    model: Path | None,
    forces: Path | None,
    ik_setup: Path | None,
    sizes: tuple[Path | None, Path | None, float | None, float | None],
    chosen: tuple[Path | None, Sequence[str], str | None],
    files: tuple[Path, bool, bool, Path | None],
    others: Mapping[str, object],
    console: Console,
    shown: Shown,
) -> bool:
    """Run on an OpenSim model; whether its checks failed. SettingsError where an option does not go with that."""
    from biodyn.errors import SettingsError
    from biodyn.settings import settings_from
    from biodyn.trial.from_coordinates import holds_coordinates
    from biodyn.trial.on_model import FOLLOWED, OnModel, run_on_model
    from biodyn.trial.result import TrialResult
    from biodyn.trial.sensitivity import vary_on_model

    coordinates = holds_coordinates(motion)
    if model is None:
        raise SettingsError(
            f"'{motion.name}' holds coordinates of a model: name it with --model MODEL.osim."
            if coordinates
            else f"{'--ik-setup' if ik_setup else '--scale-setup'} goes with an OpenSim model: name it with --model MODEL.osim."
        )
    static, scale_setup, mass, height = sizes
    if coordinates:
        others = {**others, "--static": static, "--scale-setup": scale_setup, "--mass": mass, "--ik-setup": ik_setup}
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise SettingsError(
            f"{given[0]} has no meaning with --model"
            + (" and coordinates: they are those of a model that has its own size and mass." if coordinates else ".")
        )
    settings, entries, vary = chosen
    folder, force, pdf, head = files
    unused = [entry for entry in entries if not _is_followed(entry.partition("=")[0].strip())]
    if unused:
        raise SettingsError(
            f"'{unused[0]}' has no meaning with --model: of the settings it follows {', '.join(FOLLOWED)}."
        )
    options = settings_from(settings, entries=entries)
    _tell_unused(options.model_dump(exclude_unset=True), console)
    with progress(console) as step:
        body = OnModel(model, forces, ik_setup, scale_setup, static, mass, height)
        result: ModelResult | CoordinateResult
        if vary is None:
            result = run_on_model(motion, body, options, progress=step)
        else:
            result = vary_on_model(motion, body, _factors(vary), options, progress=step)
        if isinstance(result, TrialResult):
            result.save(folder, force=force, progress=step, pdf=pdf, head=head)
        else:
            result.save(folder, force=force)
    if not isinstance(result, TrialResult):
        tell_result(console, [(line, None) for line in result.summary()], result.findings, folder, shown)
        if pdf:
            console.print("There is no PDF: this model gives torques alone, and they have no report.", highlight=False)
        return False
    tell_result(console, result.told(), tuple(result.verdict.besides(result.diagnostics)), folder, shown)
    return result.failed


def _is_followed(name: str) -> bool:
    """Whether a run on an OpenSim model follows a setting, "section.key"."""
    from biodyn.trial.on_model import FOLLOWED

    return any(name == followed or name.startswith(f"{followed}.") for followed in FOLLOWED)


def _tell_unused(stated: Mapping[str, Any], console: Console) -> None:
    """Say which settings a run on an OpenSim model does not use."""
    named = [
        f"{section}.{key}" for section, table in stated.items() for key in (table if isinstance(table, Mapping) else ())
    ]
    unused = [name for name in named if not _is_followed(name)]
    if unused:
        text = f"warning: some settings are not used with --model; without effect: {', '.join(unused)}."
        console.print(text, highlight=False, markup=False, soft_wrap=True)


def _analysed(
    walk: Path,
    static: Path | None,
    frames: tuple[int, int] | None,
    mass: float | None,
    height: float | None,
    settings: Path | None,
    preset: str | None,
    entries: Sequence[str],
    vary: str | None,
    forces: Path | None,
    step: Callable[[str], None],
) -> TrialResult:
    if vary is None:
        from biodyn.trial.run import run_trial

        return run_trial(
            walk,
            static,
            mass_kg=mass,
            height_m=height,
            settings=settings,
            progress=step,
            static_frames=frames,
            preset=preset,
            entries=entries,
            forces=forces,
        )
    from biodyn.trial.sensitivity import vary_trial

    return vary_trial(
        walk,
        _factors(vary),
        static,
        mass_kg=mass,
        height_m=height,
        settings=settings,
        progress=step,
        static_frames=frames,
        preset=preset,
        entries=entries,
        forces=forces,
    )


def _factors(vary: str) -> list[str]:
    """The names of --vary."""
    return [name.strip() for name in vary.split(",") if name.strip()]


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
