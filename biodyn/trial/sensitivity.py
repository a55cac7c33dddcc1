"""Analyse a walk with other settings to determine the sensitivity of the joint moments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from biodyn.analysis import TrialAnalysis, Variation
from biodyn.errors import SettingsError
from biodyn.library.tables import entry_names
from biodyn.model.from_library.hip_centre import hip_centre_method_names
from biodyn.output.store.result_writer import Progress
from biodyn.processing.signals.smoothing.butterworth import BUTTERWORTH
from biodyn.settings import Settings
from biodyn.trial.bodies.opensim import ModelResult, run_on_model
from biodyn.trial.request import RequestInputs, SettingsSource, TrialRequest, trial_request
from biodyn.trial.result import TrialResult
from biodyn.trial.run import analyse

_Level = tuple[str, Settings]
# Usual cut-offs of markers and forces in gait analysis, Hz, and twice and half of them.
_CUTOFFS_HZ = (4.0, 5.0, 6.0, 8.0, 10.0, 15.0)
# Exponent of all marker weights, by the name of the level.
_WEIGHT_POWERS = {"all equal": 0.0, "contrast squared": 2.0}


def vary_trial(
    trial: str | Path,
    factors: Sequence[str] = ("hip_centre", "anthropometry", "cutoff"),
    static: str | Path | None = None,
    mass_kg: float | None = None,
    height_m: float | None = None,
    settings: SettingsSource = None,
    progress: Progress | None = None,
    **inputs: Unpack[RequestInputs],
) -> TrialResult:
    """Analyse a walk with every level of each factor; the result has `sensitivity` tables and a figure.

    Parameters:
        factors: any of "hip_centre", "anthropometry", "cutoff", "marker_weights"; their levels are all regressions and tables
            of the library, `_CUTOFFS_HZ` and `_WEIGHT_POWERS`. On an OpenSim model: "cutoff" and "marker_weights".
        Other parameters are those of `run_trial`.

    Raises SettingsError for an unknown factor, and the errors of `run_trial`.
    """
    return vary_request(trial_request(trial, static, mass_kg, height_m, settings, **inputs), factors, progress)


def vary_request(request: TrialRequest, factors: Sequence[str], progress: Progress | None = None) -> TrialResult:
    """Return the result of a request with its variations; see `vary_trial`."""
    _require_known_factors(factors)
    if request.settings.model.osim is not None:
        return _vary_on_model(request, factors, progress)
    settings = request.settings
    # levels of the cut-off are filters, so the reference also uses a filter
    if "cutoff" in factors and settings.signals.method == "auto":
        settings = _with_entries(settings, "signals", method=BUTTERWORTH)
    request = replace(request, settings=settings, files=request.read())
    base = analyse(request, progress)
    variations = [
        Variation(factor, level, analyse(replace(request, settings=changed), torques_only=True))
        for factor, level, changed in _factor_levels(factors, settings, base, progress)
    ]
    return TrialResult(replace(base, variations=tuple(variations)))


def _factor_levels(
    factors: Sequence[str], settings: Settings, base: TrialAnalysis, progress: Progress | None
) -> Iterator[tuple[str, str, Settings]]:
    for factor in dict.fromkeys(factors):
        for level, changed in FACTORS[factor](settings, base):
            if progress is not None:
                progress(f"{factor.replace('_', ' ')}: {level}")
            yield factor, level, changed


def _vary_on_model(request: TrialRequest, factors: Sequence[str], progress: Progress | None) -> ModelResult:
    """Vary a trial on an OpenSim model with fixed joints and inertias; SettingsError for a factor that does not apply."""
    for factor in factors:
        if factor in _OF_THE_MODEL:
            raise SettingsError(f"'{factor}' cannot be varied on an OpenSim model: {_OF_THE_MODEL[factor]}.")
    base = run_on_model(request, progress)
    if "marker_weights" in factors:
        _require_unequal_weights(base)
    variations = [
        Variation(factor, level, run_on_model(replace(request, settings=changed)).analysis)
        for factor, level, changed in _factor_levels(
            factors, _with_entries(request.settings, "uncertainty", compute=False), base.analysis, progress
        )
    ]
    return replace(base, analysis=replace(base.analysis, variations=tuple(variations)))


def _require_unequal_weights(base: ModelResult) -> None:
    """Raise SettingsError if no weights are given or all are equal, so that powers have no effect."""
    weights = {marker.weight for marker in base.analysis.model.markers if marker.weight > 0.0}
    if base.own is None or base.own.fit is None:
        raise SettingsError("'marker_weights' cannot be varied because coordinates were given instead of markers.")
    if len(weights) < 2:
        raise SettingsError(
            "'marker_weights' cannot be varied because all weights are equal.",
            "Give weights: --ik-setup SETUP.xml, or inverse_kinematics.marker_weights.",
        )


def _require_known_factors(factors: Sequence[str]) -> None:
    if isinstance(factors, str):  # a string is also a sequence
        raise SettingsError(f"'factors' must be a list of names, not one name: '{factors}'.", f'Give ["{factors}"].')
    if not factors:
        raise SettingsError("--vary has no factor.", f"Factors: {', '.join(FACTORS)}.")
    unknown = [factor for factor in factors if factor not in FACTORS]
    if unknown:
        raise SettingsError(f"'{unknown[0]}' cannot be varied.", f"Factors: {', '.join(FACTORS)}.")


def _hip_centre_levels(options: Settings, base: TrialAnalysis) -> Iterator[_Level]:
    for name in hip_centre_method_names():
        if name != options.model.hip_centre:
            yield name, _with_entries(options, "model", hip_centre=name)


def _anthropometry_levels(options: Settings, base: TrialAnalysis) -> Iterator[_Level]:
    for name in entry_names("anthropometry"):
        if name != options.model.anthropometry:
            yield name, _with_entries(options, "model", anthropometry=name)


def _cutoff_levels(options: Settings, base: TrialAnalysis) -> Iterator[_Level]:
    rate_hz = base.recording.markers.rate_hz
    for hz in _CUTOFFS_HZ:
        if hz != base.cutoff_hz and hz < 0.5 * rate_hz:
            yield f"{hz:g} Hz", _with_entries(options, "signals", cutoff_hz=hz)


def _marker_weight_levels(options: Settings, base: TrialAnalysis) -> Iterator[_Level]:
    given = options.inverse_kinematics.marker_weights
    weights = {marker.label: given.get(marker.label, marker.weight) for marker in base.model.markers}
    for level, power in _WEIGHT_POWERS.items():
        changed = {label: weight**power for label, weight in weights.items() if weight > 0.0}
        yield level, _with_entries(options, "inverse_kinematics", marker_weights=given | changed)


def _with_entries(options: Settings, section: str, **entries: Any) -> Settings:
    return options.model_copy(update={section: getattr(options, section).model_copy(update=entries)})


# Reasons why these factors do not apply to an OpenSim model.
_OF_THE_MODEL = {
    "hip_centre": "joint positions are fixed by the model; the bands of the torques include their uncertainty",
    "anthropometry": "inertias are fixed by the model; the bands of the torques include their uncertainty",
}

#: Factors, and the functions that generate their levels.
FACTORS: dict[str, Callable[[Settings, TrialAnalysis], Iterator[_Level]]] = {
    "hip_centre": _hip_centre_levels,
    "anthropometry": _anthropometry_levels,
    "cutoff": _cutoff_levels,
    "marker_weights": _marker_weight_levels,
}
