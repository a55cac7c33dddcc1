"""`biodyn run` and `biodyn demo`: analyse one walk, or several one after the other."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biodyn.cli.console_output import (
    RunOptions,
    open_console,
    print_data,
    print_lines,
    print_result,
    show_progress,
    summary_lines,
)
from biodyn.cli.exit_codes import BAD_INPUT, CHECKS_FAILED, exit_on_expected_error
from biodyn.cli.options import (
    AffectedSide,
    Age,
    AxesChoice,
    Entries,
    Force,
    Head,
    Height,
    Mass,
    OpenPage,
    Pdf,
    Plates,
    Preset,
    Sex,
    Verbose,
)
from biodyn.errors import (
    BiodynError,
    InputFileError,
    ResultError,
    SettingsError,
    StaticTrialError,
    printable_text,
    system_refusal,
)

if TYPE_CHECKING:
    from rich.console import Console

    from biodyn.trial.request import TrialRequest

SAMPLE_WALK = "walk01.c3d"


def run(
    walks: Annotated[
        list[Path],
        typer.Argument(
            help="The walk: a recording with markers (or segment poses) and force plates, C3D or another supported format; "
            "forces may be in a file next to it. With --model also coordinates (.mot, .sto). Several walks are analysed one "
            "after the other.",
            metavar="WALK.c3d|.trc|.mot...",
        ),
    ],
    static: Annotated[
        Path | None,
        typer.Option(
            help="The static trial. Default: searched next to the walk. 'none': calibrate from the walk itself.",
            metavar="STATIC.c3d|none",
        ),
    ] = None,
    static_frames: Annotated[
        str | None,
        typer.Option(
            help="Frames of quiet standing in the static trial (without one: in the walk), numbered as in the file.",
            metavar="A-B",
        ),
    ] = None,
    mass: Mass = None,
    height: Height = None,
    age: Age = None,
    sex: Sex = None,
    side: AffectedSide = None,
    settings: Annotated[
        Path | None, typer.Option(help="Settings that replace the defaults.", metavar="FILE.toml")
    ] = None,
    axes: AxesChoice = None,
    preset: Preset = None,
    entries: Entries = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Result folder. Default: reports/<name of the walk>. With several walks: DIR/<name of the walk>.",
            metavar="DIR",
        ),
    ] = None,
    force: Force = False,
    vary: Annotated[
        str | None,
        typer.Option(
            help="Repeat the analysis with alternative methods and show their effect: hip_centre, anthropometry, cutoff, "
            "marker_weights; separated by commas.",
            metavar="FACTORS",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="OpenSim model that follows the markers of WALK, or the coordinates of MOTION.mot or .sto.",
            metavar="MODEL.osim",
        ),
    ] = None,
    forces: Annotated[
        Path | None,
        typer.Option(
            help="Ground forces in a separate file: a table, an ExternalLoads XML or exported plates. Default: searched next to "
            "a walk without forces. 'none': do not search.",
            metavar="GRF.mot|LOADS.xml|none",
        ),
    ] = None,
    plates: Plates = None,
    ik_setup: Annotated[
        Path | None,
        typer.Option(
            help="OpenSim inverse kinematics set-up with the marker weights for --model. Default: equal weights.",
            metavar="SETUP.xml",
        ),
    ] = None,
    scale_setup: Annotated[
        Path | None,
        typer.Option(
            help="OpenSim ScaleTool set-up to scale --model first. Without it, --static scales by its markers.",
            metavar="SETUP.xml",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdict and the result folder only.")] = False,
    verbose: Verbose = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print run.json (for several walks a list) on standard output, all text on standard error."
        ),
    ] = False,
    pdf: Pdf = False,
    head: Head = None,
    open_page: OpenPage = False,
    timings: Annotated[bool, typer.Option("--timings", help="Print the time of each step.")] = False,
) -> None:
    """Analyse one walk or several: joint torques, moments, angles, powers, tables, figures and a report."""
    from biodyn.output.report.pdf_report import requested_letterhead
    from biodyn.output.store.folder import default_result_folder

    options = RunOptions(
        quiet=quiet,
        verbose=verbose,
        as_json=as_json,
        open_page=open_page,
        inputs={
            "static": static,
            "mass_kg": mass,
            "height_m": height,
            "age_years": age,
            "sex": sex,
            "side": side,
            "settings": settings,
            "static_frames": static_frames,
            "preset": preset,
            "entries": (*(entries or ()), *([] if axes is None else [f"report.axes={json.dumps(axes)}"])),
            "model": model,
            "forces": forces,
            "ik_setup": ik_setup,
            "scale_setup": scale_setup,
            "plates": plates,
        },
        factors=[name.strip() for name in (vary or "").split(",") if name.strip()] if vary is not None else None,
        force=force,
        pdf=pdf,
        head=head,
        timings=timings,
    )
    console = open_console(on_error=as_json)
    with exit_on_expected_error():
        requested_letterhead(pdf, head)  # raises before any work is done
        if len(walks) > 1:
            raise typer.Exit(_analyse_each_walk(walks, out, options, console))
        failed = analyse(walks[0], out if out is not None else default_result_folder(walks[0]), options, console)
    if failed:
        raise typer.Exit(CHECKS_FAILED)


def run_demo(
    out: Annotated[Path, typer.Option(help="Result folder.", metavar="DIR", show_default=True)] = Path(
        "reports", "demo"
    ),
    force: Force = False,
    open_page: OpenPage = False,
) -> None:
    """Analyse the sample walk of biodyn. No data of your own are required."""
    with exit_on_expected_error():
        walk = sample_folder(Path(__file__).parents[1]) / SAMPLE_WALK
    run([walk], out=out, force=force, open_page=open_page)


def sample_folder(package: Path) -> Path:
    """Return the folder of the sample walk: in the installed package, or in a copy of the repository.

    Raises InputFileError if there is no sample walk.
    """
    for folder in (package / "sample", package.parent / "sample_data" / "subject01"):
        if (folder / SAMPLE_WALK).is_file():
            return folder
    raise InputFileError("The sample walk is not part of this installation.", "Install biodyn again with pip.")


# -- One walk -----------------------------------------------------------------------------------------------------------


def analyse(walk: Path, folder: Path, options: RunOptions, console: Console) -> bool:
    """Analyse a walk, write its result and print a summary; return whether its checks failed."""
    from biodyn.output.store.folder import require_usable_folder

    start_s = time.perf_counter()
    require_usable_folder(folder, options.force)  # raises before any work is done
    with show_progress(console, options.heading) as step:
        from biodyn.rigid_body import compilation_note

        note = compilation_note()
        if note:
            print_lines(console, note)
        from biodyn.trial.request import trial_request
        from biodyn.trial.run import run_request
        from biodyn.trial.sensitivity import vary_request
        from biodyn.trial.trial_files import needs_model

        inputs = {**options.inputs, "static_frames": _parse_frame_range(options.inputs["static_frames"])}
        names_model = any(inputs[name] is not None for name in ("model", "ik_setup", "scale_setup"))
        if names_model or needs_model(walk):
            _require_applicable_options(walk, inputs)
        request = trial_request(walk, **inputs)
        if names_model:
            _print_ignored_settings(request, console)
        factors = options.factors
        result = run_request(request, step) if factors is None else vary_request(request, factors, step)
        result.save(folder, force=options.force, progress=step, pdf=options.pdf, head=options.head)
    lines = result.status_lines() if options.verbose else summary_lines(result)
    findings = result.verdict.uncovered_findings(result.diagnostics)
    if not options.verbose:
        causes = {cause.code for cause in result.verdict.causes}
        findings = [finding for finding in findings if finding.code not in causes]
    print_result(console, lines, findings, folder, options)
    if options.timings:
        _print_timings(folder, time.perf_counter() - start_s, console)
    return result.failed


def _print_timings(folder: Path, total_s: float, console: Console) -> None:
    from biodyn.output.store.folder import TIMINGS_ENTRY
    from biodyn.trial.stage_timing import timing_lines

    print_lines(console, *timing_lines(_read_record(folder)[TIMINGS_ENTRY], total_s))


def _parse_frame_range(text: str | None) -> tuple[int, int] | None:
    """Parse "A-B" as first and last frame; StaticTrialError for any other text."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", text)
    if match is None or int(match[1]) > int(match[2]):
        raise StaticTrialError(
            f"'{text}' is not a range of frames.", "Give the first and the last frame: --static-frames 120-180."
        )
    return int(match[1]), int(match[2])


# -- On an OpenSim model ------------------------------------------------------------------------------------------------


def _require_applicable_options(motion: Path, inputs: Mapping[str, Any]) -> None:
    """Raise SettingsError for an option, or a setting of --set, that does not apply to an OpenSim model."""
    from biodyn.trial.bodies.opensim import FOLLOWED
    from biodyn.trial.bodies.opensim_motion import holds_coordinates

    has_coordinates = holds_coordinates(motion)
    if inputs["model"] is None:
        raise SettingsError(
            f"'{motion.name}' contains coordinates of a model; give the model with --model MODEL.osim."
            if has_coordinates
            else f"{'--ik-setup' if inputs['ik_setup'] else '--scale-setup'} applies only to an OpenSim model; give "
            f"the model with --model MODEL.osim."
        )
    excluded = ["static_frames", "preset"]
    if has_coordinates:
        excluded += ["static", "scale_setup", "mass_kg", "ik_setup"]
    for name in excluded:
        if inputs[name] is not None:
            raise SettingsError(
                f"--{name.removesuffix('_kg').replace('_', '-')} does not apply to --model"
                + (" with coordinates: the model has its own size and mass." if has_coordinates else ".")
            )
    for entry in inputs["entries"]:
        if not _applies_to_model(entry.partition("=")[0].strip()):
            raise SettingsError(f"'{entry}' does not apply to --model. Settings that apply: {', '.join(FOLLOWED)}.")


def _print_ignored_settings(request: TrialRequest, console: Console) -> None:
    """Print a warning about settings that do not apply to an OpenSim model."""
    ignored = [
        name
        for section, table in request.settings.model_dump(exclude_unset=True).items()
        if isinstance(table, Mapping)
        for key in table
        if not _applies_to_model(name := f"{section}.{key}")
    ]
    if ignored:
        print_lines(console, f"warning: settings that do not apply to --model are ignored: {', '.join(ignored)}.")


def _applies_to_model(name: str) -> bool:
    """Whether a setting, "section.key", applies to an OpenSim model."""
    from biodyn.trial.bodies.opensim import FOLLOWED

    return any(name == followed or name.startswith(f"{followed}.") for followed in FOLLOWED)


# -- Several walks ------------------------------------------------------------------------------------------------------


def _analyse_each_walk(walks: Sequence[Path], out: Path | None, options: RunOptions, console: Console) -> int:
    """Analyse walks one after the other, each into its own folder; return the worst exit code.

    An error of a walk is printed in one sentence, and the next walk is analysed. Raises ResultError before the first analysis
    if a folder is in use, or two walks have the same folder.
    """
    folders = _result_folders(walks, out, options.force)
    worst, records = 0, []
    for number, (walk, folder) in enumerate(zip(walks, folders, strict=True), start=1):
        name = printable_text(walk.name)
        code, refusal = 0, None
        try:
            heading = f"{number} of {len(walks)}, {name}"
            if analyse(walk, folder, replace(options, heading=heading), console):
                code = CHECKS_FAILED
        except typer.Exit as end:
            code = end.exit_code
        except (BiodynError, OSError, MemoryError) as error:
            refusal = error if isinstance(error, BiodynError) else system_refusal(error)
            if refusal is None:
                raise
            code = BAD_INPUT
            print(f"biodyn: {name}: {refusal}", file=sys.stderr)
        worst = max(worst, code)
        if options.as_json:
            error_record = refusal and {"input": {"file": name}, "error": refusal.message, "hint": refusal.hint}
            records.append(error_record or _read_record(folder))
    if options.as_json:
        print_data(f"{json.dumps(records, indent=2, allow_nan=False)}\n")
    return worst


def _result_folders(walks: Sequence[Path], out: Path | None, force: bool) -> list[Path]:
    """Return the result folder of each walk; ResultError if one is in use or shared."""
    from biodyn.output.store.folder import RECORD_NAME, default_result_folder, require_usable_folder

    if out is not None and (out / RECORD_NAME).exists():
        raise ResultError(
            f"'{out}' is a result folder; several walks need a folder for one result folder per walk.",
            "Choose another --out.",
        )
    folders: list[Path] = []
    taken: dict[str, Path] = {}  # by names without case, which Windows and macOS ignore
    for walk in walks:
        folder = default_result_folder(walk) if out is None else out / default_result_folder(walk).name
        name = folder.name.casefold()
        if name in taken:
            raise ResultError(
                f"'{taken[name]}' and '{walk}' would be written into the same folder: '{folder}'.",
                "Analyse them separately with different --out.",
            )
        require_usable_folder(folder, force)
        taken[name] = walk
        folders.append(folder)
    return folders


def _read_record(folder: Path) -> Any:
    from biodyn.output.store.folder import RECORD_NAME

    return json.loads((folder / RECORD_NAME).read_text(encoding="utf-8"))
