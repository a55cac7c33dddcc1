"""A trial on an OpenSim model, from its files to the result: the use case of `run --model`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from biodyn.analysis import Imported
from biodyn.checks.consistency import STEP as PROOF_STEP
from biodyn.errors import InputFileError, ModelError, SettingsError
from biodyn.estimation.parameters import EstimationSettings
from biodyn.io.reading import NO_FORCES
from biodyn.model.from_osim.subject import imported_model
from biodyn.output.store.names import TIMINGS_ENTRY
from biodyn.processing.calibration.subject import require_plausible
from biodyn.processing.dynamics.imported import OwnMotion
from biodyn.processing.signals.smoothing.estimate import ESTIMATE
from biodyn.settings import Settings, settings_from
from biodyn.threads import linear_algebra_in_one_thread
from biodyn.trial.clock import Clock
from biodyn.trial.files import NO_STATIC
from biodyn.trial.from_coordinates import forces_unusable, holds_coordinates, loads_beside, run_coordinates
from biodyn.trial.from_markers import run_markers
from biodyn.trial.model_analysis import MOST_ROWS, Acted, model_analysis
from biodyn.trial.model_corners import plates_in_order
from biodyn.trial.model_result import CoordinateResult
from biodyn.trial.result import TrialResult

#: Settings that such a trial follows: entries, and sections with all of theirs.
FOLLOWED = (
    *("signals.cutoff_hz", "signals.method", "estimation", "model.osim", "contacts", "gait", "limits", "uncertainty"),
    *("signals.spline_gap_s", "signals.rigid_gap_s"),
    *("inverse_kinematics.marker_weights", "inverse_kinematics.visibility_ramp_s"),
    *("variation", "replay", "output", "report"),
)
# What the record of the torques alone tells, and that of a trial tells otherwise.
_TOLD_OTHERWISE = ("record_version", "versions", "diagnostics", "subject", TIMINGS_ENTRY)


@dataclass(frozen=True)
class OnModel:
    """What a trial on a model is run with.

    Attributes:
        model: .osim. forces: ExternalLoads XML, table of forces, "none"; None = those of the recording,
            or of a file beside it.
        ik_setup, scale_setup: OpenSim set-ups, for markers. static, mass_kg: what a generic model is scaled by.
        height_m: of the person, for norms by body size; nothing is scaled by it.
    """

    model: str | Path
    forces: str | Path | None = None
    ik_setup: str | Path | None = None
    scale_setup: str | Path | None = None
    static: str | Path | None = None
    mass_kg: float | None = None
    height_m: float | None = None


@dataclass(frozen=True, repr=False)
class ModelResult(TrialResult):
    """The result of a trial on an OpenSim model: that of every trial, and `own`, what the model itself gives.

    own: coordinates, torques and residual in the model's order, with its names; scaling; proof.
    """

    own: CoordinateResult | None = None

    def _used(self) -> list[str]:
        """The model, its motion and loads."""
        activity = self.analysis.activity
        return [*([] if self.own is None else self.own.summary()), f"Activity: {activity.kind}: {activity.reason}"]


@linear_algebra_in_one_thread()
def run_on_model(
    motion: str | Path,
    given: OnModel,
    settings: Settings | Mapping[str, Any] | str | Path | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> ModelResult | CoordinateResult:
    """Run a trial on an OpenSim model.

    Parameters:
        motion: markers (.trc, .c3d) or coordinates (.mot, .sto) of the model; a spreadsheet of either.
        settings: those `FOLLOWED`; of signals.method "estimate" alone.

    Returns the torques alone where more cannot be had: rows that are not evenly spaced, more than `model_analysis.MOST_ROWS`,
    several bodies that hang on ground. Raises InputFileError, ModelError, SettingsError as `run_markers` and `run_coordinates`.
    """
    options = settings_from(settings if not isinstance(settings, Mapping) else dict(settings))
    require_plausible(given.mass_kg, given.height_m)
    clock = Clock(progress)
    stated = options.signals.cutoff_hz if "cutoff_hz" in options.signals.model_fields_set else None
    hz = None if isinstance(stated, str) else stated
    method = "" if options.signals.method == "auto" else options.signals.method
    coordinates = holds_coordinates(motion)
    if method and method != ESTIMATE:
        raise SettingsError(
            f"signals.method = '{method}' has no meaning with --model: coordinates, given or fitted, pass OpenSim's filter.",
            "They may become an estimate with the forces: signals.method = 'estimate'.",
        )
    estimate = options.estimation if method else None
    if coordinates:
        if any(one is not None for one in (given.static, given.scale_setup, given.mass_kg, given.ik_setup)):
            raise SettingsError(
                "Coordinates are those of a model that has its own size and mass: nothing scales or fits it."
            )
        clock.begin("estimate" if method else "inverse dynamics")
        own = _on_coordinates(Path(motion), given, hz, estimate)
    else:
        sizes = (given.static, given.scale_setup, given.mass_kg)
        own = run_markers(motion, given.model, given.forces, given.ik_setup, *sizes, hz, options, estimate, clock.begin)
    found = completed(own, options, Path(given.model), given.height_m, clock)
    plates, corner_notes = ((), ()) if found is None else plates_in_order(found.analysis)
    if corner_notes:
        own = run_markers(
            motion, given.model, given.forces, given.ik_setup, *sizes, hz, options, estimate, clock.begin, plates
        )
        own = replace(own, notes=(*own.notes, *corner_notes))
        found = completed(own, options, Path(given.model), given.height_m, clock)
    clock.end()
    if found is None:
        return replace(own, timings=clock.seconds)
    # the proof of the torques is timed by itself, within the checks
    spent = found.analysis.timings.get(PROOF_STEP, 0.0)
    seconds = {**clock.seconds, "checks": clock.seconds["checks"] - spent, PROOF_STEP: spent}
    return replace(found, analysis=replace(found.analysis, timings=seconds))


def _on_coordinates(
    motion: Path, given: OnModel, cutoff_hz: float | None, estimate: EstimationSettings | None
) -> CoordinateResult:
    """The torques of coordinates, under the forces that are given, else under those beside the motion that belong to it."""
    forces, notes = (given.forces, []) if given.forces is not None else loads_beside(motion)
    try:
        own = run_coordinates(motion, given.model, forces, cutoff_hz, estimate)
    except ModelError as error:  # forces that nobody named, on bodies that this model does not have
        if given.forces is not None or forces is None:
            raise
        notes = [forces_unusable(motion, error)]
        own = run_coordinates(motion, given.model, NO_FORCES, cutoff_hz, estimate)
    return replace(own, notes=(*notes, *own.notes))


def on_model(
    settings: Settings,
    static: str | Path | None = None,
    mass_kg: float | None = None,
    forces: str | Path | None = None,
    height_m: float | None = None,
) -> OnModel:
    """Return what a trial is run with on the model that the settings name; a static trial "none" is none."""
    named = None if static is None or str(static) == NO_STATIC else static
    return OnModel(str(settings.model.osim), forces, static=named, mass_kg=mass_kg, height_m=height_m)


def whole_result(
    motion: str | Path, given: OnModel, settings: Settings, progress: Callable[[str], None] | None = None
) -> ModelResult:
    """Run a trial on a model; ModelError where its torques alone can be had."""
    found = run_on_model(motion, given, settings, progress or (lambda step: None))
    if not isinstance(found, ModelResult):
        raise ModelError(
            f"'{Path(motion).name}' has torques alone on '{Path(given.model).name}': its rows are uneven or more than "
            f"{MOST_ROWS}, or several bodies of the model hang on ground."
        )
    return found


def completed(
    own: CoordinateResult,
    settings: Settings,
    model_path: Path,
    height_m: float | None = None,
    clock: Clock | None = None,
) -> ModelResult | None:
    """Return the whole result of a trial on a model whose torques are there; None where more cannot be had.

    height_m: of the person, where it is known. clock: what times the steps.
    """
    source, fit = own.source, own.fit
    body = None
    if source is not None and len(own.time_s) > 1:
        body = imported_model(own.model, fit.labels if fit else (), fit.weights.tolist() if fit else ())
    if source is None or body is None or not body.coordinates or body.mass_kg <= 0.0:
        return None  # of a single body there is no more to tell, of bodies without mass nothing
    motion = OwnMotion(
        names=tuple(c.name for c in own.model.coordinates),
        rotational=tuple(c.rotational for c in own.model.coordinates),
        q=own.q,
        v=own.v,
        vdot=own.vdot,
        tau=own.tau,
        proof=own.proof,
    )
    sized = "it is taken as it is" if not own.scaling else "it is scaled to the person"
    if own.estimated is not None:
        sized = "its masses and a mass centre are those of the estimate"
    acted = Acted(
        model=body,
        recording=source.recording,
        R_GL=source.R_GL,
        motion=motion,
        fit=fit,
        loads=source.loads,
        on_plates=source.on_plates,
        sized=sized,
        model_path=model_path,
        cutoff_hz=own.cutoff_hz,
        tasks=source.tasks,
        height_m=height_m,
        balanced=own.estimated is not None,
    )
    record = {name: value for name, value in own.record.items() if name not in _TOLD_OTHERWISE}
    record["input"] = {**record["input"], "start_s": source.recording.start_s}
    content = own.model_file if own.model_file is not None else _content(model_path)
    imported = Imported(motion, record, content, own.motion_file)
    analysis = model_analysis(acted, settings, own.findings, imported, clock or Clock())
    return ModelResult(analysis, own=own)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputFileError(f"'{path}' cannot be read: {error.strerror}.") from error
