"""Moments in the convention of a file become moments in World."""

from dataclasses import replace

import numpy as np
import pytest

from biodyn.comparison.moment_convention import (
    MomentConvention,
    frame_axes,
    moment_from_channel,
    unit_factors_to_nm,
)
from biodyn.comparison.segments import SegmentMotion, joint_moments, moving_body_from_arrays
from biodyn.output.store.result_writer import result_arrays

MASS_KG = 70.0
USUAL = MomentConvention("Nmm/kg", "distal", ("z", "x", "y"), (-1, -1, 1))


@pytest.fixture(scope="module")
def joint(walk_result):
    """World moment, axes by frame and known frames of one hip, and the moment of the other one."""
    body = moving_body_from_arrays(result_arrays(walk_result.analysis))
    moments = joint_moments(body)
    found = {}
    for s, at in enumerate(zip(body.joints, body.sides, strict=True)):
        if at[0] == "hip":
            axes = {
                frame: frame_axes(frame, body.motion, body.parents[s], s)
                for frame in ("proximal", "distal", "world", "jcs")
            }
            jcs = moments[:, s][:, [1, 2, 0]]
            usual = MomentConvention("Nm", "jcs", ("x", "y", "z"), (1, 1, 1))
            found[at[1]] = moment_from_channel(jcs, axes["jcs"], usual, 1.0), axes, body.valid[:, s]
    return found


@pytest.mark.parametrize("frame", ["proximal", "distal", "world", "jcs"])
def test_written_and_read_again(joint, frame):
    moment_W, axes, valid = joint["r"]
    way = replace(USUAL, frame=frame)
    components = np.einsum("tij,ti->tj", axes[frame], moment_W)[:, ["xyz".index(axis) for axis in way.axes]]
    channel = components * way.signs / unit_factors_to_nm(MASS_KG)[way.unit]
    np.testing.assert_allclose(
        moment_from_channel(channel, axes[frame], way, MASS_KG)[valid], moment_W[valid], atol=1e-9
    )


def test_a_motion_of_points_is_that_of_the_segment(walk_result):
    """Moving to other points and back changes nothing; a point at rest on a turning segment is accelerated towards the axis."""
    motion = moving_body_from_arrays(result_arrays(walk_result.analysis)).motion
    offset = np.full((motion.p.shape[1], 3), 0.1)
    again = motion.offset_origins(offset).offset_origins(-offset)
    np.testing.assert_allclose(again.a, motion.a, atol=1e-9)
    spin = np.array([[[0.0, 0.0, 2.0]]])
    still = SegmentMotion(np.eye(3)[None, None], np.zeros((1, 1, 3)), spin, np.zeros((1, 1, 3)), np.zeros((1, 1, 3)))
    np.testing.assert_allclose(still.offset_origins(np.array([[0.5, 0.0, 0.0]])).a, [[[-2.0, 0.0, 0.0]]])
