"""Replay a result by forward dynamics with its torques, and compare with the recorded motion."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.output.store.folder import REPLAY_FOLDER, REPLAY_RECORD, read_raw_record, update_folder
from biodyn.output.store.record import changed_file_notes, to_json_values
from biodyn.output.store.result_reader import StoredResult, read_view
from biodyn.output.store.result_writer import Progress, add_files, result_arrays
from biodyn.output.tables.csv import write_csv
from biodyn.output.tables.optional_tables import (
    replay_drift_table,
    replay_feedback_table,
)
from biodyn.processing.dynamics.actuated_motion import ActuatedMotion, actuated_motion_from_arrays
from biodyn.trial.bodies.opensim_result import model_motion
from biodyn.trial.result import TrialResult
from biodyn.verification.replay import OpenLoopReplay, ReplayOptions, TrackedReplay, replay_trial


@dataclass(frozen=True)
class ReplayResult:
    """A replayed trial.

    Attributes:
        actuated: motion and forces. coordinates: indices in q and in v by name. options: options of the replay.
        walk: open-loop replay by kind of torques (recorded, recomputed).
        tracked: replay with feedback, one part per interval without gaps.
    """

    actuated: ActuatedMotion
    coordinates: Mapping[str, tuple[int, int]]
    options: ReplayOptions
    walk: Mapping[str, OpenLoopReplay]
    tracked: tuple[TrackedReplay, ...]

    def tables(self) -> dict[str, Any]:
        """Return the tables of all replays (pandas) by file name."""
        names = {at_v: name for name, (_, at_v) in self.coordinates.items()}
        return {
            "replay_drift": replay_drift_table(self.walk.values(), names),
            "replay_feedback": replay_feedback_table(
                self.tracked, self.actuated.time_s, self.actuated.q, self.coordinates
            ),
        }

    def figures(self) -> dict[str, Any]:
        """Return the descriptions of the figures by file name."""
        from biodyn.output.figures.trial.quality import drift_figure, feedback_figure

        cases = {f"{name.capitalize()} torques": loop for name, loop in self.walk.items()}
        return {
            "drift": drift_figure(cases, self.actuated.rate_hz, self.options.angle_deg),
            "feedback": feedback_figure(self.tables()["replay_feedback"]),
        }

    @property
    def record(self) -> dict[str, Any]:
        """Return the values of `replay.json`."""
        return to_json_values(
            {
                "settings": asdict(self.options),
                "residual": "applied as an external wrench on the root, in world axes, about the world origin",
                "open_loop": {
                    f"walk_{name}": {
                        "largest_window_s_all_within": loop.prediction_horizon_s,
                        "largest_window_s_half_within": loop.median_horizon_s,
                        "doubling_time_s": loop.doubling_s,
                        "windows": len(loop.deviation.starts),
                    }
                    for name, loop in self.walk.items()
                },
                "tracked": tracking_record(self.tracked),
                "text": self.summary(),
            }
        )

    def summary(self) -> list[str]:
        """Return sentences that summarise the replay."""
        s = self.options
        tolerance = f"{s.angle_deg:g}° and {100 * s.position_m:g} cm"
        lines = []
        for name, loop in self.walk.items():
            lines.append(
                f"Open-loop, {name} torques: prediction horizon {loop.prediction_horizon_s:.2f} s (all of "
                f"{len(loop.deviation.starts)} windows within {tolerance}), {loop.median_horizon_s:.2f} s for half of them"
                + (f"; a small error doubles in {1000 * loop.doubling_s:.0f} ms." if loop.doubling_s > 0 else ".")
            )
        held = tracking_record(self.tracked)
        if math.isfinite(held["joint_error_deg"]):
            lines.append(
                f"Tracked over the whole trial: joints within {held['joint_error_deg']:.2g}° with feedback torques up to "
                f"{held['feedback_peak_Nm']:.2g} Nm, recorded torques up to {held['recorded_peak_Nm']:.0f} Nm, and up to "
                f"{held['base_feedback_peak_N']:.2g} N and {held['base_feedback_peak_Nm']:.2g} Nm in addition to the residual."
            )
        else:
            lines.append("Tracked: with feedback the body did not follow the recorded motion.")
        return lines

    def save(self, folder: str | Path, progress: Progress | None = None) -> Path:
        """Write tables, figures and `replay.json` into `folder`/replay; returns that folder.

        An earlier replay is replaced; ResultError if a file that biodyn did not write has one of the names.
        """
        tables, figures, target = self.tables(), self.figures(), Path(folder)
        files = [*(f"{name}.csv" for name in tables), *(f"{name}.png" for name in figures), REPLAY_RECORD]
        names = [f"{REPLAY_FOLDER}/{name}" for name in files]
        target.mkdir(parents=True, exist_ok=True)
        with update_folder(target) if read_raw_record(target) is None else add_files(target, names) as place:
            self._write_files(place / REPLAY_FOLDER, tables, figures, progress)
        return target / REPLAY_FOLDER

    def _write_files(
        self, target: Path, tables: Mapping[str, Any], figures: Mapping[str, Any], progress: Progress | None
    ) -> None:
        target.mkdir()
        for name, table in tables.items():
            write_csv(table, target / f"{name}.csv", 6)
        if progress is not None:
            progress("drawing the replay")
        from biodyn.output.figures.png import render_png

        for name, figure in figures.items():
            (target / f"{name}.png").write_bytes(render_png(figure))
        text = json.dumps(self.record, indent=2, allow_nan=False) + "\n"
        (target / REPLAY_RECORD).write_text(text, encoding="utf-8")


def replay(
    source: TrialResult | StoredResult | str | Path,
    options: ReplayOptions | None = None,
    progress: Progress | None = None,
) -> ReplayResult:
    """Integrate forward dynamics with the torques and ground wrenches of a result.

    Parameters:
        source: the result of `run_trial` or `load`, or a result folder.
        options: integrator, windows and tolerances.
        progress: called with the name of each step as it begins.

    Raises ResultError if the folder is not a result or nothing can be replayed.
    """
    if isinstance(source, TrialResult):
        arrays = result_arrays(source.analysis)
        imported = source.analysis.imported
        model_file = None if imported is None else imported.model_file
    else:
        view = source.view if isinstance(source, StoredResult) else read_view(Path(source))
        arrays = dict(view.arrays)
        model_file = view.model_file
    options = options or ReplayOptions()
    actuated = actuated_motion_from_arrays(arrays)
    coordinates: Mapping[str, tuple[int, int]] = _coordinate_indices(arrays, "", "") | _coordinate_indices(
        arrays, "assumed_", " (assumed)"
    )
    if model_file is not None:
        actuated, coordinates = model_motion(arrays, actuated, model_file)
    walk, tracked = replay_trial(actuated, options, progress or (lambda name: None))
    return ReplayResult(actuated, coordinates, options, walk, tracked)


def _coordinate_indices(arrays: Mapping[str, np.ndarray], kind: str, mark: str) -> dict[str, tuple[int, int]]:
    """Return the indices in q and v of the measured or assumed coordinates, by name."""
    names, at_q, at_v = (arrays[f"{kind}{key}"] for key in ("coordinates", "coordinate_q", "coordinate_v"))
    return {f"{name}{mark}": (int(q), int(v)) for name, q, v in zip(names, at_q, at_v, strict=True)}


def changed_file_sentences(folder: str | Path) -> list[str]:
    """Return a sentence for every file of the user that changed after the result in `folder` was written."""
    changes = changed_file_notes(read_view(Path(folder)).record, Path(folder))
    return [f"{note.message} {note.hint}" for note in changes]


def tracking_record(parts: Sequence[TrackedReplay]) -> dict[str, Any]:
    """Return the largest errors of a tracked replay and its feedback torques; infinite if the motion was lost."""
    feedback = _replace_nan_by_infinity(np.concatenate([part.feedback for part in parts]))
    recorded = np.concatenate([part.recorded for part in parts])

    def largest_deviation(name: str) -> float:
        return float(max(np.max(_replace_nan_by_infinity(getattr(part.deviation, name))) for part in parts))

    return {
        "stretches": [list(part.frames) for part in parts],
        "joint_error_deg": math.degrees(largest_deviation("joint_rad")),
        "position_error_m": largest_deviation("position_m"),
        "orientation_error_deg": math.degrees(largest_deviation("orientation_rad")),
        "feedback_peak_Nm": float(np.max(np.abs(feedback[:, 6:]))),
        "feedback_rms_Nm": float(np.sqrt(np.mean(feedback[:, 6:] ** 2))),
        "base_feedback_peak_Nm": float(np.max(np.linalg.norm(feedback[:, :3], axis=1))),
        "base_feedback_peak_N": float(np.max(np.linalg.norm(feedback[:, 3:6], axis=1))),
        "recorded_peak_Nm": float(np.abs(recorded).max()),
        "recorded_rms_Nm": float(np.sqrt(np.mean(recorded[:, 6:] ** 2))),
    }


def _replace_nan_by_infinity(values: np.ndarray) -> np.ndarray:
    """Return the values with infinity in place of NaN, which marks a failed replay."""
    return np.where(np.isnan(values), np.inf, values)
