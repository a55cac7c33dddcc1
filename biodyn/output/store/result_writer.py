"""Write the result of a trial with a manifest of its files in `run.json`."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDES, without_side
from biodyn.errors import ResultError
from biodyn.model.body_model import SubjectModel
from biodyn.model.skeleton import BodyDefinition
from biodyn.output.figures.trial import TrialView
from biodyn.output.store.folder import (
    ARRAYS_NAME,
    DIGEST_ENTRY,
    DIGESTS,
    EXPORT_RECORD,
    FIGURES_FOLDER,
    FILES_ENTRY,
    MARK,
    MODEL_NAME,
    MOTION_NAME,
    PACKED_SUFFIX,
    PAPER_NAME,
    RECORD_NAME,
    REPORT_NAME,
    TABLES_FOLDER,
    TIMINGS_ENTRY,
    foreign_files,
    iterate_files,
    manifest_entries,
    packed_table_path,
    path_list_text,
    read_raw_record,
    record_digest,
    replace_file,
    table_path,
    trial_file_test,
    update_folder,
    write_folder,
)
from biodyn.output.store.record import run_record, write_user_files
from biodyn.output.tables import trial_tables
from biodyn.output.tables.csv import DECIMALS, write_csv
from biodyn.output.tables.parquet_tables import to_parquet
from biodyn.output.tables.registry import TABLES
from biodyn.output.tables.table_access import table_used_once
from biodyn.processing.dynamics.actuated_motion import split_derived_arrays
from biodyn.processing.dynamics.opensim_inverse_dynamics import ModelMotion
from biodyn.rigid_body.multibody import Multibody

if TYPE_CHECKING:
    from biodyn.output.report.pdf_report import Letterhead


def result_arrays(analysis: TrialAnalysis) -> dict[str, np.ndarray]:
    """Return the arrays of `result.npz`: motion, torques, wrenches and multibody tree.

    Frames first, SI: q = [base x y z, quaternion w x y z, coordinates], v = [base twist in
    body axes, rates], foot wrenches [moment; force] about the world origin on the bodies `foot_wrench_bodies`.
    """
    motion, dynamics, reaction = analysis.fit.motion, analysis.dynamics, analysis.reaction
    sides = [side for side in SIDES if side in reaction.wrench]
    frames = len(analysis.time_s)
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
        "sides": np.array(sides, dtype=np.str_),
        "measured": np.array([reaction.balanced_frames(side) for side in sides]).reshape(len(sides), frames),
        "on_floor": np.array([reaction.on_floor[side] for side in sides]).reshape(len(sides), frames),
        "coordinates": np.array([c.name for c in analysis.model.coordinates]),
        "coordinate_q": np.array([c.q_index for c in analysis.model.coordinates], dtype=np.int64),
        "coordinate_v": np.array([c.v_index for c in analysis.model.coordinates], dtype=np.int64),
        "assumed_coordinates": np.array([c.name for c in analysis.model.assumed], dtype=np.str_),
        "assumed_coordinate_q": np.array([c.q_index for c in analysis.model.assumed], dtype=np.int64),
        "assumed_coordinate_v": np.array([c.v_index for c in analysis.model.assumed], dtype=np.int64),
        "plate_numbers": np.array([plate.number for plate in analysis.plates], dtype=np.int64),
        "plate_corners_W": np.array([plate.corners for plate in analysis.plates]).reshape(-1, 4, 3),
        "plate_outlined": np.array([plate.outlined for plate in analysis.plates], dtype=bool),
        "contact_soles_W": contact_foot_outlines(analysis),
        "R_WL": analysis.R_WL,
    }
    model = analysis.model
    if analysis.imported is not None:
        arrays |= imported_arrays(analysis.imported.motion)
    if analysis.uncertainty is not None and analysis.uncertainty.places is not None:
        places = analysis.uncertainty.places
        arrays |= {"place_sd_frames": places.frames, "place_sd_m": places.sd_m.astype(np.float32)}
    return (
        arrays
        | marker_arrays(analysis)
        | coordinate_arrays(analysis)
        | multibody_arrays(model.multibody)
        | segment_arrays(model)
    )


def imported_arrays(motion: ModelMotion) -> dict[str, np.ndarray]:
    """Return motion and torques (T, n) of the coordinates of an imported model, and the rotation from its ground to World."""
    return {
        "own_coordinates": np.array(motion.names, dtype=np.str_),
        "own_rotational": np.array(motion.rotational, dtype=np.bool_),
        "own_q": motion.q,
        "own_v": motion.v,
        "own_vdot": motion.vdot,
        "own_tau": motion.tau,
        "own_R_WG": motion.R_WG,
    }


def marker_arrays(analysis: TrialAnalysis) -> dict[str, np.ndarray]:
    """Return labels (M,), link, position on the link (M, 3) m and weight of the fitted markers, and their measured positions.

    `markers_W` (T, M, 3) m in single precision (1e-7 m), NaN if missing; absent if only torques were requested.
    """
    links, positions_on_link, weights = analysis.model.marker_arrays()
    labels = [marker.label for marker in analysis.model.markers]
    arrays: dict[str, np.ndarray] = {
        "marker_labels": np.array(labels, dtype=np.str_),
        "marker_links": links,
        "marker_places": positions_on_link,
        "marker_weights": weights,
    }
    if analysis.propagation is not None:
        signals = analysis.propagation.signals
        fitted = signals.markers if analysis.estimate is None else signals.unfiltered_markers
        positions = np.full((fitted.frame_count, len(labels), 3), np.nan, dtype=np.float32)
        index = {label: k for k, label in enumerate(fitted.labels)}
        for k, label in enumerate(labels):
            if label in index:
                positions[:, k] = fitted.positions[:, index[label]]
        arrays["markers_W"] = positions
    return arrays


def coordinate_arrays(analysis: TrialAnalysis) -> dict[str, np.ndarray]:
    """Return joint and range (rad) of each coordinate, in the order of `coordinates` and `assumed_coordinates`."""
    arrays: dict[str, np.ndarray] = {}
    for kind, group in (("coordinate", analysis.model.coordinates), ("assumed_coordinate", analysis.model.assumed)):
        arrays[f"{kind}_joints"] = np.array([c.joint for c in group], dtype=np.str_)
        arrays[f"{kind}_range_rad"] = np.array([c.range_rad for c in group], dtype=np.float64).reshape(-1, 2)
    return arrays


def multibody_arrays(multibody: Multibody) -> dict[str, np.ndarray]:
    """Return the tree of bodies, parents first: joint placements, axes and inertias (see `rigid_body.Body`)."""
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


def segment_arrays(model: SubjectModel) -> dict[str, np.ndarray]:
    """Return the anatomical segments: joint to the parent, and axes and origin in their body (X_LB).

    Segments fixed to the body of their parent are omitted.
    """
    names = model.multibody.body_names
    definitions = [
        body.definition
        for body in model.bodies
        if names[model.frames[body.definition.name].link] == body.definition.name
    ]
    frames = [model.frames[definition.name] for definition in definitions]
    return {
        "segment_names": np.array([definition.name for definition in definitions]),
        "segment_joints": np.array([_joint_name_without_side(definition) for definition in definitions], dtype=np.str_),
        "segment_sides": np.array([definition.side for definition in definitions], dtype=np.str_),
        "segment_links": np.array([frame.link for frame in frames], dtype=np.int64),
        "segment_R_LB": np.stack([frame.R_LB for frame in frames]),
        "segment_p_LB": np.stack([frame.p_LB for frame in frames]),
    }


def _joint_name_without_side(definition: BodyDefinition) -> str:
    """Return the name of the joint to the parent without its side, "" for the root."""
    if not definition.parent:
        return ""
    return without_side(definition.joint, definition.side)


def contact_foot_outlines(analysis: TrialAnalysis) -> np.ndarray:
    """Return outlines (contacts, 2, K, 3) m in World of both soles at the middle of each contact; NaN for an unknown foot."""
    outlines = analysis.points.sole
    unknown = np.full_like(next(iter(outlines.values()), np.empty((len(analysis.time_s), 4, 3))), np.nan)
    soles = [outlines.get(side, unknown) for side in SIDES]
    last = len(analysis.time_s) - 1
    rate_hz = analysis.recording.markers.rate_hz
    rows = [min(max(round(0.5 * (c.start_s + c.end_s) * rate_hz), 0), last) for c in analysis.contacts]
    return np.stack([sole[rows] for sole in soles], axis=1) if rows else np.empty((0, 2, 1, 3))


Progress = Callable[[str], None]


def write_view(view: TrialView, folder: Path, pack: bool = False) -> None:
    """Write run.json, tables, arrays and copies of the user's files into a folder; call `write_manifest` after the last file.

    `pack`: large tables as Parquet and arrays in reduced precision, for folders of thousands of trials.
    """
    (folder / TABLES_FOLDER).mkdir()
    for name in view.tables:
        if not pack or name not in TABLES or TABLES[name].when_packed:
            _write_table(name, table_used_once(view.tables, name), folder, pack)
    _write_record_and_arrays(view, folder, pack)


def _write_table(name: str, table: pd.DataFrame, folder: Path, pack: bool, min_packed_cells: int = 1000) -> None:
    """Write a table as CSV, or as Parquet if it is large enough to save space."""
    known = TABLES.get(name)
    decimals, coarser = (DECIMALS, {}) if known is None else (known.decimals, dict(known.coarser))
    if pack and table.size >= min_packed_cells:
        (folder / packed_table_path(name)).write_bytes(to_parquet(table, decimals, coarser))
    else:
        write_csv(table, folder / table_path(name), decimals, coarser)


def _write_record_and_arrays(view: TrialView, folder: Path, pack: bool) -> None:
    """Write run.json, the arrays and copies of the user's files."""
    (folder / RECORD_NAME).write_text(_json_text(view.record, pack), encoding="utf-8")
    if pack:
        arrays = split_derived_arrays(view.arrays)
        with zipfile.ZipFile(folder / ARRAYS_NAME, "w") as archive:
            for name, values in arrays.items():
                is_source = "tau_known" in arrays and name in ("q", "foot_wrenches")  # of the omitted arrays
                rounded = values if is_source else round_array(values, len(view.arrays["time_s"]))
                stream = io.BytesIO()
                # Fortran order: samples of one curve are more similar than values of one frame, and compress better
                np.lib.format.write_array(stream, np.asfortranarray(rounded), allow_pickle=False)
                # bzip2 needs half the space for markers; level 1 takes a quarter of the time of level 6, for 2 % more space
                method = zipfile.ZIP_BZIP2 if values.dtype == np.float32 else zipfile.ZIP_DEFLATED
                entry = zipfile.ZipInfo(f"{name}.npy")  # without the time, so that equal results have equal bytes
                archive.writestr(entry, stream.getbuffer(), method, compresslevel=1)
    else:
        # object arrays do not occur; NumPy 1.26 would store the argument `allow_pickle` as an additional array
        unpacked: dict[str, Any] = dict(view.arrays)
        np.savez(folder / ARRAYS_NAME, **unpacked)
    write_user_files(view.user_files, folder)
    for name, content in ((MODEL_NAME, view.model_file), (MOTION_NAME, view.motion_file)):
        if content is not None:
            (folder / name).write_bytes(content)


def round_array(values: np.ndarray, frames: int) -> np.ndarray:
    """Return an array, if it is a time series (`frames` first, two axes or more) rounded to 36 mantissa bits (float64), or to
    multiples of 2^-14 (float32).

    The errors are a relative 7e-12, and 30 µm. With 2e-9 the motion in an open-loop replay would deviate by 4e-4
    from that of the unrounded result within 0.1 s.
    """
    if values.ndim < 2 or len(values) != frames or values.dtype.kind != "f":
        return values
    if values.dtype == np.float32:
        unit = np.float32(2.0**-14)
        return np.rint(values / unit) * unit
    mantissa, exponent = np.frexp(values)
    scale = 2.0**37
    return np.ldexp(np.rint(mantissa * scale) / scale, exponent)


def _json_text(record: Mapping[str, Any], pack: bool) -> str:
    """Return a record as JSON text: indented, or on one line if packed."""
    if pack:
        return json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n"
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def write_report(
    view: TrialView, folder: Path, *, figures: bool, report: bool, progress: Progress | None = None
) -> None:
    """Write the figures and the report into an existing folder."""
    if figures:
        if progress is not None:
            progress("drawing figures")
        (folder / FIGURES_FOLDER).mkdir(exist_ok=True)
        for name, png in view.figures_png().items():
            (folder / FIGURES_FOLDER / f"{name}.png").write_bytes(png)
    if report:
        if progress is not None:
            progress("writing the report")
        from biodyn.output.report.trial_page import render_trial_report

        (folder / REPORT_NAME).write_text(render_trial_report(view, view.figures_svg()), encoding="utf-8")


def write_pdf_report(view: TrialView, folder: Path, head: Letterhead) -> None:
    """Write the report as PDF with this letterhead into an existing folder."""
    from biodyn.output.report.pdf_report import trial_pdf

    (folder / PAPER_NAME).write_bytes(trial_pdf(view, head))


def write_manifest(folder: Path, timings: Mapping[str, float] | None = None, pack: bool = False) -> None:
    """Write the manifest of a complete folder into its record, before the folder is renamed.

    `timings`: seconds of writing, added to the seconds in the record. `pack`: see `write_view`.
    """
    files = [_manifest_entry(folder, path) for path in iterate_files(folder) if path not in (RECORD_NAME, MARK)]
    _write_manifest_entries(folder, files, timings, pack)


@contextmanager
def add_files(folder: Path, paths: Iterable[str]) -> Iterator[Path]:
    """Yield a temporary folder for files of these names, which are moved into an existing result at the end.

    After an error the result is unchanged. The manifest lists the files before they are moved. Raises ResultError if a file of
    the user has one of the names.
    """
    paths = tuple(dict.fromkeys(paths))
    foreign = set(foreign_files(folder, trial_file_test(folder)))
    parents = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    taken = sorted(foreign & {*paths, *parents})
    if taken:
        raise ResultError(
            f"'{folder}' contains files that biodyn did not write ({path_list_text(taken)}), which are not replaced.",
            "Move them to another folder, and try again.",
        )
    listed = manifest_entries(read_raw_record(folder) or {}) or {}
    others = [entry for path, entry in listed.items() if path not in paths]
    pack = any(path.endswith(PACKED_SUFFIX) for path in listed)
    with update_folder(folder) as place:
        yield place
        written = [path for path in paths if (place / path).is_file()]
        _write_manifest_entries(folder, [*others, *({"path": path} for path in written)], pack=pack)
    _write_manifest_entries(folder, [*others, *(_manifest_entry(folder, path) for path in written)], pack=pack)


def _write_manifest_entries(
    folder: Path, entries: Sequence[Mapping[str, Any]], timings: Mapping[str, float] | None = None, pack: bool = False
) -> None:
    record = read_raw_record(folder)
    if record is None:
        raise ResultError(f"'{folder}' has no record of biodyn ('{RECORD_NAME}').", "Run the trial again.")
    content = {name: value for name, value in record.items() if name not in DIGESTS}
    content |= {FILES_ENTRY: sorted(entries, key=lambda entry: str(entry["path"]))}
    if timings:
        content[TIMINGS_ENTRY] = {**content[TIMINGS_ENTRY], **{name: round(s, 4) for name, s in timings.items()}}
    content[DIGEST_ENTRY] = record_digest(content)
    replace_file(folder / RECORD_NAME, _json_text(content, pack).encode())


def _manifest_entry(folder: Path, path: str) -> dict[str, Any]:
    data = (folder / path).read_bytes()
    return {"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def write_export(folder: Path, files: Mapping[str, bytes], record: Mapping[str, Any], force: bool = False) -> None:
    """Write files by name, and `export.json` with their description and digests, into a new folder.

    An earlier export is replaced only with `force`, and only if no file was added or changed. Raises ResultError otherwise.
    """
    listed = [
        {"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in sorted(files.items())
    ]
    text = json.dumps({**record, FILES_ENTRY: listed}, indent=2, allow_nan=False) + "\n"
    with write_folder(folder, force, EXPORT_RECORD) as place:
        for name, content in files.items():
            (place / name).write_bytes(content)
        (place / EXPORT_RECORD).write_text(text, encoding="utf-8")


def trial_view(analysis: TrialAnalysis, tables: Mapping[str, pd.DataFrame] | None = None) -> TrialView:
    """Return the values of an analysis that are stored in a result folder; `tables`: tables that were already computed."""
    made = trial_tables(analysis) if tables is None else tables
    imported = analysis.imported
    files = (None, None) if imported is None else (imported.model_file, imported.motion_file)
    return TrialView(run_record(analysis), made, result_arrays(analysis), None, analysis.user_files, *files)
