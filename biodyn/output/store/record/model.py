"""What `run.json` says of the scaled skeleton, its sources, and the fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.library.tables import load_entry
from biodyn.model.body_model import SubjectModel
from biodyn.model.from_library.hip_centre import hip_regression
from biodyn.model.from_library.user_tables import own_path
from biodyn.output.store.user_files import clean, user_file_records
from biodyn.processing.calibration.subject_fit.result import CentreShift


def model_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """The skeleton: degrees of freedom, what was locked or carried, mass, and the sources of its tables."""
    model = analysis.model
    return {
        "skeleton": model.skeleton.name,
        "title": model.skeleton.title,
        "degrees_of_freedom": int(model.multibody.nv),
        "coordinates": [coordinate.name for coordinate in model.coordinates],
        "locked_coordinates": list(model.locked),
        "assumed_coordinates": [coordinate.name for coordinate in model.assumed],
        "carried_segments": list(model.locked_segments),
        "mass_kg": float(model.multibody.total_mass_kg),
        **({} if analysis.imported is None else {"variables": _variables(model)}),
        "citations": _citations(analysis),
    }


def _variables(model: SubjectModel) -> dict[str, dict[str, Any]]:
    """Of every coordinate of an imported model what it is over the gait cycle, its side, and the sign that makes it that."""
    return {c.name: {"variable": c.plain, "side": c.side, "sign": c.sign} for c in model.coordinates}


def fit_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """How many frames were solved, and how fast."""
    fit = analysis.fit
    return {
        "frames_solved": int(np.count_nonzero(fit.solved)),
        "frames": len(fit.solved),
        "median_iterations": float(np.median(fit.iterations)) if len(fit.iterations) else None,
    }


def subject_fit_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """What the walk changed of the static trial's model, mm and degrees, with standard deviations; null without a fit."""
    fit = analysis.subject_fit
    if fit is None:
        return None

    def centre(shift: CentreShift) -> dict[str, Any]:
        return {
            "segment": shift.segment,
            "shift_mm": (1e3 * shift.shift_m).tolist(),
            "sd_mm": (1e3 * shift.sd_m).tolist(),
            "prior_sd_mm": (1e3 * shift.prior_sd_m).tolist(),
        }

    return {
        "trials": len(fit.trials),
        "files": [
            {
                "name": one.name,
                "sha256": one.sha256,
                "use": one.use,
                "frames": one.frames,
                "marker_rms_before_mm": 1e3 * one.rms_before_m,
                "marker_rms_after_mm": 1e3 * one.rms_after_m,
            }
            for one in fit.trials
        ],
        "functional": [
            {
                "file": joint.trial,
                "segment": joint.segment,
                "method": joint.method,
                "range_deg": [float(np.rad2deg(value)) for value in joint.range_rad],
                "residual_mm": 1e3 * joint.residual_m,
                "off_mm": 1e3 * joint.off_m,
                "off_deg": None if joint.off_rad is None else float(np.rad2deg(joint.off_rad)),
            }
            for joint in fit.functional
        ],
        "frames": fit.frames,
        "marker_rms_before_mm": 1e3 * fit.rms_before_m,
        "marker_rms_after_mm": 1e3 * fit.rms_after_m,
        "joint_centres": [centre(shift) for shift in fit.centres],
        "postures": [centre(shift) for shift in fit.postures],
        "axes": [
            {
                "segment": turn.segment,
                "turn_deg": float(np.rad2deg(turn.turn_rad)),
                "sd_deg": float(np.rad2deg(turn.sd_rad)),
                "prior_sd_deg": float(np.rad2deg(turn.prior_sd_rad)),
            }
            for turn in fit.turns
        ],
        "markers": [
            {
                "label": marker.label,
                "segment": marker.segment,
                "shift_mm": (1e3 * marker.shift_m).tolist(),
                "off_mm": (1e3 * marker.off_m).tolist(),
                "prior_sd_mm": 1e3 * marker.prior_sd_m,
                "error_sd_mm": 1e3 * marker.error_m,
                "rms_before_mm": 1e3 * marker.rms_before_m,
                "rms_after_mm": 1e3 * marker.rms_after_m,
            }
            for marker in fit.markers
        ],
    }


def _citations(analysis: TrialAnalysis) -> dict[str, dict[str, str]]:
    """Title and citation of the library's entries that were used; an imported model uses none."""
    if analysis.imported is not None:
        return {}
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
