"""The record of a run (`run.json`): which parts it has, one function a part. NaN becomes null."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.body import STEP
from biodyn.checks.facts import residual_limits
from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.diagnostics import Diagnostic, Verdict
from biodyn.errors import InputFileError, printable
from biodyn.library.load import UserFile, load_table
from biodyn.library.tables import load_entry
from biodyn.model.body_model import SubjectModel
from biodyn.model.from_library.hip_centre import hip_regression
from biodyn.model.from_library.user_tables import own_file, own_path
from biodyn.output.store.folder import INPUTS_FOLDER, RECORD_VERSION
from biodyn.processing.calibration.standing import SOURCE_WORDS
from biodyn.processing.calibration.subject_fit.result import CentreShift
from biodyn.processing.signals.filtering import rms
from biodyn.uncertainty.magnitudes import load_magnitudes
from biodyn.variables.norm_choice import Walker
from biodyn.variables.norm_choice import norms_record as record_of
from biodyn.version import VERSION

_UNSAFE = re.compile(r"[^\w.\-]+")
_LONGEST_NAME = 80


def write_user_files(files: Sequence[UserFile], folder: Path) -> None:
    """Write the copies into an existing result folder; without files nothing is written."""
    if not files:
        return
    (folder / INPUTS_FOLDER).mkdir(exist_ok=True)
    for file, name in zip(files, copy_names(files), strict=True):
        (folder / INPUTS_FOLDER / name).write_bytes(file.data)


def user_file_records(files: Sequence[UserFile]) -> list[dict[str, str]]:
    """Return the values of `user_files` in run.json: role, name and path of the original, its hash, where its copy is."""
    return [
        {
            "role": file.role,
            "name": clean(file.name),
            "path": clean(str(file.path)),
            "sha256": file.sha256,
            "copy": f"{INPUTS_FOLDER}/{name}",
        }
        for file, name in zip(files, copy_names(files), strict=True)
    ]


def copy_names(files: Sequence[UserFile]) -> list[str]:
    """Names of the copies: the files' own, a number before what two files would share."""
    names: list[str] = []
    for file in files:
        name = _UNSAFE.sub("_", file.name).lstrip(".")[-_LONGEST_NAME:] or "table.toml"
        number = 2
        while (wanted := name if number == 2 else f"{number - 1}_{name}").casefold() in {n.casefold() for n in names}:
            number += 1
        names.append(wanted)
    return names


def clean(text: str) -> str:
    """A name of the file system as text that can be written anywhere: bytes that are no text are spelt out."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def require_unchanged(files: Sequence[UserFile]) -> None:
    """Raise InputFileError if a file is not what was read: the analysis may have used two versions of it."""
    for file in files:
        if _sha256(file.path) != file.sha256:
            raise InputFileError(
                f"The {file.role} '{file.path}' was changed while it was used.", "Run again when it is complete."
            )


def changed_since(record: Mapping[str, Any], folder: Path) -> list[Diagnostic]:
    """Return a note for every user file of a result whose original, or whose copy in `folder`, is not what was used."""
    notes = []
    for entry in record.get("user_files", ()):
        copy = folder / PurePosixPath(entry["copy"])
        if _sha256(copy) != entry["sha256"]:
            problem = "is missing" if not copy.is_file() else "was changed"
            text = f"The copy {entry['copy']} of the {entry['role']} that this result was made with {problem}."
            notes.append(
                Diagnostic("user-file-changed", "warning", text, hint="The numbers of the result are not affected.")
            )
        now = _sha256(Path(entry["path"]))
        if now != entry["sha256"]:
            problem = "is gone" if now is None else "was changed since"
            text = f"The {entry['role']} '{entry['path']}' {problem}: this result was made with what {entry['copy']} keeps."
            notes.append(Diagnostic("user-file-changed", "info", text, hint="To use the new one, run the trial again."))
    return notes


def _sha256(path: Path) -> str | None:
    """Hash of a file, None where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return None


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


# -- Files, subject, marker set -------------------------------------------------------------------------------------


def input_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """The walk's file: name, path, hash, the file's number of the first frame, the count of frames, their rate and the length."""
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


# -- Model and fit --------------------------------------------------------------------------------------------------


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


# -- Signals, plates, contacts --------------------------------------------------------------------------------------


def gaps_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """How many gaps were filled by each method or left, and the longest of each, s."""
    rate_hz = analysis.recording.markers.rate_hz
    counts = dict.fromkeys(("spline", "rigid", "left"), 0)
    longest = dict.fromkeys(counts, 0.0)
    for gap in analysis.gaps:
        counts[gap.method] += 1
        longest[gap.method] = max(longest[gap.method], (gap.last - gap.first + 1) / rate_hz)
    return {"count": counts, "longest_s": longest}


def automatic_method_record(analysis: TrialAnalysis) -> dict[str, str] | None:
    """Which method was chosen and why, where the settings left it to the trial."""
    chosen = analysis.method
    return {"method": chosen.name, "reason": chosen.reason} if chosen.reason else None


def automatic_cutoff_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """What the cut-off was chosen for and why, where the settings left it to the trial."""
    chosen = None if analysis.propagation is None else analysis.propagation.signals.automatic
    return None if chosen is None else {**asdict(chosen), "reason": chosen.reason}


def plates_record(analysis: TrialAnalysis) -> list[dict[str, Any]]:
    """Every plate: corners in World (of its edges only where `outlined`), its side where the file says one, its zero, when it
    was saturated, what was noticed."""
    return [
        {
            "number": plate.number,
            "corners_W_m": plate.corners.tolist(),
            "outlined": plate.outlined,
            "side": plate.side,
            "notes": [d.message for d in plate.diagnostics],
            "zero": None if plate.zero is None else asdict(plate.zero),
            "saturated_s": [list(stretch) for stretch in plate.saturated_s],
            "unrecorded_s": [list(stretch) for stretch in plate.unrecorded_s],
        }
        for plate in analysis.plates
    ]


def contacts_record(analysis: TrialAnalysis) -> list[dict[str, Any]]:
    """Every loading of a plate, whose foot it was and why."""
    return [
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
    ]


def measured_share(analysis: TrialAnalysis) -> dict[str, float]:
    """By side the share of the frames whose ground contact was measured."""
    measured = analysis.reaction.measured
    return {SIDE_NAMES[side]: float(np.mean(measured[side])) for side in SIDES if side in measured}


# -- Verdict and checks ---------------------------------------------------------------------------------------------


def verdict_causes(analysis: TrialAnalysis) -> list[dict[str, Any]]:
    """The checks and findings that decided the verdict, in the order in which to look at them."""
    return [asdict(cause) for cause in verdict_of(analysis).to_look_at]


def check_records(analysis: TrialAnalysis) -> list[dict[str, Any]]:
    """Every check of the verdict."""
    return [check.as_dict() for check in verdict_of(analysis).checks]


def residual_limits_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """The limits of the residual that was judged, in N and Nm, and what they are made of."""
    return asdict(residual_limits(analysis.as_fitted))


def consistency_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Return what `run.json` keeps under "proof"; nothing where the analysis was not judged."""
    if analysis.consistency is None:
        return {}
    spent = analysis.timings.get(STEP, 0.0)
    own = sum(analysis.timings.values()) - spent
    return analysis.consistency.as_dict() | {"seconds": spent, "share_of_trial": spent / own if own else None}


def verdict_of(analysis: TrialAnalysis) -> Verdict:
    """The verdict of an analysis that was judged."""
    if analysis.verdict is None:
        raise ValueError("an analysis has no record before its verdict: see checks.judge")
    return analysis.verdict


# -- Estimate -------------------------------------------------------------------------------------------------------


def estimate_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """Return the account as plain values; None where the fitted motion stands.

    Residuals are RMS (unclosed: before the last step, which brings the motion in balance); per coordinate how far it was moved,
    by how much its torque changed (RMS), and the RMS of one standard deviation of the torque where bands were computed. Plates:
    by how much each stands beside its place, along the laboratory's axes, and reads too much; forces that are late count
    positive; `sd`: what is left of the uncertainty.
    """
    account = analysis.estimate
    if account is None:
        return None
    bands = analysis.uncertainty
    sd = np.full(len(account.coordinates), np.nan) if bands is None else rms(bands.total.T)
    return {
        "residual_raw": _residual(account.residual_before),
        "residual_unclosed": _residual(account.residual_unclosed),
        "residual_left": _residual(account.residual_after),
        "balance_sd": {"force_n": account.balance_sd[0], "moment_nm": account.balance_sd[1]},
        "force_cutoff_hz": account.force_cutoff_hz,
        "markers_moved_mm": {"rms": 1e3 * account.marker_rms_m, "largest": 1e3 * account.marker_max_m},
        "mass_change_kg": account.mass_change_kg,
        "mass_sd_kg": account.mass_sd_kg,
        "segment_masses": [
            {"segment": name, "change_percent": 100.0 * share, "sd_percent": 100.0 * account.segment_mass_sd[name]}
            for name, share in account.segment_mass_changes.items()
        ],
        "mass_centres": [
            {"segment": name, "shift_cm": (100.0 * shift).tolist(), "sd_cm": 100.0 * account.centre_sd_m[name]}
            for name, shift in account.centre_shifts_m.items()
        ],
        "constants_from_walks": account.walks,
        "plates": [
            {
                "plate": error.number,
                "shift_cm": dict(zip(account.plates.axes, (100.0 * error.shift_m).tolist(), strict=True)),
                "shift_sd_cm": dict(zip(account.plates.axes, (100.0 * error.shift_sd_m).tolist(), strict=True)),
                "gain_percent": 100.0 * error.gain,
                "gain_sd_percent": 100.0 * error.gain_sd,
            }
            for error in account.plates.errors
        ],
        "plates_expected": {
            "place_sd_cm": 100.0 * account.plates.expected.place_m,
            "gain_sd_percent": 100.0 * account.plates.expected.gain,
            "delay_sd_ms": 1e3 * account.plates.expected.delay_s,
        },
        "force_delay": {"delay_ms": 1e3 * account.plates.delay_s, "sd_ms": 1e3 * account.plates.delay_sd_s},
        "coordinates": {
            name: {
                "moved_rms_deg": float(np.rad2deg(account.moved_rms_rad[i])),
                "moved_max_deg": float(np.rad2deg(account.moved_max_rad[i])),
                "torque_change_rms_nm": float(account.torque_change[i]),
                "torque_sd_rms_nm": float(sd[i]),
            }
            for i, name in enumerate(account.coordinates)
        },
    }


def _residual(values: tuple[float, float]) -> dict[str, float]:
    return {"force_rms_n": values[0], "moment_rms_nm": values[1]}


# -- Uncertainty ----------------------------------------------------------------------------------------------------


def uncertainty_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """Return the summary as plain values; None if the bands were switched off.

    Per coordinate: rms over time of one standard deviation, together and by source (Nm), the largest, the peak torque,
    and the source with the largest rms.
    """
    found = analysis.uncertainty
    if found is None:
        return None
    chosen = analysis.settings.uncertainty
    magnitudes = load_magnitudes(chosen.magnitudes)
    coordinates = {}
    total = found.total
    for column, name in enumerate(found.coordinates):
        known = np.isfinite(total[:, column])
        if not known.any():
            continue
        by_source = {source: _rms(sd[known, column]) for source, sd in found.by_source.items()}
        coordinates[name] = {
            "peak_nm": float(np.abs(analysis.dynamics.torques[known, column]).max()),
            "sd_rms_nm": _rms(total[known, column]),
            "sd_largest_nm": float(total[known, column].max()),
            "by_source_rms_nm": by_source,
            "largest_source": max(by_source, key=lambda source: by_source[source]),
        }
    return {
        "sources": {name: str(load_table("uncertainty/magnitudes")[name]["title"]) for name in found.by_source},
        "scale": {str(name): float(factor) for name, factor in chosen.scale.items()},
        "marker_noise_mm": float(1e3 * np.median(found.noise_m)),
        **_attitudes(found.turn_noise_rad),
        "citations": _citations_uncertainty(magnitudes.citations, own_file(chosen.magnitudes)),
        "coordinates": coordinates,
    }


def _attitudes(turn_noise_rad: FloatArray | None) -> dict[str, float]:
    """Noise of measured attitudes; nothing of trials on markers."""
    return {} if turn_noise_rad is None else {"turn_noise_deg": float(np.rad2deg(np.median(turn_noise_rad)))}


def _citations_uncertainty(citations: Mapping[str, str], file: str) -> dict[str, str]:
    """By source; for a user's own file the file, and what it says of its source."""
    if not file:
        return dict(citations)
    return {name: f"own table {file}" + (f", after: {text}" if text else "") for name, text in citations.items()}


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))


# -- Norms ----------------------------------------------------------------------------------------------------------


def norms_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """Which norms are shown and why, with citation and licence; the walking speed by all measures."""
    return record_of(analysis.settings.report.norms, walker(analysis))


def walker(analysis: TrialAnalysis) -> Walker:
    """What the choice of norms depends on."""
    who = analysis.subject
    speeds = [parameters.speed_m_s for _, parameters in analysis.strides]
    known = [speed for speed in speeds if np.isfinite(speed)]
    speed = float(np.mean(known)) if known else float("nan")
    return Walker(who.age_years, who.height_m, who.leg_length_m, speed, analysis.activity.kind)


# -- All parts ------------------------------------------------------------------------------------------------------


_PACKAGES = ("numpy", "scipy", "numba", "pandas", "matplotlib")


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
    "verdict": lambda analysis: verdict_of(analysis).status,
    "verdict_checks": verdict_causes,
    "versions": lambda _: versions(),
    "input": input_record,
    "static": static_record,
    "user_files": lambda analysis: user_file_records(analysis.user_files),
    "settings": lambda analysis: analysis.settings.model_dump(mode="json"),
    "method": lambda analysis: analysis.method.name,
    "automatic_method": automatic_method_record,
    "smoothing": lambda analysis: analysis.method.words,
    "cutoff_hz": lambda analysis: analysis.cutoff_hz,
    "automatic_cutoff": automatic_cutoff_record,
    "force_cutoff_hz": lambda analysis: analysis.force_cutoff_hz,
    "subject": subject_record,
    "world": world_record,
    "activity": activity_record,
    "marker_set": marker_set_record,
    "model": model_record,
    "subject_fit": subject_fit_record,
    "fit": fit_record,
    "estimate": estimate_record,
    "gaps": gaps_record,
    "plates": plates_record,
    "contacts": contacts_record,
    "measured_share": measured_share,
    "residual_limits": residual_limits_record,
    "checks": check_records,
    "data_checks": lambda analysis: [check.as_data_dict() for check in analysis.data_checks],
    "proof": consistency_record,
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
