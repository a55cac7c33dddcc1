"""One channel of a plate with a wrong gain: the channel and its factor are told, sound plates and other faults are not."""

import tracemalloc
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from simulator import Person, Plate, TrialOptions, session, write_c3d

from biodyn.checks.estimators.plate_gains import PlateChannels, channel_gains, plate_gain
from biodyn.checks.facts import TrialFacts, body_against_plates
from biodyn.conventions import FloatArray
from biodyn.processing.signals.prepare import plate_channel_shares
from biodyn.trial.run import analyse_trial

# "auto" would look for an estimate first; the checks see the fitted motion either way
QUICK = {"signals": {"method": "butterworth"}, "uncertainty": {"compute": False}}


@pytest.fixture(scope="module")
def analysis(laboratory):
    return analyse_trial(laboratory.walk, laboratory.static)


@pytest.fixture(scope="module")
def evidence(analysis):
    return body_against_plates(analysis.as_fitted)


@pytest.fixture(scope="module")
def channels(analysis):
    signals = analysis.propagation.signals
    return [
        PlateChannels(plate.channel_labels, plate_channel_shares(signals, plate)) for plate in analysis.recording.plates
    ]


def spoilt(evidence, channels, plate, channel, factor):
    """Evidence and channels of a walk in which a channel reads `factor` times what it should."""
    share = channels[plate].shares[channel]
    plates = list(evidence.plates)
    plates[plate] = replace(plates[plate], wrench=plates[plate].wrench + (factor - 1.0) * share)
    own = list(channels)
    own[plate] = replace(own[plate], shares=own[plate].shares.copy())
    own[plate].shares[channel] *= factor
    return replace(evidence, plates=tuple(plates)), own


def test_channels_add_up_to_the_plate(analysis, channels):
    """A plate of forces and moments is linear in its channels: each counts once."""
    for plate, own in zip(analysis.plates, channels, strict=True):
        # the offset is looked for without and with the feet: a fraction of the 2 N that the plates are off
        np.testing.assert_allclose(own.shares.sum(axis=0), plate.wrench, atol=1.0)


def test_a_channel_that_is_changed_adds_so_much_more(analysis, channels):
    """Against reading the plate again with the channel changed, through the whole of the analysis."""
    plate, signals = analysis.recording.plates[1], analysis.propagation.signals
    for channel in (0, 2, 4):
        changed = plate.channels.copy()
        changed[:, channel] *= 2.0
        again = plate_channel_shares(signals, replace(plate, channels=changed))
        np.testing.assert_allclose(again[channel], 2.0 * channels[1].shares[channel], atol=1e-6)
        for other in {0, 2, 4} - {channel}:
            np.testing.assert_allclose(again[other], channels[1].shares[other], atol=1e-6)


def test_sound_plates_have_no_gain(evidence, channels):
    assert channel_gains(evidence, channels.__getitem__) == ()


@pytest.mark.parametrize("plate", [0, 1, 2])
@pytest.mark.parametrize("channel", range(6))
@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_plate_channel_and_factor_are_told(evidence, channels, plate, channel, factor):
    wrong, own = spoilt(evidence, channels, plate, channel, factor)
    found = channel_gains(wrong, own.__getitem__)
    assert [(one.plate, one.channel) for one in found] == [(plate, channel)]
    assert found[0].factor == pytest.approx(factor, abs=3.0 * found[0].sd)
    assert found[0].after < found[0].before
    (note,) = plate_gain(wrong, found)
    label = own[plate].labels[channel]
    assert note.code == "plate-channel-gain"
    assert note.message.startswith(f"Plate {plate + 1}: channel {label} seems to read {found[0].factor:.2g} times")


def test_channels_of_two_plates_are_told(evidence, channels):
    wrong, own = spoilt(*spoilt(evidence, channels, 0, 0, 2.0), 2, 4, 2.0)
    assert {(one.plate, one.channel) for one in channel_gains(wrong, own.__getitem__)} == {(0, 0), (2, 4)}


@pytest.mark.parametrize("channel", [0, 1, 3, 4, 5])
def test_a_channel_that_shows_no_load_is_told_and_no_other(evidence, channels, channel):
    wrong, own = spoilt(evidence, channels, 1, channel, 1e-3)  # what an open input still picks up
    found = channel_gains(wrong, own.__getitem__)
    assert [(one.plate, one.channel, one.factor) for one in found] == [(1, channel, 0.0)]
    assert "shows nothing of the load" in plate_gain(wrong, found)[0].message


def test_a_plate_that_reads_more_as_a_whole_has_no_channel_at_fault(evidence, channels):
    for factor in (0.8, 1.2):
        plates = list(evidence.plates)
        plates[1] = replace(plates[1], wrench=factor * plates[1].wrench)
        own = [*channels]
        own[1] = replace(own[1], shares=factor * own[1].shares)
        assert channel_gains(replace(evidence, plates=tuple(plates)), own.__getitem__) == ()


@pytest.mark.parametrize("shift", [(0.03, 0.0, 0.0), (0.0, 0.0, -0.02), (-0.03, 0.0, 0.04)])
def test_a_plate_that_stands_elsewhere_has_no_channel_at_fault(evidence, channels, shift):
    plate = evidence.plates[2]
    moved = np.hstack([np.cross(shift, plate.wrench[:, 3:]), np.zeros((len(plate.wrench), 3))])
    plates = (*evidence.plates[:2], replace(plate, wrench=plate.wrench + moved, corners=plate.corners + shift))
    own = [*channels]
    at = own[2].shares
    own[2] = replace(own[2], shares=at + np.concatenate([np.cross(shift, at[..., 3:]), np.zeros_like(at[..., 3:])], -1))
    assert channel_gains(replace(evidence, plates=plates), own.__getitem__) == ()


def turned(evidence, channels, axis, angle_deg):
    """Evidence and channels of a laboratory whose frame is turned against all its plates, about their middle."""
    turn = Rotation.from_rotvec(np.radians(angle_deg) * np.array(axis))
    middle = np.mean([plate.corners.mean(axis=0) for plate in evidence.plates], axis=0)

    def at(wrench):
        force, moment = wrench[..., 3:], wrench[..., :3] - np.cross(middle, wrench[..., 3:])
        force, moment = (turn.apply(each.reshape(-1, 3)).reshape(each.shape) for each in (force, moment))
        return np.concatenate([moment + np.cross(middle, force), force], axis=-1)

    plates = tuple(
        replace(plate, wrench=at(plate.wrench), corners=turn.apply(plate.corners - middle) + middle)
        for plate in evidence.plates
    )
    return replace(evidence, plates=plates), [replace(own, shares=at(own.shares)) for own in channels]


@pytest.mark.parametrize("axis", np.eye(3).tolist())
@pytest.mark.parametrize("angle_deg", [-4.0, -2.0, -1.0, 1.0, 2.0, 4.0])
def test_a_laboratory_turned_against_its_plates_has_no_channel_at_fault(evidence, channels, axis, angle_deg):
    wrong, own = turned(evidence, channels, axis, angle_deg)
    assert channel_gains(wrong, own.__getitem__) == ()


@pytest.mark.parametrize("axis", np.eye(3).tolist())
def test_a_channel_is_told_in_a_laboratory_turned_against_its_plates(evidence, channels, axis):
    wrong, own = spoilt(*turned(evidence, channels, axis, 0.5), 1, 4, 2.0)
    assert [(one.plate, one.channel) for one in channel_gains(wrong, own.__getitem__)] == [(1, 4)]


@pytest.mark.parametrize(("twist_nm", "told"), [(0.0, True), (300.0, False)])
def test_what_explains_little_of_the_disagreement_is_not_its_cause(evidence, channels, twist_nm, told):
    """On a treadmill even a small part of it is sure, by many steps: beside a larger one of another cause it is not named."""
    wrong, own = spoilt(evidence, channels, 0, 1, 1.35)
    required = wrong.required.copy()
    required[:, 1] += twist_nm * np.sin(np.arange(len(required)))
    many = replace(wrong, steps=wrong.steps * 12, required=required)
    assert bool(channel_gains(many, own.__getitem__)) == told


def test_many_steps_need_memory_in_proportion(evidence, channels):
    """Five minutes on a treadmill are 500 steps: a number for each pair of their instants takes a gigabyte."""
    wrong, own = spoilt(evidence, channels, 0, 2, 2.0)
    peaks = []
    for times in (8, 32):
        many = replace(wrong, steps=wrong.steps * times)
        tracemalloc.start()
        found = channel_gains(many, own.__getitem__)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert [(one.plate, one.channel) for one in found] == [(0, 2)]
    assert peaks[1] < 6.0 * peaks[0]


# -- in files -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gained(Plate):
    """A plate of which one channel reads `factor` times what it should."""

    column: int = 0
    factor: float = 1.0

    def channels(self, components: FloatArray) -> tuple[FloatArray, tuple[str, ...], tuple[str, ...]]:
        values, names, units = super().channels(components)
        gains = np.ones(values.shape[1])
        gains[self.column] = self.factor
        return values * gains, names, units


@pytest.fixture(scope="module")
def kistler():
    options = TrialOptions(noise_mm=1.0, soft_tissue=1.0, force_noise_n=0.7, force_offset_n=2.0, plate_types=(3, 2, 3))
    static, walk = session(Person("Kistler", height_m=1.72, mass_kg=68.0, sex="female"), options)
    return {"static": static, "walk": walk}


@pytest.mark.parametrize(
    ("plate", "column", "factor"), [(0, 4, 2.0), (0, 7, -1.0), (2, 1, 2.0), (2, 5, 0.5), (1, 2, -1.0), (1, 5, -1.0)]
)
def test_a_channel_of_a_file_is_named_first(kistler, tmp_path, plate, column, factor):
    """Of the eight of a piezo plate as of forces and moments; the vertical force reversed alone turns the whole plate round."""
    for name, trial in kistler.items():
        plates = list(trial.plates)
        parts = {field: getattr(plates[plate], field) for field in Plate.__dataclass_fields__}
        plates[plate] = Gained(**parts, column=column, factor=factor)
        write_c3d(tmp_path / f"{name}.c3d", replace(trial, plates=tuple(plates)))
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    (note,) = [note for note in found.diagnostics if note.code == "plate-channel-gain"]
    label = found.recording.plates[plate].channel_labels[column]
    assert note.about == f"plate {plate + 1}, {label}"
    (gain,) = TrialFacts(found).gained_channels
    assert gain.factor == pytest.approx(factor, abs=3.0 * gain.sd)
    named = {note.code for note in found.diagnostics if note.severity != "info"}
    assert not named & {"plate-moved", "plate-rotated", "plate-axes-exchanged", "plate-moment-sign", "other-load"}
