"""The motion that an analysis of markers found, as the poses of its segments: the other door to the same torques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.io.segment_poses import virtual_points
from biodyn.library.pose_systems import pose_systems
from biodyn.model.body_model import with_inertias
from biodyn.recording import SegmentPoses, StoredMotion
from biodyn.trial.stages import PreparedTrial, ScaledTrial
from biodyn.trial.steps import STEPS, Step, scale_skeleton, with_step
from biodyn.trial.trial_files import TrialFiles


def files_of_its_poses(analysis: TrialAnalysis) -> TrialFiles:
    """The walk of an analysis with the poses of its fitted segments (ISB axes, laboratory frame) instead of markers."""
    system = next(system for system in pose_systems() if system.name == "isb")
    R_LW = analysis.R_WL.T
    names = tuple(body.definition.name for body in analysis.model.bodies)
    found = [analysis.fit.body_pose(name) for name in names]
    poses = SegmentPoses(
        names,
        R_LW @ np.stack([R for R, _ in found], axis=1),
        np.stack([p for _, p in found], axis=1) @ R_LW.T,
        analysis.recording.markers.rate_hz,
    )
    recording = replace(analysis.recording.rotated(R_LW), motion=StoredMotion(virtual_points(poses, system), poses))
    return TrialFiles(recording, recording, "Poses of an analysis", "poses")


def with_its_segments(analysis: TrialAnalysis) -> Sequence[Step]:
    """The steps of an analysis in which segments and soles are those of another: poses tell no landmarks of trunk and feet."""
    inertias = {body.definition.name: body.inertia for body in analysis.model.bodies}

    def scaled(trial: PreparedTrial) -> ScaledTrial:
        stage = scale_skeleton(trial)
        soles = analysis.model.foot_outlines
        return replace(stage, model=replace(with_inertias(stage.model, inertias), foot_outlines=soles))

    return with_step(STEPS, "scaling", scaled)
