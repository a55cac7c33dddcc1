"""How a file writes its moments is told from the curves alone."""

from dataclasses import replace

import numpy as np
import pytest

from biodyn.comparison.moment_convention import (
    FRAMES,
    MomentConvention,
    channel_from_moment,
    frame_axes,
    match_convention,
    moment_from_channel,
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
            axes = {frame: frame_axes(frame, body.motion, body.parents[s], s) for frame in FRAMES}
            jcs = moments[:, s][:, [1, 2, 0]]
            usual = MomentConvention("Nm", "jcs", ("x", "y", "z"), (1, 1, 1))
            found[at[1]] = moment_from_channel(jcs, axes["jcs"], usual, 1.0), axes, body.valid[:, s]
    return found


def _read(joint, way, noise=0.0, other=None):
    moment_W, axes, valid = joint["r"]
    channel = channel_from_moment(moment_W, axes[way.frame], way, MASS_KG)
    if noise:
        size = np.sqrt(np.nanmean(channel**2))
        slow = np.sin(np.linspace(0.0, 9.0, len(channel)))[:, None] * [1.0, -0.5, 0.3]
        channel = channel + noise * size * slow
    channels = {"own": channel} | ({} if other is None else {"other": other})
    return match_convention(channels, moment_W, axes, USUAL, MASS_KG, valid)


def test_written_and_read_again(joint):
    moment_W, axes, valid = joint["r"]
    for frame in FRAMES:
        way = replace(USUAL, frame=frame)
        again = moment_from_channel(channel_from_moment(moment_W, axes[frame], way, MASS_KG), axes[frame], way, MASS_KG)
        np.testing.assert_allclose(again[valid], moment_W[valid], atol=1e-9)


@pytest.mark.parametrize(
    ("way", "what"),
    [
        (USUAL, ()),
        (replace(USUAL, signs=(1, -1, 1)), ("sign",)),
        (replace(USUAL, signs=(-1, 1, 1)), ("sign",)),
        (replace(USUAL, frame="world"), ("frame",)),
        (replace(USUAL, frame="proximal"), ("frame",)),
        (replace(USUAL, unit="Nm"), ("unit",)),
        (replace(USUAL, axes=("x", "z", "y")), ("axes",)),
    ],
)
def test_what_is_not_as_expected_is_named(joint, way, what):
    assert _read(joint, way, noise=0.02).deviations == what


def test_exchanged_sides_are_seen(joint):
    moment_W, axes, _ = joint["l"]
    own = channel_from_moment(joint["r"][0], joint["r"][1]["distal"], USUAL, MASS_KG)
    theirs = channel_from_moment(moment_W, axes["distal"], USUAL, MASS_KG)
    found = match_convention({"own": theirs, "other": own}, joint["r"][0], joint["r"][1], USUAL, MASS_KG, joint["r"][2])
    assert found.deviations == ("side",)


def test_a_perfect_channel_is_read_whatever_its_round_off(joint):
    """A difference of squares may come out below zero where nothing is left; of many sizes some do."""
    moment_W, axes, valid = joint["r"]
    way = replace(USUAL, signs=(1, -1, 1))
    for factor in np.linspace(0.7, 1.3, 40):
        channel = channel_from_moment(factor * moment_W, axes["distal"], way, MASS_KG)
        assert match_convention({"own": channel}, factor * moment_W, axes, USUAL, MASS_KG, valid).deviations == (
            "sign",
        )


def test_curves_of_something_else_tell_nothing(joint):
    moment_W, axes, valid = joint["r"]
    noise = np.random.default_rng(0).normal(size=moment_W.shape) * 500.0
    found = match_convention({"own": noise}, moment_W, axes, USUAL, MASS_KG, valid)
    assert not found.is_determined
    assert found.deviations == ()


def test_a_motion_of_points_is_that_of_the_segment(walk_result):
    """Moving to other points and back changes nothing; a point at rest on a turning segment is accelerated towards the axis."""
    motion = moving_body_from_arrays(result_arrays(walk_result.analysis)).motion
    offset = np.full((motion.p.shape[1], 3), 0.1)
    again = motion.offset_origins(offset).offset_origins(-offset)
    np.testing.assert_allclose(again.a, motion.a, atol=1e-9)
    spin = np.array([[[0.0, 0.0, 2.0]]])
    still = SegmentMotion(np.eye(3)[None, None], np.zeros((1, 1, 3)), spin, np.zeros((1, 1, 3)), np.zeros((1, 1, 3)))
    np.testing.assert_allclose(still.offset_origins(np.array([[0.5, 0.0, 0.0]])).a, [[[-2.0, 0.0, 0.0]]])
