"""Commands on single files and the library: `check`, `plates`, `models`, `norms`, and `unpack` for archives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biodyn.cli.console_output import open_console, open_in_browser, print_diagnostics, print_lines, show_progress
from biodyn.cli.exit_codes import CHECKS_FAILED, exit_on_expected_error
from biodyn.cli.options import parse_number

if TYPE_CHECKING:
    from biodyn.recording import PlateCalibration


def check(
    file: Annotated[
        Path,
        typer.Argument(
            help="A recording (C3D, TRC, .b3d, a spreadsheet), a table (.mot, .sto) or an OpenSim model.",
            metavar="FILE",
        ),
    ],
    settings: Annotated[
        Path | None, typer.Option(help="Settings for the analysis; they are validated too.", metavar="FILE.toml")
    ] = None,
    marker_set: Annotated[
        str | None, typer.Option(help="Marker set to use: a name, or a TOML file.", metavar="NAME|FILE.toml")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="OpenSim model that will follow the markers of FILE.", metavar="MODEL.osim")
    ] = None,
    write_marker_set: Annotated[
        Path | None,
        typer.Option(help="Write a draft marker set file for the labels of FILE, and stop.", metavar="FILE.toml"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write a page with a 3-D view of markers and plates: DIR/FILE.check.html.", metavar="DIR"),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open that page in the browser; without --out it is a temporary file.")
    ] = False,
) -> None:
    """Show the content of a recording: marker set, force plates, likely problems."""
    console = open_console()
    with exit_on_expected_error():
        from biodyn.errors import SettingsError
        from biodyn.trial.inspection import check_file, write_check_page, write_marker_set_template

        if write_marker_set is not None:
            if settings is not None or marker_set is not None or out is not None or open_page:
                raise SettingsError(
                    "--write-marker-set only writes a file. It cannot be combined with --settings, --marker-set, --out or "
                    "--open.",
                    "Write the file first, then try it.",
                )
            print_lines(console, f"Written: {write_marker_set_template(file, write_marker_set)}")
            return
        page = None
        if out is None and not open_page:
            findings = check_file(file, settings, marker_set, model)
        else:
            findings, page = write_check_page(file, out, settings, marker_set, model)
        print_lines(console, *findings.lines)
        print_diagnostics(console, findings.diagnostics)
        if page is not None:
            print_lines(console, f"Page: {page}")
            if open_page:
                open_in_browser(page, console)
    if any(finding.severity == "error" for finding in findings.diagnostics):
        raise typer.Exit(CHECKS_FAILED)


def find_plate_errors(
    trials: Annotated[
        list[Path],
        typer.Argument(
            help="Recordings of a pointed rigid pole with markers that is pushed onto each force plate and tilted; or a folder "
            "with walks of one or several people in both directions over the plates.",
            metavar="POLE.c3d...|FOLDER",
        ),
    ],
    pole_mass: Annotated[
        float | None,
        typer.Option(
            help="Mass of the pole, kg. Default: estimated, which is less accurate.", metavar="KG", parser=parse_number
        ),
    ] = None,
    known_mass: Annotated[
        float | None,
        typer.Option(
            help="Known mass, kg, that rests on each plate for some seconds in one of the recordings. Without it, the "
            "common gain of the channels of a plate is not determined.",
            metavar="KG",
            parser=parse_number,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the calibration for 'biodyn run --plates FILE'.", metavar="FILE.toml")
    ] = None,
    apply: Annotated[
        list[Path] | None,
        typer.Option(
            help="Show the plate errors that remain in these recordings with an earlier calibration. May be repeated.",
            metavar="FILE.toml",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Find errors of force plates in pole trials or in walks: position, orientation and sensitivity of each plate."""
    console = open_console()
    with exit_on_expected_error():
        from biodyn.errors import ResultError
        from biodyn.recording import PlateCalibration

        if out is not None and out.exists() and not force:
            raise ResultError(f"'{out}' exists.", "Choose another --out, or replace it with --force.")
        earlier = [PlateCalibration.read(path) for path in apply or ()]
        with show_progress(console) as step:
            step("reading")
            lines, calibration = _estimate_plate_errors(trials, pole_mass, known_mass, earlier, step)
        print_lines(console, *lines)
        if calibration is None:
            print_lines(console, "Nothing was written, because the walks show no plate error that can be corrected.")
        elif out is None:
            print_lines(console, "Nothing was written. Write the calibration with --out FILE.toml.")
        else:
            calibration.write(out)
            print_lines(console, f"Calibration: {out} (use: biodyn run WALK.c3d --plates {out})")


def _estimate_plate_errors(
    trials: list[Path],
    pole_mass: float | None,
    known_mass: float | None,
    earlier: list[PlateCalibration],
    step: Callable[[str], None],
) -> tuple[list[str], PlateCalibration | None]:
    """Return the plate errors estimated from pole trials or from the walks of a folder."""
    if len(trials) == 1 and trials[0].is_dir():
        from biodyn.errors import SettingsError
        from biodyn.study.plate_errors import estimate_plate_errors

        if earlier or pole_mass is not None or known_mass is not None:
            raise SettingsError(
                "--apply, --pole-mass and --known-mass apply to pole trials and not to a folder of walks."
            )
        of_walks = estimate_plate_errors(trials[0], step)
        return of_walks.lines(), of_walks.calibration
    from biodyn.trial.pole_calibration import calibrate_plates

    found = calibrate_plates(trials, pole_mass, known_mass)
    return [*found.lines(), *(line for one in earlier for line in found.error_lines(one))], found.calibration


def list_models(
    landmarks: Annotated[
        bool, typer.Option("--landmarks", help="List the landmarks and segments for marker set files.")
    ] = False,
) -> None:
    """List the available skeletons, marker sets, anthropometric tables and hip regressions."""
    console = open_console()
    with exit_on_expected_error():
        from biodyn.model.from_library.user_tables import landmark_catalogue, table_catalogue

        for heading, rows in landmark_catalogue() if landmarks else table_catalogue():
            console.print(heading, style="bold")
            print_lines(console, *(f"  {name:<24} {text}" for name, text in rows))


def unpack(
    archive: Annotated[Path, typer.Argument(help="A .b3d archive of AddBiomechanics.", metavar="FILE.b3d")],
    out: Annotated[
        Path | None, typer.Option(help="Output folder. Default: FILE next to the archive.", metavar="DIR")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing folder of recordings.")] = False,
) -> None:
    """Convert a .b3d archive of AddBiomechanics to a folder of recordings."""
    console = open_console()
    with exit_on_expected_error():
        with show_progress(console) as step:
            step("unpacking")
            from biodyn.trial.archive_unpacking import unpack as unpack_archive

            unpacked = unpack_archive(archive, out, force=force)
        print_lines(console, *(f"info: {note}" for note in unpacked.notes))
        count = len(unpacked.trials)
        print_lines(console, f"Unpacked {count} trial{'s' if count != 1 else ''}: {unpacked.folder}")


norms = typer.Typer(
    help="Reference curves: list the available norms, or build the norms of your laboratory from a study.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@norms.command("list")
def list_norms() -> None:
    """List the norms of the library: people, ages, speeds, source and licence."""
    console = open_console()
    with exit_on_expected_error():
        from biodyn.library.tables import entry_names
        from biodyn.variables.norms import SPEED_WORDS, load_norm_set

        for name in entry_names("norms"):
            norm_set = load_norm_set(name)
            low, high = norm_set.speed_range
            table = norm_set.table
            contents = [f"{len(table[kind])} {kind}s" for kind in ("curve", "scalar") if table.get(kind)]
            print_lines(
                console,
                f"{name}: {norm_set.group}",
                f"    {', '.join(contents)}, {low:.2f} to {high:.2f} {SPEED_WORDS[norm_set.speed_measure]}, {table['band']}",
                f"    {table['citation']}",
                f"    Licence: {table['licence']}",
            )


@norms.command("build")
def write_norms(
    study: Annotated[Path, typer.Argument(help="The output folder of a finished study.", metavar="STUDY_DIR")],
    out: Annotated[Path, typer.Option(help="Output file.", metavar="FILE.toml")],
    name: Annotated[str | None, typer.Option(help="Name of the norms. Default: name of the study's folder.")] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="Only people of this group. May be repeated.", metavar="NAME")
    ] = None,
    condition: Annotated[
        list[str] | None, typer.Option(help="Only walks of this condition. May be repeated.", metavar="NAME")
    ] = None,
    licence: Annotated[
        str, typer.Option(help="Licence of the numbers, shown next to the curves.")
    ] = "own data, not published",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Build norms from the healthy people of a study: curves by walking speed with 95 % prediction bands."""
    console = open_console()
    with exit_on_expected_error():
        with show_progress(console) as step:
            from biodyn.study.laboratory_norms import build_norms

            step("building norms")
            built = build_norms(
                study, out, name=name, groups=group, conditions=condition, licence=licence, replace=force
            )
        low, high = built.speed_range
        print_lines(
            console,
            f"{built.group}: {len(built.table['curve'])} curves, {built.table['band']}, dimensionless speed "
            f"{low:.2f} to {high:.2f}",
            f"Norms: {out} (use: --set report.norms={out})",
        )
