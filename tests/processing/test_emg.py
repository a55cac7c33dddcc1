"""EMG: channels recognised, envelopes as computed by hand, simulated bursts found in time."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import ezc3d
import numpy as np
import pytest
from scipy.signal import butter, filtfilt

import biodyn
from biodyn.processing.signals.emg import filter_emg_band, linear_envelope, muscle_activity, parse_channel_label
from biodyn.recording import AnalogSignals

QUICK = {"uncertainty": {"compute": False}}

RATE_HZ = 1000.0
_STATIC = "gait/unzeroed_plate/Static Pose.c3d"
_WALK = "gait/unzeroed_plate/Gait with EMG.c3d"


def simulated(bursts: list[tuple[float, float]], seed: int, rest: float = 0.05, offset: float = 0.3) -> np.ndarray:
    """Return 6 s of noise from 20 to 400 Hz (V) whose size is 1 within bursts and `rest` elsewhere."""
    rng = np.random.default_rng(seed)
    noise = filtfilt(*butter(2, (20.0, 400.0), "bandpass", fs=RATE_HZ), rng.normal(size=6000))
    size = np.full(6000, rest)
    for start, end in bursts:
        size[round(start * RATE_HZ) : round(end * RATE_HZ)] = 1.0
    return offset + 1e-4 * size * noise / noise.std()


def signals(**channels: np.ndarray) -> AnalogSignals:
    """Return channels in volts."""
    return AnalogSignals(tuple(channels), ("V",) * len(channels), RATE_HZ, np.stack(list(channels.values()), axis=1))


@pytest.mark.parametrize("rest", [0.05, 0.125])
@pytest.mark.parametrize("seed", range(8))
def test_bursts_are_found_within_20_ms(seed, rest):
    bursts = [(0.5, 0.9), (1.7, 1.95), (3.1, 3.9), (5.0, 5.3)]
    (found,) = muscle_activity(signals(RVAS=simulated(bursts, seed, rest)))
    edges = np.flatnonzero(np.diff(np.r_[False, found.active, False])).reshape(-1, 2) / RATE_HZ
    assert len(edges) == len(bursts)
    assert np.abs(edges - bursts).max() < 0.020


def test_a_channel_without_bursts_is_hardly_ever_active():
    (found,) = muscle_activity(signals(RVAS=simulated([], 1)))
    bursts = [(1.0, 2.0)]
    (one,) = muscle_activity(signals(RVAS=simulated(bursts, 1)))
    assert one.active[1000:2000].mean() > 0.95
    assert np.r_[one.active[:950], one.active[2050:]].mean() < 0.02
    assert found.envelope.max() < 0.3 * one.envelope.max()
    assert found.active.mean() < 0.05


def test_the_envelope_is_that_of_scipy():
    raw = 1e3 * simulated([(1.0, 2.0), (3.0, 4.5)], 2)
    b, a = butter(2, (20.0, 450.0), "bandpass", fs=RATE_HZ)
    rectified = np.abs(filtfilt(b, a, raw - raw.mean()))
    # two passes of second order with the cut-off of a zero-lag filter of fourth order (Winter 2009)
    b, a = butter(2, 6.0 / (2.0**0.5 - 1.0) ** 0.25, fs=RATE_HZ)
    expected = filtfilt(b, a, rectified)
    envelope = linear_envelope(filter_emg_band(raw, RATE_HZ), RATE_HZ)
    inside = slice(500, 5500)  # the ends of the recording are padded in another way
    assert np.abs(envelope - expected)[inside].max() < 0.01 * expected.max()


@pytest.mark.parametrize(
    ("label", "side", "name"),
    [
        ("RVAS", "r", "VAS"),
        ("LTIB", "l", "TIB"),
        ("Voltage.EMG R GastrocLat", "r", "GASTROCLAT"),
        ("TA_L", "l", "TA"),
        ("EMG1.Left Rectus Femoris", "l", "RECTUSFEMORIS"),
    ],
)
def test_side_and_muscle_are_read_from_labels(label, side, name):
    assert parse_channel_label(label)[:2] == (side, name)


def test_channels_that_are_no_emg_are_left_out():
    noise = simulated([(1.0, 2.0)], 3)
    volts = signals(Fz1=noise, Sync=noise, RVAS=noise, LVAS=np.zeros(6000), RXX=noise, RSpare=noise)
    assert [found.label for found in muscle_activity(volts)] == ["RVAS", "RXX"]
    assert muscle_activity(signals(Fz1=noise, RXX=noise)) == ()
    assert muscle_activity(replace(volts, units=("N",) * 6)) == ()
    assert muscle_activity(replace(volts, rate_hz=100.0)) == ()


def test_a_part_of_a_recording_has_its_part_of_the_channels(real_data):
    recording = biodyn.read(real_data / _WALK)
    part = recording.select_frames(100, 200)
    ratio = round(recording.analog.rate_hz / recording.markers.rate_hz)
    whole = recording.analog.channel("RVAS")
    assert np.array_equal(part.analog.channel("RVAS"), whole[100 * ratio : 200 * ratio])
    assert np.array_equal(part.select_frames(10, 20).analog.channel("RVAS"), whole[110 * ratio : 120 * ratio])


def test_emg_of_a_recorded_walk(real_data, tmp_path):
    result = biodyn.run_trial(real_data / _WALK, settings=QUICK)
    table = result.emg
    assert set(table["muscle"]) == {"vasti", "LAT", "gastrocnemius", "tibialis anterior"}
    mean = table.groupby(["muscle", "percent"])["share_of_reference"].mean().unstack(0)
    # known of level walking: vasti in loading, calf before foot off and silent in swing, shank in swing and at the strike
    assert mean["vasti"].idxmax() < 15
    assert 35 < mean["gastrocnemius"].idxmax() < 55
    assert mean["gastrocnemius"][65:95].max() < 0.1
    assert mean["tibialis anterior"][65:100].min() > mean["tibialis anterior"][20:50].mean()
    assert set(table["reference"]) == {"dynamic peak"}
    assert {panel.y.label for panel in result.view.figures["emg"].panels} == {"mV"}
    folder = result.save(tmp_path / "walk")
    assert biodyn.load(folder).emg["label"].tolist() == table["label"].tolist()
    assert 'id="emg"' in (folder / "report.html").read_text(encoding="utf-8")


def write_contraction(source: Path, target: Path, labels: tuple[str, ...], gain: float) -> None:
    """Write channels of a recording, multiplied by a gain, into a C3D file without markers."""
    recorded, written = ezc3d.c3d(str(source)), ezc3d.c3d()
    names = recorded["parameters"]["ANALOG"]["LABELS"]["value"]
    written["parameters"]["POINT"]["RATE"]["value"] = recorded["parameters"]["POINT"]["RATE"]["value"]
    written["parameters"]["ANALOG"]["RATE"]["value"] = recorded["parameters"]["ANALOG"]["RATE"]["value"]
    written["parameters"]["ANALOG"]["LABELS"]["value"] = list(labels)
    written["parameters"]["ANALOG"]["UNITS"]["value"] = ["V"] * len(labels)
    written["data"]["points"] = np.zeros((4, 0, recorded["data"]["points"].shape[2]))
    written["data"]["analogs"] = gain * recorded["data"]["analogs"][:, [names.index(label) for label in labels]]
    written.write(str(target))


@pytest.mark.slow
def test_a_maximal_contraction_replaces_the_dynamic_peak(real_data, tmp_path):
    walk, static = (shutil.copy(real_data / source, tmp_path / source.name) for source in map(Path, (_WALK, _STATIC)))
    write_contraction(walk, tmp_path / "MVC weak.c3d", ("RVAS", "LVAS", "RTIB"), 1.0)
    write_contraction(walk, tmp_path / "MVC strong.c3d", ("RVAS", "LVAS"), 2.0)
    contractions = list(tmp_path.glob("MVC*"))
    for companions in (None, contractions):  # searched in the folder, or known by a study
        result = biodyn.run_trial(walk, static, settings=QUICK, companions=companions)
        for signal in result.analysis.emg:
            rows = result.emg[result.emg["label"] == signal.label]
            if signal.label.endswith("VAS"):
                reference, peak = "MVC strong.c3d", 2.0 * signal.envelope.max()
            elif signal.label == "RTIB":
                reference, peak = "MVC weak.c3d", signal.envelope.max()
            else:
                reference, peak = "dynamic peak", rows["envelope_mV"].max()
            assert set(rows["reference"]) == {reference}
            np.testing.assert_allclose(rows["share_of_reference"], rows["envelope_mV"] / peak, rtol=1e-5)
    figure = result.view.figures["emg"]
    assert "(MVC strong.c3d, MVC weak.c3d)" in figure.caption
    units = {panel.title: panel.y.label for panel in figure.panels}
    assert units == {"Vasti": "% MVC", "LAT": "mV", "Gastrocnemius": "mV", "Tibialis anterior": "mV"}  # RTIB alone


def test_result_outlives_its_recording(tmp_path):
    """Everything but the recording itself is in the result: tables can be made when the file is gone."""
    sample = Path(__file__).resolve().parents[2] / "sample_data" / "subject01"
    walk, static = (Path(shutil.copy(sample / name, tmp_path)) for name in ("walk01.c3d", "static.c3d"))
    result = biodyn.run_trial(
        walk, static, settings={"signals": {"method": "butterworth"}, "uncertainty": {"compute": False}}
    )
    walk.unlink()
    assert not result.joint_torques.empty
    assert "emg" not in result.tables
