"""Commands that take a result folder: `compare`, `export`, `replay` and `report`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from biodyn.cli.console_output import open_console, print_lines, show_progress
from biodyn.cli.exit_codes import exit_on_expected_error
from biodyn.cli.options import Head, Pdf, ResultFolder, Verbose

if TYPE_CHECKING:
    from rich.console import Console


def compare(
    first: Annotated[
        Path,
        typer.Argument(
            help="A result folder of 'biodyn run', or of 'biodyn session': the earlier one.", metavar="RESULT_DIR"
        ),
    ],
    second: Annotated[
        Path,
        typer.Argument(
            help="Another result of the same recording, a file with results of other software, or a later session.",
            metavar="RESULT_DIR|FILE",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write compare.csv, compare.json, compare.png and report.html there; for sessions changes.csv and "
            "report.html.",
            metavar="DIR",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Compare two analyses of a recording and explain the differences, or two sessions of a person."""
    max_rows = 10  # rows of the table without --verbose
    console = open_console()
    with exit_on_expected_error():
        if (first / "study.json").is_file() and (second / "study.json").is_file():
            _compare_sessions(first, second, out, console)
            return
        with show_progress(console) as step:
            from biodyn.trial.result_comparison import compare as compare_results

            step("comparing")
            comparison = compare_results(first, second)
            folder = None if out is None else comparison.save(out)
        rows = comparison.screen_rows()
        if not verbose:
            curves = comparison.differences
            leg = [
                index
                for index, curve in enumerate(curves)
                if curve.plane == "sagittal"
                and curve.joint in ("hip", "knee", "ankle")
                and "cycle" not in curve.quantity
            ]
            chosen = sorted(leg or range(len(rows)), key=lambda index: -curves[index].rms / (curves[index].size or 1.0))
            rows = [rows[index] for index in sorted(chosen[:max_rows])]
        shown = [("difference in", "RMS", "RMS of the first", "causes"), *rows]
        widths = [max(len(row[column]) for row in shown) for column in range(3)]
        for title, rms, size, causes in shown:
            print_lines(console, f"{title:<{widths[0]}}  {rms:>{widths[1]}}  {size:>{widths[2]}}  {causes}")
        if len(rows) < len(comparison.differences):
            print_lines(
                console,
                f"{len(rows)} of {len(comparison.differences)} differences: the largest of hip, knee and ankle; all: --verbose.",
            )
        summary = comparison.summary()
        print_lines(
            console, *(summary if verbose else _merge_facts(summary, [fact.cause for fact in comparison.facts]))
        )
        if folder is not None:
            print_lines(console, f"Comparison: {folder} (begin with report.html)")


def _merge_facts(summary: Sequence[str], causes: Sequence[str]) -> Iterator[str]:
    """Yield the summary lines of a comparison with one fact per cause, and the number of further facts of this cause."""
    counts = Counter(causes)
    for line in summary:
        cause = line.partition(":")[0]
        count = counts.get(cause, 1)
        if count:
            yield line + (f" (and {count - 1} similar)" if count > 1 else "")
        if cause in counts:
            counts[cause] = 0


def _compare_sessions(before: Path, after: Path, out: Path | None, console: Console) -> None:
    """Compare two sessions of a person and print the changes that exceed the minimal detectable change."""
    from biodyn.study.session_change import compare_sessions

    change = compare_sessions(before, after)
    folder = None if out is None else change.save(out)
    print_lines(console, *change.lines())
    if folder is not None:
        print_lines(console, f"Change: {folder} (begin with report.html)")


def export(
    result: ResultFolder,
    to: Annotated[str, typer.Option(help="Format: opensim, c3d, mat or xlsx.", metavar="FORMAT")],
    out: Annotated[
        Path | None, typer.Option(help="Output folder. Default: RESULT_DIR_<format>.", metavar="DIR")
    ] = None,
    convention: Annotated[
        str,
        typer.Option(help="Names, signs, frames and units: isb, opensim, plug_in_gait or visual3d.", metavar="NAME"),
    ] = "",
    recording: Annotated[
        Path | None,
        typer.Option(help="C3D file of the walk, if it was moved after the analysis (--to c3d).", metavar="WALK.c3d"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export.")] = False,
) -> None:
    """Write a result for other programs: OpenSim, C3D, MATLAB, spreadsheets."""
    console = open_console()
    with exit_on_expected_error():
        with show_progress(console) as step:
            step("exporting")
            from biodyn.trial.export import export as export_result

            written = export_result(result, to, out, convention=convention, recording=recording, force=force)
        print_lines(console, *(f"info: {note}" for note in written.notes))
        print_lines(console, f"Export: {written.folder} ({', '.join(written.files)})")


def replay(
    result: ResultFolder, method: Annotated[str, typer.Option(help="Integrator: euler, rk4 or solve_ivp.")] = "rk4"
) -> None:
    """Simulate the model forward with the computed torques and compare with the recorded motion."""
    console = open_console()
    with exit_on_expected_error():
        with show_progress(console) as step:
            from biodyn.trial.replay import changed_file_sentences
            from biodyn.trial.replay import replay as replay_result
            from biodyn.verification.integrators import Method
            from biodyn.verification.replay import ReplayOptions

            notes = changed_file_sentences(result)
            replayed = replay_result(result, ReplayOptions(cast(Method, method)), progress=step)
            folder = replayed.save(result, progress=step)
        print_lines(
            console, *replayed.summary(), *notes, f"Replay: {folder} ('biodyn report {result}' adds it to the report)"
        )


def regenerate_report(
    result: Annotated[
        Path,
        typer.Argument(
            help="A result folder of 'biodyn run', 'biodyn session' or 'biodyn study'.", metavar="RESULT_DIR"
        ),
    ],
    pdf: Pdf = False,
    head: Head = None,
) -> None:
    """Regenerate the figures and report of a result folder."""
    console = open_console()
    notes: list[str] = []
    with exit_on_expected_error(), show_progress(console) as step:
        if (result / "study.json").is_file():
            from biodyn.study.study import rerender_study_report

            rerender_study_report(result, step, pdf=pdf, head=head)
        else:
            from biodyn.trial.run import regenerate_report

            regenerate_report(result, progress=step, say=notes.append, pdf=pdf, head=head)
    pages = ("report.html", "report.pdf") if pdf else ("report.html",)
    print_lines(console, *notes, *(f"Report: {result / page}" for page in pages))
