"""`biodyn norms`: what there is to compare with, and a laboratory's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biodyn.cli.endings import plain_errors
from biodyn.cli.screen import open_console, progress

norms = typer.Typer(
    help="Norms beside the curves: list those there are, or build a laboratory's own from a study.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@norms.command("list")
def list_norms() -> None:
    """List the norms of the library: people, ages, speeds, source and licence."""
    console = open_console()
    with plain_errors():
        from biodyn.variables.norms import SPEED_WORDS, load_norm_set, tried_norms

        for name in tried_norms():
            found = load_norm_set(name)
            low, high = found.speeds
            holds = [
                f"{len(found.table.get(kind, {}))} {kind}s" for kind in ("curve", "scalar") if found.table.get(kind)
            ]
            lines = (
                f"{name}: {found.group}",
                f"    {', '.join(holds)}, {low:.2f} to {high:.2f} {SPEED_WORDS[found.measure]}, {found.table['band']}",
                f"    {found.table['citation']}",
                f"    Licence: {found.table['licence']}",
            )
            for line in lines:
                console.print(line, highlight=False, markup=False, soft_wrap=True)


@norms.command("build")
def build(
    study: Annotated[Path, typer.Argument(help="The output folder of a finished study.", metavar="STUDY_DIR")],
    out: Annotated[Path, typer.Option(help="The file to write.", metavar="FILE.toml")],
    name: Annotated[str | None, typer.Option(help="Name of the norms; by default the study's folder.")] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="Only people of this group; may be given several times.", metavar="NAME")
    ] = None,
    condition: Annotated[
        list[str] | None, typer.Option(help="Only walks of this condition; may be given several times.", metavar="NAME")
    ] = None,
    licence: Annotated[
        str, typer.Option(help="Licence of the numbers, shown beside the curves.")
    ] = "own data, not published",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Make norms of the healthy people of a study: curves by walking speed with 95 % prediction bands."""
    console = open_console()
    with plain_errors():
        with progress(console) as step:
            from biodyn.study.own_norms import build_norms

            step("building norms")
            made = build_norms(
                study, out, name=name, groups=group, conditions=condition, licence=licence, replace=force
            )
        low, high = made.speeds
        for line in (
            f"{made.group}: {len(made.table['curve'])} curves, {made.table['band']}, dimensionless speed "
            f"{low:.2f} to {high:.2f}",
            f"Norms: {out} (use: --set report.norms={out})",
        ):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
