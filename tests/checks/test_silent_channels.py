"""Channels without signal are found in loaded plates, and no channels of sound plates."""

from dataclasses import replace

import numpy as np
import pytest

from biodyn.checks.estimators.plate_signals import find_silent_channels, silent_channel_findings
from biodyn.checks.trial_facts import collect_trial_evidence
from biodyn.processing.signals.signal_preparation import plate_channel_contributions


@pytest.fixture(scope="module")
def analysis(walk_result):
    return walk_result.analysis


@pytest.fixture(scope="module")
def evidence(analysis):
    return collect_trial_evidence(analysis.before_estimate)


@pytest.fixture(scope="module")
def channels(analysis):
    signals = analysis.propagation.signals
    return [plate_channel_contributions(signals, plate) for plate in analysis.recording.plates]


def spoilt(evidence, channels, plate, channel, factor):
    """Evidence and channels of a walk in which a channel is scaled by `factor`."""
    share = channels[plate][channel]
    plates = list(evidence.plates)
    plates[plate] = replace(plates[plate], wrench=plates[plate].wrench + (factor - 1.0) * share)
    own = list(channels)
    own[plate] = own[plate].copy()
    own[plate][channel] *= factor
    return replace(evidence, plates=tuple(plates)), own


def test_channels_add_up_to_the_plate(analysis, channels):
    """A plate of forces and moments is linear in its channels: each counts once."""
    for plate, own in zip(analysis.plates, channels, strict=True):
        # the offset is looked for without and with the feet: a fraction of the 2 N that the plates are off
        np.testing.assert_allclose(own.sum(axis=0), plate.wrench, atol=1.0)


def test_a_channel_that_is_changed_adds_so_much_more(analysis, channels):
    """Against reading the plate again with the channel changed, through the whole of the analysis."""
    plate, signals = analysis.recording.plates[1], analysis.propagation.signals
    for channel in (0, 2, 4):
        changed = plate.channels.copy()
        changed[:, channel] *= 2.0
        again = plate_channel_contributions(signals, replace(plate, channels=changed))
        np.testing.assert_allclose(again[channel], 2.0 * channels[1][channel], atol=1e-6)
        for other in {0, 2, 4} - {channel}:
            np.testing.assert_allclose(again[other], channels[1][other], atol=1e-6)


def test_sound_plates_have_no_silent_channel(evidence, channels):
    assert find_silent_channels(evidence, channels.__getitem__) == ()


@pytest.mark.parametrize("channel", [0, 1, 3, 4, 5])
def test_only_the_channel_without_signal_is_found(analysis, evidence, channels, channel):
    wrong, own = spoilt(evidence, channels, 1, channel, 1e-3)  # remaining signal of an open input
    silent = find_silent_channels(wrong, own.__getitem__)
    assert silent == ((1, channel),)
    labels = [plate.channel_labels for plate in analysis.recording.plates]
    (note,) = silent_channel_findings(wrong, silent, labels)
    assert note.code == "plate-channel-gain"
    assert "has no signal" in note.message
    assert labels[1][channel] in note.message
