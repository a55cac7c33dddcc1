"""Arrays of `result.npz`, sufficient to replay a trial."""

from __future__ import annotations

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDES, without_side
from biodyn.model.body_model import SubjectModel
from biodyn.model.skeleton import BodyDefinition
from biodyn.processing.dynamics.imported import ModelMotion
from biodyn.rigid_body.multibody import Multibody


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
        "measured": np.array([reaction.balanced(side) for side in sides]).reshape(len(sides), frames),
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
        fitted = signals.markers if analysis.estimate is None else signals.unfiltered
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
        "segment_joints": np.array([_plain_joint(definition) for definition in definitions], dtype=np.str_),
        "segment_sides": np.array([definition.side for definition in definitions], dtype=np.str_),
        "segment_links": np.array([frame.link for frame in frames], dtype=np.int64),
        "segment_R_LB": np.stack([frame.R_LB for frame in frames]),
        "segment_p_LB": np.stack([frame.p_LB for frame in frames]),
    }


def _plain_joint(definition: BodyDefinition) -> str:
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
