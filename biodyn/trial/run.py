"""Analyse one walk from its file to the result by running the steps in order.

Modules for tables, figures and pages are imported only when a result is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from biodyn.analysis import TrialAnalysis
from biodyn.checks import add_verdict
from biodyn.errors import SettingsError
from biodyn.output.store.record import require_unchanged
from biodyn.rigid_body import compile_kernels, is_compiled
from biodyn.threads import limit_to_one_thread
from biodyn.trial.request import RequestInputs, SettingsSource, TrialRequest, trial_request
from biodyn.trial.stage_timing import StepClock
from biodyn.trial.stages import make_analysis
from biodyn.trial.steps import STEPS, Step

if TYPE_CHECKING:
    from biodyn.trial.result import TrialResult

Progress = Callable[[str], None]


@limit_to_one_thread()
def analyse(
    request: TrialRequest,
    progress: Progress | None = None,
    steps: Sequence[Step] | None = None,
    torques_only: bool = False,
) -> TrialAnalysis:
    """Run the steps on a request and return the analysis.

    Parameters:
        progress: called with the name of each step as it begins.
        steps: steps in the order of execution; None = `steps.STEPS`.
        torques_only: whether to omit the verdict and all steps that do not change torques.
    """
    if request.settings.model.osim is not None:
        raise SettingsError(
            "Variations and session fits are not available for a trial on an OpenSim model.",
            "Omit model.osim, or analyse the trial with 'biodyn run' or in a study.",
        )
    clock = StepClock(progress)
    stage: Any = request
    for number, step in enumerate(STEPS if steps is None else steps):
        if step.for_torques or not torques_only:
            with clock.time_step(step.name):
                stage = step.run(stage)
        if number == 0 and not is_compiled():  # after the files were read successfully
            with clock.time_step("compiling kernels"):
                compile_kernels(progress)
    require_unchanged(request.user_files)
    analysis = make_analysis(stage, clock.seconds)
    return analysis if torques_only else add_verdict(analysis)


def analyse_trial(
    trial: str | Path,
    static: str | Path | None = None,
    mass_kg: float | None = None,
    height_m: float | None = None,
    settings: SettingsSource = None,
    *,
    progress: Progress | None = None,
    steps: Sequence[Step] | None = None,
    torques_only: bool = False,
    **inputs: Unpack[RequestInputs],
) -> TrialAnalysis:
    """Return the analysis of one walk; parameters as for `run_trial` and `analyse`."""
    return analyse(trial_request(trial, static, mass_kg, height_m, settings, **inputs), progress, steps, torques_only)


def run_request(
    request: TrialRequest, progress: Progress | None = None, steps: Sequence[Step] | None = None
) -> TrialResult:
    """Return the result of a request, on the scaled skeleton or on the OpenSim model of the settings."""
    if request.settings.model.osim is not None:
        from biodyn.trial.bodies.opensim import run_on_model

        return run_on_model(request, progress)
    from biodyn.trial.result import TrialResult

    return TrialResult(analyse(request, progress, steps))


def run_trial(
    trial: str | Path,
    static: str | Path | None = None,
    mass_kg: float | None = None,
    height_m: float | None = None,
    settings: SettingsSource = None,
    progress: Progress | None = None,
    steps: Sequence[Step] | None = None,
    **inputs: Unpack[RequestInputs],
) -> TrialResult:
    """Analyse one walk, from its file to joint torques.

    Parameters:
        trial: recording with markers (or segment poses) and force plates, in any format of docs/formats.md; with `model.osim`
            in the settings also coordinates of that model.
        static: recording of the same subject standing; None = searched next to the walk; "none" = not searched. Without one,
            the calibration uses stored joint offsets, a part of the walk with quiet standing, or the walk itself.
        mass_kg, height_m: mass and height of the subject; None = as stored in the files, else measured (see README).
        age_years, sex, side: age selects the norms and sex ("female", "male") the segment masses; the affected side is shown at
            the head of the report. Other data are read from subject.toml next to the walk
            (`library.subject_record.SubjectRecord`).
        settings: Settings, a dict, or a TOML file with deviations from the defaults.
        progress: called with the name of each step as it begins.
        files: walk and static trial that were already read (`files.read_files`); `static` is then ignored.
        steps: steps that replace `steps.STEPS`, see `steps.with_step`.
        static_frames: first and last frame of standing in the static trial, or in the walk if it replaces the static trial,
            numbered as in the file; None = the quietest half second.
        preset: analysis as in another program, "plug_in_gait", "visual3d" or "opensim"; `settings` have priority.
        companions: other recordings of the person and day, for `[model] fit = "session"`; None = searched next to the walk.
        entries: single settings with priority over all others, "section.key=value" as in a settings TOML.
        forces: ground forces of the walk in a separate file (table, ExternalLoads XML, plates exported by QTM or Cortex); None
            = plates of the recording, otherwise of a file next to it; "none" = not searched.
        plates: calibration of the force plates (`biodyn plates`), or its file.
        memory: cache of the session, which the walks of a session share.

    Raises BiodynError subclasses (InputFileError, MarkerSetError, PlateError, StaticTrialError, SubjectError,
    SettingsError) if the walk cannot be analysed.
    """
    request = trial_request(trial, static, mass_kg, height_m, settings, **inputs)
    return run_request(request, progress, steps)


def regenerate_report(
    folder: str | Path,
    progress: Progress | None = None,
    say: Progress | None = None,
    figures: bool = True,
    *,
    pdf: bool = False,
    head: str | Path | None = None,
) -> Path:
    """Regenerate the figures and report of a result folder from its data; returns the folder.

    `figures`: whether figures are also written as separate files.

    Folders of older versions are supported. Files that biodyn did not write are not replaced; ResultError lists them. `say` is
    called with a sentence for every file of the user that changed after the result was written. `pdf`: whether to write
    `report.pdf`, with the letterhead `head` from a TOML file (`pdf_report.read_letterhead`).
    """
    from biodyn.output.report.pdf_report import requested_letterhead
    from biodyn.output.store.folder import FIGURES_FOLDER, PAPER_NAME, REPORT_NAME
    from biodyn.output.store.record import changed_file_notes
    from biodyn.output.store.result_reader import read_view
    from biodyn.output.store.result_writer import add_files, write_pdf_report, write_report

    target, above = Path(folder), requested_letterhead(pdf, head)
    view = read_view(target)
    if say is not None:
        for note in changed_file_notes(view.record, target):
            say(f"{note.message} {note.hint}")
    names = [f"{FIGURES_FOLDER}/{name}.png" for name in view.figures] if figures else []
    with add_files(target, [*names, REPORT_NAME, *([PAPER_NAME] if pdf else [])]) as place:
        write_report(view, place, figures=figures, report=True, progress=progress)
        if above is not None:
            write_pdf_report(view, place, above)
    return target
