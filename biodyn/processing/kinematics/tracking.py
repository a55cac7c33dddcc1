"""Follow the skeleton through the walk: fit, attach the remaining markers, exclude outliers, fit again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.points import lengths
from biodyn.model.body_model import PLACED_WHILE_STANDING, SubjectModel
from biodyn.model.body_model import with_markers as with_attached
from biodyn.model.changes import with_assumed
from biodyn.processing.kinematics.attach import attach_by_movement
from biodyn.processing.kinematics.fit import Fit
from biodyn.processing.kinematics.methods import METHODS
from biodyn.processing.kinematics.outliers import outlier_frames, relocate_soft_markers
from biodyn.processing.kinematics.parameters import InverseKinematicsSettings
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.prepare import TrialSignals, with_markers
from biodyn.recording import Markers
from biodyn.rigid_body.marker_fit import UNDETERMINED

# Weight of a marker that only its movement ties to a segment.
_ATTACHED_WEIGHT = 0.3
# Wrong markers hide behind worse ones; a few rounds bring them all out.
_MOST_ROUNDS = 6


def fit_with(model: SubjectModel, signals: TrialSignals, settings: InverseKinematicsSettings) -> Fit:
    """Fit the skeleton once, with the method of the settings."""
    return METHODS.named(settings.method)(model, signals, settings)


def track(
    model: SubjectModel, signals: TrialSignals, settings: InverseKinematicsSettings, outlier_limit_m: float
) -> tuple[Fit, TrialSignals, list[Diagnostic]]:
    """Fit the skeleton to a walk; returns the fit (with its model), the signals as used, and what was noticed.

    A marker farther off its place than `outlier_limit_m` may be an outlier. Outliers are judged on the markers as recorded,
    where a jump has not yet been spread by the filter; without them gaps are filled and markers smoothed anew, until none
    is left.
    """
    if settings.unseen_segments == "carried":
        model = with_assumed(model)
    fit = fit_with(model, signals, settings)
    settled, notes = _settled(fit, signals)
    notes = [*_idle_weights(settings.marker_weights, signals.markers), *notes]
    if settled is not model:
        fit = fit_with(settled, signals, settings)
    outliers: dict[str, dict[int, float]] = {}
    for _ in range(_MOST_ROUNDS):
        error = _recorded_error(fit, signals.recorded)
        outlier = outlier_frames(error, outlier_limit_m)
        if not outlier.any():
            break
        positions = signals.recorded.positions.copy()
        for column in np.flatnonzero(outlier.any(axis=0)):
            label, frames = fit.labels[column], np.flatnonzero(outlier[:, column])
            positions[frames, signals.recorded.labels.index(label)] = np.nan
            outliers.setdefault(label, {}).update(zip(frames.tolist(), error[frames, column].tolist(), strict=True))
        signals = with_markers(signals, replace(signals.recorded, positions=positions))
        fit = fit_with(fit.model, signals, settings)
    longest = signals.settings.rigid_gap_s * signals.recorded.rate_hz
    notes += [
        _outlier_note(label, np.array(sorted(frames)), max(frames.values()), outlier_limit_m, longest)
        for label, frames in outliers.items()
    ]
    notes += [*_root_open(fit, signals), *_assumed_motion(fit.model)]
    return fit, signals, notes


def _recorded_error(fit: Fit, recorded: Markers) -> FloatArray:
    """Distance (T, M) m of the markers as recorded from their place on the fitted skeleton, NaN where unseen."""
    columns = [recorded.labels.index(label) for label in fit.labels]
    links, p_LM, _ = fit.model.marker_arrays()
    place = fit.link_p_W[:, links] + np.einsum("tmij,mj->tmi", fit.link_R_W[:, links], p_LM)
    return lengths(recorded.positions[:, columns] - place)


def _settled(fit: Fit, signals: TrialSignals) -> tuple[SubjectModel, list[Diagnostic]]:
    """Put soft markers where the walk has them, attach what the static trial did not show, check the guessed ones."""
    markers, mapping = signals.markers, signals.mapping
    attached = {marker.label: marker for marker in fit.model.markers}
    guessed = {label for label, marker in attached.items() if marker.source == PLACED_WHILE_STANDING}
    unattached: dict[str, str | None] = {}
    for label in markers.labels:
        role = mapping.role(label)
        if label in guessed:
            unattached[label] = None
        elif label not in {*attached, *fit.model.computed_points} and (role is None or role.weight > 0.0):
            unattached[label] = role.body if role else None
    model = relocate_soft_markers(fit, markers, mapping)
    if not unattached:
        return model, []
    extra, notes = attach_by_movement(fit, markers, unattached, _ATTACHED_WEIGHT)
    agreed = {
        marker.label for marker in extra if marker.label in guessed and attached[marker.label].body == marker.body
    }
    extra = tuple(marker for marker in extra if marker.label not in agreed)
    # A guess that the movement does not bear out gives way, to another segment or to none.
    kept = tuple(marker for marker in model.markers if marker.label not in guessed - agreed)
    notes = [note for note in notes if note.about not in agreed]
    return with_attached(replace(model, markers=kept), extra), notes


def _idle_weights(weights: Mapping[str, float], markers: Markers) -> list[Diagnostic]:
    """Weights for markers that are not there; no error, since one settings file may serve many trials."""
    unknown = [label for label in weights if label not in markers.labels]
    if not unknown:
        return []
    return [
        Diagnostic(
            "marker-weights",
            "warning",
            f"The settings weigh {', '.join(unknown)}, which the walk does not have.",
            hint=f"Its markers are {', '.join(markers.labels)}.",
        )
    ]


def _root_open(fit: Fit, signals: TrialSignals) -> list[Diagnostic]:
    """Frames in which the visible markers leave the root open: what was bridged, and what was left out."""
    is_open, rate_hz, limit_s = fit.status == UNDETERMINED, signals.recorded.rate_hz, signals.settings.spline_gap_s
    root, notes = fit.model.skeleton.root.name, []
    for rows, is_left in ((is_open & fit.solved, False), (is_open & ~fit.solved, True)):
        stretches = finite_stretches(rows)
        if not stretches:
            continue
        first, last = stretches[0][0], stretches[-1][1] - 1
        longest_s = max(stop - start for start, stop in stretches) / rate_hz
        what = (
            "no motion and no torques there"
            if is_left
            else f"its motion goes on by a spline there (up to {limit_s:g} s)"
        )
        notes.append(
            Diagnostic(
                "root-undetermined",
                "warning" if is_left else "info",
                f"In {int(rows.sum())} frames ({first}-{last}, the longest stretch {longest_s:.2f} s) the markers that are seen "
                f"do not tell how the {root} lies: {what}.",
                value=longest_s,
                limit=limit_s,
                unit="s",
                frames=(first, last),
                hint=f"Fill the gaps of the markers of {root}, trunk and thighs in the capture software, or cut the trial.",
                about=root,
            )
        )
    return notes


def _assumed_motion(model: SubjectModel) -> list[Diagnostic]:
    """Which segments move as people carry them, since no marker shows them."""
    bodies = list(dict.fromkeys(coordinate.body for coordinate in model.assumed))
    if not bodies:
        return []
    share = (
        sum(body.inertia.mass for body in model.bodies if body.definition.name in model.locked_segments) / model.mass_kg
    )
    return [
        Diagnostic(
            "assumed-motion",
            "info",
            f"The motion of {', '.join(bodies)} is assumed, no marker shows it: trunk and head upright and facing along the "
            "walk, arms swinging against the legs. Leg torques of a filtered motion do not depend on it, those of an estimate "
            "little; the pelvis residual and the centre of mass do.",
            value=share,
            unit="of body mass",
            hint='Markers there measure it. inverse_kinematics.unseen_segments = "fixed" fixes them to their parent.',
        )
    ]


def _frames_words(frames: IntArray) -> str:
    return f"{len(frames)} frames ({frames[0]}-{frames[-1]})" if len(frames) > 1 else f"frame {frames[0]}"


def _outlier_note(label: str, frames: IntArray, worst_m: float, limit_m: float, longest_frames: float) -> Diagnostic:
    """A marker off its place; no more than an information where it was excluded for `longest_frames` at most in all."""
    return Diagnostic(
        "marker-strays",
        "warning" if len(frames) > longest_frames else "info",
        f"Marker {label} is up to {1000 * worst_m:.0f} mm off its segment in {_frames_words(frames)}: "
        "excluded from the fit there.",
        value=worst_m,
        limit=limit_m,
        unit="m",
        frames=(int(frames[0]), int(frames[-1])),
        hint="Look for swapped labels, a marker that was moved after the static trial, or a ghost marker.",
        about=label,
    )
