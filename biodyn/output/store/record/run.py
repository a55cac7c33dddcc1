"""`run.json`: everything worth knowing of a run beside its numbers, one function a part."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata
from typing import Any

from biodyn.analysis import TrialAnalysis
from biodyn.output.store.names import RECORD_VERSION
from biodyn.output.store.record import checks, model, signals, trial
from biodyn.output.store.record.estimate import estimate_record
from biodyn.output.store.record.norms import norms_record
from biodyn.output.store.record.plain import json_ready
from biodyn.output.store.record.uncertainty import uncertainty_record
from biodyn.output.store.user_files import user_file_records
from biodyn.version import VERSION

_PACKAGES = ("numpy", "scipy", "numba", "ezc3d", "pandas", "matplotlib")


@cache
def versions() -> dict[str, str]:
    """Return what computed a result: this program, the libraries beneath, Python, the platform."""
    found = {name: _installed(name) for name in _PACKAGES}
    return (
        {"biodyn": VERSION}
        | found
        | {"python": platform.python_version(), "platform": f"{sys.platform} {platform.machine()}"}
    )


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed as a package"


#: The parts of the record in their order, by name; each is made of an analysis that was judged.
PARTS: Mapping[str, Callable[[TrialAnalysis], Any]] = {
    "record_version": lambda _: RECORD_VERSION,
    "verdict": lambda analysis: checks.verdict_of(analysis).status,
    "verdict_checks": checks.verdict_causes,
    "versions": lambda _: versions(),
    "input": trial.input_record,
    "static": trial.static_record,
    "user_files": lambda analysis: user_file_records(analysis.user_files),
    "settings": lambda analysis: analysis.settings.model_dump(mode="json"),
    "method": lambda analysis: analysis.method.name,
    "automatic_method": signals.automatic_method_record,
    "smoothing": lambda analysis: analysis.method.words,
    "cutoff_hz": lambda analysis: analysis.cutoff_hz,
    "automatic_cutoff": signals.automatic_cutoff_record,
    "force_cutoff_hz": lambda analysis: analysis.force_cutoff_hz,
    "subject": trial.subject_record,
    "world": trial.world_record,
    "activity": trial.activity_record,
    "marker_set": trial.marker_set_record,
    "model": model.model_record,
    "subject_fit": model.subject_fit_record,
    "fit": model.fit_record,
    "estimate": estimate_record,
    "gaps": signals.gaps_record,
    "plates": signals.plates_record,
    "contacts": signals.contacts_record,
    "measured_share": signals.measured_share,
    "residual_limits": checks.residual_limits_record,
    "checks": checks.check_records,
    "data_checks": lambda analysis: [check.as_data_dict() for check in analysis.data_checks],
    "proof": checks.consistency_record,
    "uncertainty": uncertainty_record,
    "norms": norms_record,
    "diagnostics": lambda analysis: [diagnostic.as_dict() for diagnostic in analysis.diagnostics],
    "timings_s": lambda analysis: {name: round(float(s), 4) for name, s in analysis.timings.items()},
}


def run_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return the values of `run.json`, ready for JSON (NaN becomes null).

    `verdict`: pass, warn, fail or not_assessed, with the checks and findings that decided it in `verdict_checks`.
    """
    record = {name: json_ready(part(analysis)) for name, part in PARTS.items()}
    if analysis.imported is None:
        return record
    own = json_ready(analysis.imported.record)
    return record | {
        name: {**record[name], **part} if isinstance(record.get(name), dict) else part for name, part in own.items()
    }
