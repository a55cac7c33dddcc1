"""Where the markers are on the standing subject: of a static trial, of a quiet part of the walk, or of the walk itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.library.tables import for_each_side
from biodyn.model.from_library.assembled_pose import assembled_pose, stands_upright
from biodyn.model.from_library.estimated_offsets import estimated_offsets
from biodyn.model.from_library.motion_frames import evenly, points_of, usable_frames, with_height
from biodyn.model.from_library.scaling import ScalingOptions
from biodyn.model.from_library.skeleton import SkeletonRecipe, foot_bodies
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.calibration.carried import with_carried
from biodyn.processing.calibration.standing import (
    SOURCE_WORDS,
    CalibrationSource,
    Standing,
    flat_frames,
    quiet_standing,
)
from biodyn.recording import Markers
from biodyn.trial.files import TrialFiles
from biodyn.trial.quiet_parts import is_quiet_somewhere
from biodyn.uncertainty.magnitudes import Magnitudes

#: Joint offsets of the laboratory's software that say where a joint lies beside its wand.
WAND_OFFSETS = ("thigh_rotation_{s}", "shank_rotation_{s}", "ankle_abduction_{s}")
# Enough to see a stride.
_FRAMES = 60
_HINT = "Name a file in which the subject stands with --static, frames in which he or she stands with --static-frames."


@dataclass(frozen=True)
class Calibration:
    """What the skeleton is scaled with, and what told it.

    Attributes:
        source: what it rests on.
        standing: the standing person, seen or assembled.
        joint_offsets_rad: by name, how far the wands sit off their joints' planes, where that is known.
        is_seen: the standing person was seen, not assembled.
    """

    source: CalibrationSource
    standing: Standing
    joint_offsets_rad: Mapping[str, float]
    is_seen: bool = True


def calibrate(
    files: TrialFiles,
    static: Markers,
    walk: Markers,
    skeleton: SkeletonRecipe,
    mapping: MarkerMapping,
    options: ScalingOptions,
) -> Calibration:
    """Return what the skeleton is scaled with: a static trial where there is one, else what the walk's own file tells.

    Parameters: `static` in World; `walk`: markers of the walk in World, gaps filled, smoothed.
    Raises StaticTrialError where neither tells enough.
    """
    rows = files.standing_rows
    if files.source == "static trial":
        return Calibration("static trial", with_carried(quiet_standing(static, rows), walk, mapping), {})
    offsets = stored_offsets(options.measures)
    quiet = _quiet_part(static, rows, skeleton, mapping, options)
    if quiet is not None:
        source: CalibrationSource = "stored offsets" if offsets else "quiet part"
        return Calibration(source, quiet, offsets)
    source = "stored offsets" if offsets else "walk"
    seen = points_of(walk.labels, walk.positions[evenly(usable_frames(walk.positions), _FRAMES)])
    options = with_height(skeleton, mapping, seen, replace(options, joint_offsets_rad=offsets))
    offsets = estimated_offsets(skeleton, mapping, seen, options)
    standing = _assembled(walk, skeleton, mapping, replace(options, joint_offsets_rad=offsets))
    return Calibration(source, standing, offsets, is_seen=False)


def standing_points(files: TrialFiles, static: Markers) -> Mapping[str, FloatArray]:
    """Markers (3,) m in World of the person as he or she stands, by label; none where nobody stands still."""
    rows = files.standing_rows
    if files.source != "static trial" and rows is None and not is_quiet_somewhere(static):
        return {}
    return quiet_standing(static, rows).points


def stored_offsets(measures: Mapping[str, float]) -> dict[str, float]:
    """The offsets of the wands, rad, among stored measures."""
    names = [name for pattern in WAND_OFFSETS for _, name in for_each_side(pattern)]
    return {name: measures[name] for name in names if name in measures}


def _quiet_part(
    markers: Markers,
    rows: tuple[int, int] | None,
    skeleton: SkeletonRecipe,
    mapping: MarkerMapping,
    options: ScalingOptions,
) -> Standing | None:
    """The part of a walk in which the subject stands, None where he or she does not; frames that were named are taken as told."""
    if rows is not None:
        return quiet_standing(markers, rows)
    if not is_quiet_somewhere(markers):
        return None
    standing = quiet_standing(markers)
    return standing if stands_upright(skeleton, mapping, standing.points, options) else None


def _assembled(walk: Markers, skeleton: SkeletonRecipe, mapping: MarkerMapping, options: ScalingOptions) -> Standing:
    flat = {foot: _flat(walk, mapping, foot) for foot in foot_bodies(skeleton)}
    pose = assembled_pose(skeleton, mapping, walk.labels, walk.positions, flat, options)
    return Standing(pose.points, 0, walk.frame_count - 1, pose.spread_m, ())


def _flat(walk: Markers, mapping: MarkerMapping, foot: str) -> BoolArray:
    labels = [role.label for role in mapping.roles if role.body == foot and role.label in walk.labels]
    if not labels:
        return np.zeros(walk.frame_count, dtype=bool)
    return flat_frames(walk.positions[:, [walk.index(label) for label in labels]], walk.rate_hz)


def calibration_note(calibrated: Calibration, magnitudes: Magnitudes) -> Diagnostic | None:
    """The one warning of a model that rests on no static trial: what stood for it, and how much less is known of the joints."""
    source = calibrated.source
    if source == "static trial":
        return None
    added = magnitudes.calibration_m.get(source, {})
    largest = max(added.values(), default=0.0)
    standing = calibrated.standing
    frames = standing.last - standing.first + 1
    return Diagnostic(
        "calibrated-without-static",
        "warning",
        f"No static trial is used: the model was calibrated from {SOURCE_WORDS[source]} ({frames} frames), which makes "
        f"joint centres up to {1000 * largest:.0f} mm less certain along each axis; the bands hold it.",
        value=largest,
        unit="m",
        frames=(standing.first, standing.last),
        hint=_HINT,
    )
