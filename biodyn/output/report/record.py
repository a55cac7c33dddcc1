"""What a result folder keeps beside its tables: `run.json` and the arrays of `result.npz`."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks import judge
from biodyn.checks.data import residual_limits
from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.errors import printable
from biodyn.library.tables import load_entry
from biodyn.model.from_library.hip_centre import hip_regression
from biodyn.model.from_library.user_tables import own_file, own_path
from biodyn.output.report.consistency import consistency_record
from biodyn.output.report.data_checks import data_check_records
from biodyn.output.report.uncertainty import uncertainty_record
from biodyn.output.report.user_files import clean, user_file_records
from biodyn.processing.signals.smoothing import SMOOTHING
from biodyn.rigid_body.multibody import Multibody

# 2: lists the files that were written with it; `verdict` and `verdict_checks` instead of `status`, in today's words
# (checks/old_words.py).
RECORD_VERSION = 2
_PACKAGES = ("biodyn", "numpy", "scipy", "numba", "ezc3d", "pandas", "matplotlib")


def run_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return everything worth knowing of a run beside the numbers, as JSON-ready values (NaN becomes null).

    `verdict`: pass, warn, fail or not_assessed, with the checks and findings that decided it in `verdict_checks`.
    """
    if analysis.verdict is None:
        analysis = judge(analysis)
    verdict = analysis.verdict
    assert verdict is not None
    recording, static, model, fit = analysis.recording, analysis.static, analysis.model, analysis.fit
    record = {
        "record_version": RECORD_VERSION,
        "verdict": verdict.status,
        "verdict_checks": [asdict(cause) for cause in verdict.causes],
        "versions": _versions(),
        "input": {
            "file": recording.path.name,
            "path": str(recording.path),
            "sha256": recording.sha256,
            "first_frame": recording.first_frame,
            "frames": recording.markers.frame_count,
            "rate_hz": recording.markers.rate_hz,
            "duration_s": recording.markers.frame_count / recording.markers.rate_hz,
        },
        "static": {
            "file": static.path.name,
            "path": str(static.path),
            "sha256": static.sha256,
            "reason": static.reason,
            "frames": [static.first, static.last],
            "movement_m": static.movement_m,
        },
        "user_files": user_file_records(analysis.user_files),
        "settings": analysis.settings.model_dump(mode="json"),
        "smoothing": SMOOTHING.named(analysis.settings.signals.smoothing).words,
        "force_cutoff_hz": analysis.force_cutoff_hz,
        "subject": {
            "name": analysis.subject.name,
            "mass_kg": analysis.subject.mass_kg,
            "mass_source": analysis.subject.mass_source,
            "height_m": analysis.subject.height_m,
            "height_source": analysis.subject.height_source,
            "sex": analysis.subject.sex,
            "sex_source": analysis.subject.sex_source,
        },
        "world": {"R_WL": analysis.R_WL.tolist(), "reason": analysis.world_reason},
        "marker_set": {
            "name": analysis.mapping.name,
            "title": _marker_set_title(analysis),
            "understood": len(analysis.mapping.roles),
            "unknown": list(analysis.mapping.unknown),
            "scores": dict(analysis.mapping.scores),
            "fitted": list(fit.labels),
        },
        "model": {
            "skeleton": model.skeleton.name,
            "title": model.skeleton.title,
            "degrees_of_freedom": int(model.multibody.nv),
            "coordinates": [coordinate.name for coordinate in model.coordinates],
            "locked_coordinates": list(model.locked),
            "carried_segments": list(model.locked_segments),
            "mass_kg": float(model.multibody.total_mass_kg),
            "citations": _citations(analysis),
        },
        "fit": {
            "frames_solved": int(np.count_nonzero(fit.solved)),
            "frames": len(fit.solved),
            "median_iterations": float(np.median(fit.iterations)) if len(fit.iterations) else None,
        },
        "gaps": _gaps(analysis),
        "plates": [
            {
                "number": plate.number,
                "corners_W_m": plate.corners.tolist(),
                "notes": [d.message for d in plate.diagnostics],
                "zero": None if plate.zero is None else asdict(plate.zero),
                "saturated_s": [list(stretch) for stretch in plate.saturated_s],
            }
            for plate in analysis.plates
        ],
        "contacts": [
            {
                "plate": c.plate,
                "side": c.side,
                "start_s": c.start_s,
                "end_s": c.end_s,
                "decision": c.decision,
                "reason": c.reason,
                "evidence": dict(c.evidence),
            }
            for c in analysis.contacts
        ],
        "measured_share": {
            SIDE_NAMES[side]: float(np.mean(analysis.reaction.measured[side]))
            for side in SIDES
            if side in analysis.reaction.measured
        },
        "residual_limits": asdict(residual_limits(analysis)),
        "checks": [check.as_dict() for check in verdict.checks],
        "data_checks": data_check_records(analysis),
        "proof": consistency_record(analysis),
        "uncertainty": uncertainty_record(analysis),
        "diagnostics": [diagnostic.as_dict() for diagnostic in analysis.diagnostics],
        "timings_s": {name: round(float(seconds), 4) for name, seconds in analysis.timings.items()},
    }
    return json_ready(record)


def result_arrays(analysis: TrialAnalysis) -> dict[str, np.ndarray]:
    """Return the arrays of `result.npz`: motion, torques, wrenches and the multibody tree, enough to replay.

    Frames first, SI, conventions of the program: q = [base x y z, quaternion w x y z, coordinates], v = [base twist in
    body axes, rates], foot wrenches [moment; force] about the world origin on the bodies `foot_wrench_bodies`.
    """
    motion, dynamics, reaction = analysis.fit.motion, analysis.dynamics, analysis.reaction
    sides = [side for side in SIDES if side in reaction.wrench]
    arrays = {
        "time_s": analysis.time_s,
        "q": motion.q,
        "v": motion.v,
        "vdot": motion.vdot,
        "tau": dynamics.tau,
        "torque_valid": dynamics.torque_valid,
        "residual_valid": dynamics.residual_valid,
        "foot_wrenches": dynamics.foot_wrenches,
        "foot_wrench_bodies": np.asarray(dynamics.foot_wrench_links),
        "sides": np.array(sides),
        "measured": np.stack([reaction.measured[side] for side in sides]),
        "on_floor": np.stack([reaction.on_floor[side] for side in sides]),
        "coordinates": np.array([c.name for c in analysis.model.coordinates]),
        "coordinate_q": np.array([c.q_index for c in analysis.model.coordinates], dtype=np.int64),
        "coordinate_v": np.array([c.v_index for c in analysis.model.coordinates], dtype=np.int64),
        "plate_numbers": np.array([plate.number for plate in analysis.plates], dtype=np.int64),
        "plate_corners_W": np.array([plate.corners for plate in analysis.plates]).reshape(-1, 4, 3),
        "contact_soles_W": contact_foot_outlines(analysis),
        "R_WL": analysis.R_WL,
    }
    return arrays | multibody_arrays(analysis.model.multibody)


def multibody_arrays(multibody: Multibody) -> dict[str, np.ndarray]:
    """The tree of bodies as arrays, parents first: joint placements, axes and inertias (see `rigid_body.Body`)."""
    bodies = multibody.bodies
    return {
        "body_names": np.array(multibody.body_names),
        "body_parents": multibody.parents,
        "body_joint_kinds": np.array([body.joint.kind for body in bodies]),
        "body_joint_axes": np.array(
            [body.joint.axis if body.joint.axis is not None else (np.nan,) * 3 for body in bodies]
        ),
        "body_R_PJ": np.stack([body.R_PJ for body in bodies]),
        "body_p_PJ": np.stack([body.p_PJ for body in bodies]),
        "body_mass_kg": np.array([body.mass_kg for body in bodies]),
        "body_com_m": np.stack([body.com_m for body in bodies]),
        "body_inertia_com": np.stack([body.inertia_com for body in bodies]),
        "gravity_W": np.array(multibody.gravity_W),
    }


def contact_foot_outlines(analysis: TrialAnalysis) -> np.ndarray:
    """Outlines (contacts, 2, K, 3) m in World of the right and left sole at the middle of every contact."""
    soles = [analysis.points.sole[side] for side in SIDES]
    last = len(analysis.time_s) - 1
    rate_hz = analysis.recording.markers.rate_hz
    rows = [min(max(round(0.5 * (c.start_s + c.end_s) * rate_hz), 0), last) for c in analysis.contacts]
    return np.stack([sole[rows] for sole in soles], axis=1) if rows else np.empty((0, 2, 1, 3))


def json_ready(value: Any) -> Any:
    """Return nested values as plain JSON types; NaN and infinities become None."""
    if isinstance(value, Mapping):
        return {printable(str(key)): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    if isinstance(value, np.ndarray):
        return json_ready(value.tolist())
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value if value is None else printable(str(value), keep="\n\t")


@cache
def _versions() -> dict[str, str]:
    versions = {name: _installed(name) for name in _PACKAGES}
    return versions | {"python": platform.python_version(), "platform": f"{sys.platform} {platform.machine()}"}


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed as a package"


def _citations(analysis: TrialAnalysis) -> dict[str, dict[str, str]]:
    """Title and citation of the library's entries that were used."""
    chosen = analysis.settings.model
    entries = {
        "skeleton": {"title": analysis.model.skeleton.title, "citation": analysis.model.skeleton.citation},
        "anthropometry": load_entry("anthropometry", chosen.anthropometry),
        "hip_centre": hip_regression(chosen.hip_centre),
    }
    named = {kind: getattr(chosen, kind) for kind in entries}
    copies = {entry["path"]: entry for entry in user_file_records(analysis.user_files)}
    return {
        kind: _own_citation(entry, copies.get(clean(str(own_path(named[kind]))))) for kind, entry in entries.items()
    }


def _marker_set_title(analysis: TrialAnalysis) -> str:
    title, file = analysis.mapping.title, own_file(analysis.settings.model.marker_set)
    return title if not file or file in title else f"{title} (own table {file})"


def _own_citation(entry: Mapping[str, Any], own: Mapping[str, str] | None) -> dict[str, str]:
    """Title and citation of an entry; of a user's own file the file, and what it says of itself."""
    title, citation = str(entry["title"]), str(entry["citation"])
    if own is None:
        return {"title": title, "citation": citation}
    source = f"; it names as its source: {citation}" if citation else ""
    return {
        "title": f"{title} (own table {own['name']})",
        "citation": f"Own table {own['name']} (sha256 {own['sha256'][:12]}, copy in {own['copy']}){source}",
    }


def _gaps(analysis: TrialAnalysis) -> dict[str, Any]:
    rate_hz = analysis.recording.markers.rate_hz
    counts = dict.fromkeys(("spline", "rigid", "left"), 0)
    longest = dict.fromkeys(counts, 0.0)
    for gap in analysis.gaps:
        counts[gap.method] += 1
        longest[gap.method] = max(longest[gap.method], (gap.last - gap.first + 1) / rate_hz)
    return {"count": counts, "longest_s": longest}
