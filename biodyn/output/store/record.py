"""Build the record of an analysis (`run.json`) with one function per part, and copy the user's input files. NaN becomes null."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.body import STEP
from biodyn.checks.trial_facts import residual_limits
from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.diagnostics import Diagnostic, Verdict
from biodyn.errors import InputFileError, printable_text
from biodyn.library.tables import load_entry
from biodyn.library.toml_files import UserFile, load_table
from biodyn.model.from_library.hip_centre import hip_regression
from biodyn.model.from_library.user_tables import user_table_name, user_table_path
from biodyn.output.store.folder import INPUTS_FOLDER, RECORD_VERSION
from biodyn.processing.calibration.standing_posture import SOURCE_WORDS
from biodyn.processing.calibration.subject_fit.fit_result import CentreShift
from biodyn.processing.signals.filtering import finite_rms
from biodyn.uncertainty.propagation_inputs import load_magnitudes
from biodyn.variables.norms import NormCovariates, norms_record
from biodyn.version import VERSION


def write_user_files(files: Sequence[UserFile], folder: Path) -> None:
    """Write copies of the user's files into an existing result folder."""
    for file, name in zip(files, copy_names(files), strict=True):
        (folder / INPUTS_FOLDER).mkdir(exist_ok=True)
        (folder / INPUTS_FOLDER / name).write_bytes(file.data)


def user_file_records(files: Sequence[UserFile]) -> list[dict[str, str]]:
    """Return role, name, path and hash of each original file, and the path of its copy."""
    return [
        {
            "role": file.role,
            "name": valid_file_name(file.name),
            "path": valid_file_name(str(file.path)),
            "sha256": file.sha256,
            "copy": f"{INPUTS_FOLDER}/{name}",
        }
        for file, name in zip(files, copy_names(files), strict=True)
    ]


def copy_names(files: Sequence[UserFile], max_length: int = 80) -> list[str]:
    """Return the names of the copies of user files: the file names, with a number in front of duplicates."""
    names: list[str] = []
    for file in files:
        name = re.sub(r"[^\w.\-]+", "_", file.name).lstrip(".")[-max_length:] or "table.toml"
        taken, number, unique = {other.casefold() for other in names}, 1, name
        while unique.casefold() in taken:
            unique, number = f"{number}_{name}", number + 1
        names.append(unique)
    return names


def valid_file_name(text: str) -> str:
    """Return a file name as valid text; undecodable bytes become escape sequences."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def require_unchanged(files: Sequence[UserFile]) -> None:
    """Raise InputFileError if a file changed since it was read: the analysis may have used two versions of it."""
    for file in files:
        if _file_hash(file.path) != file.sha256:
            raise InputFileError(
                f"The {file.role} '{file.path}' was changed while it was used.", "Run again when it is complete."
            )


def changed_file_notes(record: Mapping[str, Any], folder: Path) -> list[Diagnostic]:
    """Return a note for every user file that changed after the analysis, and for every changed copy in `folder`."""
    notes = []
    for entry in record.get("user_files", ()):
        copy = folder / PurePosixPath(entry["copy"])
        if _file_hash(copy) != entry["sha256"]:
            problem = "was changed" if copy.is_file() else "is missing"
            text = f"The copy {entry['copy']} of the {entry['role']} used for this result {problem}."
            notes.append(
                Diagnostic("user-file-changed", "warning", text, hint="The numbers of the result are not affected.")
            )
        digest = _file_hash(Path(entry["path"]))
        if digest != entry["sha256"]:
            problem = "no longer exists" if digest is None else "was changed since"
            text = f"The {entry['role']} '{entry['path']}' {problem}: this result was computed with {entry['copy']}."
            notes.append(
                Diagnostic("user-file-changed", "info", text, hint="To use the new file, run the trial again.")
            )
    return notes


def _file_hash(path: Path) -> str | None:
    """Return the hash of a file, None if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):  # ValueError: invalid path
        return None


def to_json_values(value: Any) -> Any:
    """Return nested values as plain JSON types; NaN and infinities become None."""
    if isinstance(value, Mapping):
        return {printable_text(str(key)): to_json_values(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_values(item) for item in value]
    if isinstance(value, np.ndarray):
        return to_json_values(value.tolist())
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value if value is None else printable_text(str(value), keep="\n\t")


def _select_fields(value: object, names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names.split()}


# -- Files, subject, marker set -------------------------------------------------------------------------------------


def input_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return name, path and hash of the file of the walk, number of its first frame, frames, rate and duration."""
    recording, markers = analysis.recording, analysis.recording.markers
    return {
        "file": recording.path.name,
        "path": str(recording.path),
        "sha256": recording.sha256,
        "also_read": [{"file": path.name, "path": str(path), "sha256": digest} for path, digest in recording.also_read],
        "first_frame": recording.first_frame,
        "frames": markers.frame_count,
        "rate_hz": markers.rate_hz,
        "duration_s": markers.frame_count / markers.rate_hz,
    }


def static_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return file and kind of the calibration, the reason for its choice, and the averaged frames."""
    static = analysis.static
    return {
        "file": static.path.name,
        "path": str(static.path),
        **_select_fields(static, "sha256 reason source"),
        "from": SOURCE_WORDS[static.source],
        "frames": [static.first, static.last],
        "movement_m": static.movement_m,
    }


def activity_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return the activity of the trial, the reason for its classification, and the direction of the steps."""
    activity = analysis.activity
    return {
        **_select_fields(activity, "kind reason direction"),
        "gait_cycles": activity.steps,
        "values": dict(activity.values),
    }


def marker_set_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return the recognised marker set, the unknown labels, and the labels of the fitted markers."""
    mapping = analysis.mapping
    file = user_table_name(analysis.settings.model.marker_set)
    suffix = f" (own table {file})" if file and file not in mapping.title else ""
    return {
        "name": mapping.name,
        "title": f"{mapping.title}{suffix}",
        "understood": len(mapping.roles),
        "unknown": list(mapping.unknown),
        "scores": dict(mapping.scores),
        "fitted": list(analysis.fit.labels),
    }


# -- Model and fit --------------------------------------------------------------------------------------------------


def model_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return degrees of freedom, locked coordinates, segments without markers, mass, and sources of the tables.

    For an imported model also variable, side and sign of each coordinate.
    """
    model = analysis.model
    variables = {c.name: {"variable": c.gait_variable, "side": c.side, "sign": c.sign} for c in model.coordinates}
    return {
        "skeleton": model.skeleton.name,
        "title": model.skeleton.title,
        "degrees_of_freedom": int(model.multibody.nv),
        "coordinates": [coordinate.name for coordinate in model.coordinates],
        "locked_coordinates": list(model.locked),
        "assumed_coordinates": [coordinate.name for coordinate in model.assumed],
        "carried_segments": list(model.locked_segments),
        "mass_kg": float(model.multibody.total_mass_kg),
        **({} if analysis.imported is None else {"variables": variables}),
        "citations": _list_citations(analysis),
    }


def fit_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return the number of solved frames and the median number of iterations."""
    fit = analysis.fit
    return {
        "frames_solved": int(np.count_nonzero(fit.solved)),
        "frames": len(fit.solved),
        "median_iterations": float(np.median(fit.iterations)) if len(fit.iterations) else None,
    }


def subject_fit_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """Return the changes of the subject model by the fit, mm and degrees, with standard deviations; None without a fit."""
    fit = analysis.subject_fit
    if fit is None:
        return None

    def centre_entry(shift: CentreShift) -> dict[str, Any]:
        return {"segment": shift.segment, **_millimetre_entries(shift, "shift_m sd_m prior_sd_m")}

    return {
        "trials": len(fit.trials),
        "files": [
            {
                **_select_fields(trial, "name sha256 use frames"),
                **_millimetre_entries(trial, "rms_before_m rms_after_m", "marker_"),
            }
            for trial in fit.trials
        ],
        "functional": [
            {
                "file": joint.trial,
                **_select_fields(joint, "segment method"),
                "range_deg": np.rad2deg(joint.range_rad),
                **_millimetre_entries(joint, "residual_m off_m"),
                "off_deg": None if joint.off_rad is None else np.rad2deg(joint.off_rad),
            }
            for joint in fit.functional
        ],
        "frames": fit.frames,
        **_millimetre_entries(fit, "rms_before_m rms_after_m", "marker_"),
        "joint_centres": [centre_entry(shift) for shift in fit.centres],
        "postures": [centre_entry(shift) for shift in fit.postures],
        "axes": [
            {
                "segment": turn.segment,
                "turn_deg": np.rad2deg(turn.turn_rad),
                "sd_deg": np.rad2deg(turn.sd_rad),
                "prior_sd_deg": np.rad2deg(turn.prior_sd_rad),
            }
            for turn in fit.turns
        ],
        "markers": [
            {
                **_select_fields(marker, "label segment"),
                **_millimetre_entries(marker, "shift_m off_m prior_sd_m"),
                "error_sd_mm": 1e3 * marker.error_m,
                **_millimetre_entries(marker, "rms_before_m rms_after_m"),
            }
            for marker in fit.markers
        ],
    }


def _millimetre_entries(value: object, names: str, prefix: str = "") -> dict[str, Any]:
    """Convert attributes of an object from m to entries in mm."""
    return {f"{prefix}{name}m": 1e3 * getattr(value, name) for name in names.split()}


def _list_citations(analysis: TrialAnalysis) -> dict[str, dict[str, str]]:
    """Return title and citation of the library entries used, or of the user's own tables; none for an imported model."""
    if analysis.imported is not None:
        return {}
    chosen = analysis.settings.model
    entries: dict[str, Mapping[str, Any]] = {
        "skeleton": {"title": analysis.model.skeleton.title, "citation": analysis.model.skeleton.citation},
        "anthropometry": load_entry("anthropometry", chosen.anthropometry),
        "hip_centre": hip_regression(chosen.hip_centre),
    }
    copies = {entry["path"]: entry for entry in user_file_records(analysis.user_files)}
    citations = {}
    for kind, entry in entries.items():
        title, citation = str(entry["title"]), str(entry["citation"])
        copy = copies.get(valid_file_name(str(user_table_path(getattr(chosen, kind)))))
        if copy is not None:
            source = f"; source according to the table: {citation}" if citation else ""
            title = f"{title} (own table {copy['name']})"
            citation = f"Own table {copy['name']} (sha256 {copy['sha256'][:12]}, copy in {copy['copy']}){source}"
        citations[kind] = {"title": title, "citation": citation}
    return citations


# -- Signals, plates, contacts --------------------------------------------------------------------------------------


def gaps_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return number and longest duration (s) of the gaps filled by each method, and of those not filled."""
    rate_hz = analysis.recording.markers.rate_hz
    counts = dict.fromkeys(("spline", "rigid", "left"), 0)
    longest = dict.fromkeys(counts, 0.0)
    for gap in analysis.gaps:
        counts[gap.method] += 1
        longest[gap.method] = max(longest[gap.method], (gap.last - gap.first + 1) / rate_hz)
    return {"count": counts, "longest_s": longest}


def automatic_method_record(analysis: TrialAnalysis) -> dict[str, str] | None:
    """Return the smoothing method that was selected automatically, with the reason."""
    chosen = analysis.method
    return {"method": chosen.name, "reason": chosen.reason} if chosen.reason else None


def automatic_cutoff_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """Return the cut-off frequency that was selected automatically, with the reason."""
    chosen = None if analysis.propagation is None else analysis.propagation.signals.automatic
    return None if chosen is None else {**asdict(chosen), "reason": chosen.reason}


def plates_record(analysis: TrialAnalysis) -> list[dict[str, Any]]:
    """Return corners in World, side, zero offsets, saturated and unrecorded intervals, and notes of every plate.

    The corners are edges of the plate only if it is `outlined`.
    """
    return [
        {
            "number": plate.number,
            "corners_W_m": plate.corners,
            **_select_fields(plate, "outlined side"),
            "notes": [d.message for d in plate.diagnostics],
            "zero": None if plate.zero is None else asdict(plate.zero),
            **_select_fields(plate, "saturated_s unrecorded_s"),
        }
        for plate in analysis.plates
    ]


def plate_check_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """Return date, method and sizes of the calibration of the plates; None if the plates were not checked."""
    calibration = analysis.plate_calibration
    return None if calibration is None else calibration.record([plate.number for plate in analysis.plates])


def contacts_record(analysis: TrialAnalysis) -> list[dict[str, Any]]:
    """Return every contact with a plate, the decision on its foot, and the evidence."""
    return [
        _select_fields(contact, "plate side start_s end_s decision reason evidence") for contact in analysis.contacts
    ]


def measured_contact_fractions(analysis: TrialAnalysis) -> dict[str, float]:
    """Return the fraction of frames with known ground contact of each foot, by side."""
    measured = analysis.reaction.measured
    return {SIDE_NAMES[side]: float(np.mean(measured[side])) for side in SIDES if side in measured}


# -- Verdict and checks ---------------------------------------------------------------------------------------------


def consistency_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return the comparison with independent algorithms and its computing time; empty if the analysis was not checked."""
    if analysis.consistency is None:
        return {}
    seconds = analysis.timings.get(STEP, 0.0)
    others = sum(analysis.timings.values()) - seconds
    return analysis.consistency.as_dict() | {"seconds": seconds, "share_of_trial": seconds / others if others else None}


def require_verdict(analysis: TrialAnalysis) -> Verdict:
    """Return the verdict; ValueError if the analysis was not checked."""
    if analysis.verdict is None:
        raise ValueError("an analysis has no record before its verdict: see checks.verdict")
    return analysis.verdict


# -- Estimate -------------------------------------------------------------------------------------------------------


def estimate_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """Return the corrections of the estimate; None without an estimate.

    Residuals are RMS (unclosed: before the last step, which balances the motion). Per coordinate: RMS and largest
    correction, RMS change of the torque, and RMS of its standard deviation, if computed. Plates: suggested offset along the
    laboratory's axes and gain error with posterior standard deviations (`sd`), and the corrected part; positive delays mean
    late forces.
    """
    summary = analysis.estimate
    if summary is None:
        return None
    bands, plates = analysis.uncertainty, summary.plates
    torque_sd = np.full(len(summary.coordinates), np.nan) if bands is None else finite_rms(bands.total.T)
    return {
        "residual_raw": _residual_entries(summary.residual_before),
        "residual_unclosed": _residual_entries(summary.residual_unclosed),
        "residual_left": _residual_entries(summary.residual_after),
        "balance_sd": {"force_n": summary.balance_sd[0], "moment_nm": summary.balance_sd[1]},
        "force_cutoff_hz": summary.force_cutoff_hz,
        "markers_moved_mm": {"rms": 1e3 * summary.marker_rms_m, "largest": 1e3 * summary.marker_max_m},
        **_select_fields(summary, "mass_change_kg mass_sd_kg"),
        "segment_masses": [
            {"segment": name, "change_percent": 100.0 * share, "sd_percent": 100.0 * summary.segment_mass_sd[name]}
            for name, share in summary.segment_mass_changes.items()
        ],
        "mass_centres": [
            {"segment": name, "shift_cm": 100.0 * shift, "sd_cm": 100.0 * summary.centre_sd_m[name]}
            for name, shift in summary.centre_shifts_m.items()
        ],
        "constants_from_walks": summary.walks,
        "plates": [
            {
                "plate": error.number,
                "shift_cm": dict(zip(plates.axes, 100.0 * error.shift_m, strict=True)),
                "shift_sd_cm": dict(zip(plates.axes, 100.0 * error.shift_sd_m, strict=True)),
                "gain_percent": 100.0 * error.gain,
                "gain_sd_percent": 100.0 * error.gain_sd,
                "turn_deg": np.degrees(error.turn_rad),
                "turn_sd_deg": np.degrees(error.turn_sd_rad),
                "corrected_cm": dict(zip(plates.axes, 100.0 * error.corrected_m, strict=True)),
                "corrected_gain_percent": 100.0 * error.corrected_gain,
                "corrected_turn_deg": np.degrees(error.corrected_turn_rad),
            }
            for error in plates.errors
        ],
        "force_delay": {"delay_ms": 1e3 * plates.delay_s, "sd_ms": 1e3 * plates.delay_sd_s},
        "coordinates": {
            name: {
                "moved_rms_deg": np.rad2deg(summary.moved_rms_rad[i]),
                "moved_max_deg": np.rad2deg(summary.moved_max_rad[i]),
                "torque_change_rms_nm": summary.torque_change[i],
                "torque_sd_rms_nm": torque_sd[i],
            }
            for i, name in enumerate(summary.coordinates)
        },
    }


def _residual_entries(values: tuple[float, float]) -> dict[str, float]:
    return {"force_rms_n": values[0], "moment_rms_nm": values[1]}


# -- Uncertainty ----------------------------------------------------------------------------------------------------


def uncertainty_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """Return peak, RMS and largest standard deviation of every torque (Nm) and power (W), RMS by source; None if not computed."""
    bands = analysis.uncertainty
    if bands is None:
        return None
    chosen = analysis.settings.uncertainty
    coordinates = _band_entries(bands.coordinates, analysis.dynamics.torques, bands.total, bands.by_source, "nm")
    for entry in coordinates.values():
        by_source = entry["by_source_rms_nm"]
        entry["largest_source"] = max(by_source, key=lambda source: by_source[source])
    powers = {}
    if bands.joints:
        of_joints = np.stack([load.power for load in analysis.dynamics.joints], axis=1)
        powers = _band_entries(bands.joints, of_joints, bands.total_power, bands.power_by_source, "w")
    citations, file = load_magnitudes(chosen.magnitudes).citations, user_table_name(chosen.magnitudes)
    if file:
        citations = {
            name: f"own table {file}" + (f", after: {text}" if text else "") for name, text in citations.items()
        }
    turn_noise = bands.turn_noise_rad
    return {
        "sources": {name: str(load_table("uncertainty/magnitudes")[name]["title"]) for name in bands.by_source},
        "marker_noise_mm": 1e3 * np.median(bands.noise_m),
        **({} if turn_noise is None else {"turn_noise_deg": np.rad2deg(np.median(turn_noise))}),
        "citations": dict(citations),
        "coordinates": coordinates,
        "powers": powers,
    }


def _band_entries(
    names: Sequence[str], values: FloatArray, total: FloatArray, by_source: Mapping[str, FloatArray], unit: str
) -> dict[str, dict[str, Any]]:
    """Return peak, and RMS and largest standard deviation, of columns (T, N) by name, without columns that have no value."""
    entries = {}
    for column, name in enumerate(names):
        known = np.isfinite(total[:, column]) & np.isfinite(values[:, column])
        if known.any():
            entries[name] = {
                f"peak_{unit}": np.abs(values[known, column]).max(),
                f"sd_rms_{unit}": _root_mean_square(total[known, column]),
                f"sd_largest_{unit}": total[known, column].max(),
                f"by_source_rms_{unit}": {
                    source: _root_mean_square(sd[known, column]) for source, sd in by_source.items()
                },
            }
    return entries


def _root_mean_square(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))


# -- All parts ------------------------------------------------------------------------------------------------------


def norm_covariates(analysis: TrialAnalysis) -> NormCovariates:
    """Return the properties of the person and of the walk that determine the norms, such as age and speed."""
    subject = analysis.subject
    speeds = [parameters.speed_m_s for _, parameters in analysis.strides]
    known = [speed for speed in speeds if np.isfinite(speed)]
    speed = float(np.mean(known)) if known else float("nan")
    return NormCovariates(subject.age_years, subject.height_m, subject.leg_length_m, speed, analysis.activity.kind)


@cache
def program_versions() -> dict[str, str]:
    """Return the versions of this program, of its libraries and of Python, and the platform."""

    def installed_version(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return "not installed as a package"

    libraries = {name: installed_version(name) for name in ("numpy", "scipy", "numba", "pandas", "matplotlib")}
    platform_name = f"{sys.platform} {platform.machine()}"
    return {"biodyn": VERSION, **libraries, "python": platform.python_version(), "platform": platform_name}


#: Parts of the record in order, by name; each is made from an analysis that was checked.
PARTS: Mapping[str, Callable[[TrialAnalysis], Any]] = {
    "record_version": lambda _: RECORD_VERSION,
    "verdict": lambda analysis: require_verdict(analysis).status,
    "verdict_checks": lambda analysis: [cause.as_cause_dict() for cause in require_verdict(analysis).ordered_causes],
    "versions": lambda _: program_versions(),
    "input": input_record,
    "static": static_record,
    "user_files": lambda analysis: user_file_records(analysis.user_files),
    "settings": lambda analysis: analysis.settings.model_dump(mode="json"),
    "method": lambda analysis: analysis.method.name,
    "automatic_method": automatic_method_record,
    "smoothing": lambda analysis: analysis.method.description,
    "cutoff_hz": lambda analysis: analysis.cutoff_hz,
    "automatic_cutoff": automatic_cutoff_record,
    "force_cutoff_hz": lambda analysis: analysis.force_cutoff_hz,
    "subject": lambda analysis: asdict(analysis.subject),
    "world": lambda analysis: {"R_WL": analysis.R_WL, "reason": analysis.world_reason},
    "activity": activity_record,
    "marker_set": marker_set_record,
    "model": model_record,
    "subject_fit": subject_fit_record,
    "fit": fit_record,
    "estimate": estimate_record,
    "gaps": gaps_record,
    "plates": plates_record,
    "plate_check": plate_check_record,
    "contacts": contacts_record,
    "measured_share": measured_contact_fractions,
    "residual_limits": lambda analysis: asdict(residual_limits(analysis.before_estimate)),
    "checks": lambda analysis: [check.as_dict() for check in require_verdict(analysis).checks],
    "data_checks": lambda analysis: [check.as_data_dict() for check in analysis.data_checks],
    "proof": consistency_record,
    "uncertainty": uncertainty_record,
    "norms": lambda analysis: norms_record(analysis.settings.report.norms, norm_covariates(analysis)),
    "diagnostics": lambda analysis: [diagnostic.as_dict() for diagnostic in analysis.diagnostics],
    "timings_s": lambda analysis: {name: round(float(s), 4) for name, s in analysis.timings.items()},
}


def run_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return the content of `run.json`, ready for JSON (NaN becomes null).

    `verdict`: pass, warn, fail or not_assessed; `verdict_checks`: the checks and findings that determine it.
    """
    record = {name: to_json_values(part(analysis)) for name, part in PARTS.items()}
    if analysis.imported is None:
        return record
    imported = to_json_values(analysis.imported.record)
    return record | {
        name: {**record[name], **part} if isinstance(record.get(name), dict) else part
        for name, part in imported.items()
    }
