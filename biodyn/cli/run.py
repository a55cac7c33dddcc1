"""`biodyn run`: a walk, or several one after the other."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import CHECKS_FAILED, plain_errors
from biodyn.cli.one_walk import Asked, analyse
from biodyn.cli.options import Entries, Head, Height, Mass, Pdf, Preset
from biodyn.cli.screen import Shown, open_console
from biodyn.cli.several import run_each


def run(
    walks: Annotated[
        list[Path],
        typer.Argument(
            help="The walk: a file with markers (or poses of segments) and force plates, C3D or another format that is read, "
            "its forces in it or beside it; or, with --model, coordinates (.mot, .sto). Several walks are analysed one after the "
            "other, each by itself.",
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
    mass: Mass = None,
    height: Height = None,
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
            help="Ground forces in a file of their own: a table, an ExternalLoads XML or exported plates; by default, where the "
            "walk's file has none, those beside it. 'none': look for none.",
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
    from biodyn.output.report.paper import asked_paper
    from biodyn.output.store.folder import default_folder

    asked = Asked(
        static=static,
        static_frames=static_frames,
        mass_kg=mass,
        height_m=height,
        settings=settings,
        preset=preset,
        entries=tuple(entries or ()),
        vary=vary,
        model=model,
        forces=forces,
        ik_setup=ik_setup,
        scale_setup=scale_setup,
        force=force,
        pdf=pdf,
        head=head,
        timings=timings,
    )
    shown = Shown(quiet, as_json, open_page)
    one = partial(analyse, asked, open_console(on_error=as_json))
    with plain_errors():
        asked_paper(pdf, head)  # refused before any work is done
        if len(walks) > 1:
            raise typer.Exit(run_each(walks, out, force, one, shown))
        failed = one(walks[0], out if out is not None else default_folder(walks[0]), shown)
    if failed:
        raise typer.Exit(CHECKS_FAILED)
