"""`biodyn run`: one walk."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biodyn.cli.endings import CHECKS_FAILED, plain_errors
from biodyn.cli.options import Entries, Preset
from biodyn.cli.screen import open_console, print_diagnostics, progress

if TYPE_CHECKING:
    from rich.console import Console

    from biodyn.trial.result import TrialResult

#: Files of coordinates of an OpenSim model.
COORDINATE_SUFFIXES = (".mot", ".sto")


def run(
    walk: Annotated[
        Path,
        typer.Argument(
            help="The walk: a C3D file with markers and force plates, or a TRC file with its forces beside it; or, with --model, "
            "coordinates (.mot, .sto).",
            metavar="WALK.c3d|.trc|.mot",
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
        Path | None, typer.Option(help="Result folder; by default reports/<name of the walk>.", metavar="DIR")
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
        typer.Option(help="OpenSim model that the coordinates of MOTION.mot or .sto move.", metavar="MODEL.osim"),
    ] = None,
    forces: Annotated[
        Path | None,
        typer.Option(
            help="Ground forces in a file of their own: a table (.mot, .sto) or an ExternalLoads XML; of a TRC by default those "
            "beside it. 'none': look for none.",
            metavar="GRF.mot|LOADS.xml|none",
        ),
    ] = None,
) -> None:
    """Analyse one walk: joint torques, moments, angles, powers, tables, figures and a report."""
    from biodyn.output.store.replacing import default_folder, require_free

    console = open_console()
    with plain_errors():
        folder = out if out is not None else default_folder(walk)
        require_free(folder, force)  # before any work is done
        if model is not None or walk.suffix.lower() in COORDINATE_SUFFIXES:
            others = {
                "--static": static,
                "--static-frames": static_frames,
                "--mass": mass,
                "--height": height,
                "--vary": vary,
                "--preset": preset,
            }
            _from_coordinates(walk, model, forces, settings, entries or (), folder, force, others, console)
            return
        frames = _frame_range(static_frames)
        with progress(console) as step:
            given = (walk, static, frames, mass, height, settings)
            result = _analysed(*given, preset, entries or (), vary, forces, step)
            result.save(folder, force=force, progress=step)
        for line in result.summary():
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        print_diagnostics(console, tuple(result.verdict.besides(result.diagnostics)))
        console.print(f"Result: {folder}", highlight=False, soft_wrap=True)
    if result.failed:
        raise typer.Exit(CHECKS_FAILED)


def _from_coordinates(
    motion: Path,
    model: Path | None,
    forces: Path | None,
    settings: Path | None,
    entries: Sequence[str],
    folder: Path,
    force: bool,
    others: Mapping[str, object],
    console: Console,
) -> None:
    """Torques of an OpenSim model; SettingsError where an option does not go with that."""
    from biodyn.errors import SettingsError
    from biodyn.settings import settings_from
    from biodyn.trial.from_coordinates import CUTOFF_HZ, run_coordinates

    if motion.suffix.lower() not in COORDINATE_SUFFIXES:
        raise SettingsError(
            f"--model goes with coordinates (.mot, .sto), and '{motion.name}' is none.",
            "Leave them out to analyse markers with biodyn's own model.",
        )
    if model is None:
        raise SettingsError(f"'{motion.name}' holds coordinates of a model: name it with --model MODEL.osim.")
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise SettingsError(f"{given[0]} has no meaning with --model: the model has its own size and mass.")
    hz = settings_from(settings, entries=entries).signals.cutoff_hz
    if isinstance(hz, str):  # coordinates tell no marker noise to choose it from
        hz = CUTOFF_HZ
    result = run_coordinates(motion, model, forces, hz)
    result.save(folder, force=force)
    for line in result.summary():
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    print_diagnostics(console, result.notes)
    console.print(f"Result: {folder}", highlight=False, soft_wrap=True)


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

    factors = [name.strip() for name in vary.split(",") if name.strip()]
    return vary_trial(
        walk,
        factors,
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
