"""What `run.json` says of the files, the subject and the marker set."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from biodyn.analysis import TrialAnalysis
from biodyn.model.from_library.user_tables import own_file
from biodyn.processing.calibration.standing import SOURCE_WORDS


def input_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """The walk's file: name, path, hash, frames that were measured (the file's own number of the first, and how many of the
    file's from one to the next), their rate and the length."""
    recording, markers = analysis.recording, analysis.recording.markers
    return {
        "file": recording.path.name,
        "path": str(recording.path),
        "sha256": recording.sha256,
        "also_read": [{"file": path.name, "path": str(path), "sha256": digest} for path, digest in recording.also_read],
        "first_frame": recording.first_frame,
        "frame_step": recording.frame_step,
        "frames": markers.frame_count,
        "rate_hz": markers.rate_hz,
        "duration_s": markers.frame_count / markers.rate_hz,
    }


def static_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """What the model was scaled with: its file, what it is, why it was taken, the frames that were averaged."""
    static = analysis.static
    return {
        "file": static.path.name,
        "path": str(static.path),
        "sha256": static.sha256,
        "reason": static.reason,
        "source": static.source,
        "from": SOURCE_WORDS[static.source],
        "frames": [static.first, static.last],
        "movement_m": static.movement_m,
    }


def subject_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Who walked: mass, height, sex, age and leg length with their sources."""
    return asdict(analysis.subject)


def world_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """How World lies in the laboratory, and why."""
    return {"R_WL": analysis.R_WL.tolist(), "reason": analysis.world_reason}


def activity_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """What the person does, what it was told from, and where the steps lead."""
    activity = analysis.activity
    return {
        "kind": activity.kind,
        "reason": activity.reason,
        "direction": activity.direction,
        "gait_cycles": activity.steps,
        "values": dict(activity.values),
    }


def marker_set_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """The recognised marker set, what was not understood, and what was fitted."""
    mapping = analysis.mapping
    file = own_file(analysis.settings.model.marker_set)
    own = f" (own table {file})" if file and file not in mapping.title else ""
    return {
        "name": mapping.name,
        "title": f"{mapping.title}{own}",
        "understood": len(mapping.roles),
        "unknown": list(mapping.unknown),
        "scores": dict(mapping.scores),
        "fitted": list(analysis.fit.labels),
    }
