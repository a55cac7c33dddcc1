"""Files of every kind the format knows are read as an independent reader reads them, to the precision they are stored in."""

from __future__ import annotations

import io
import struct
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.c3d_corpus import DEC, INTEL, MIPS, ORDERS, Kind, a_trial, plates, write_trial
from support.independent_reader import PlainFile, dec_float, read_plainly
from support.several import read_many

from biodyn.io.formats.c3d import read_c3d
from biodyn.io.formats.c3d.data_layout import data_layout
from biodyn.io.formats.c3d.data_section import decode_data_section
from biodyn.io.formats.c3d.header import decode_floats, read_header
from biodyn.recording import Recording

# A 4-byte float has 24 bits; positions reach 2 m.
FLOAT32_M = 2.5e-7
# Counts of 16 bits are exact in a float; what remains is the rounding of SCALE, the same in both readers.
RELATIVE = 1e-6


def channels_of(recording: Recording) -> np.ndarray:
    """(Ta, C) of all plates, N and Nmm as in the corpus."""
    factors = [1e3 if label in ("Nmm",) else 1.0 for label in ["N"] * 3 + ["Nmm"] * 3]
    return np.concatenate([plate.channels * factors[: plate.channels.shape[1]] for plate in recording.plates], axis=1)


def require_equal(recording: Recording, plain: PlainFile) -> None:
    """Markers and plate channels are what the independent reader finds at the same places of the file."""
    assert isinstance(recording, Recording), recording
    positions = recording.markers.positions * 1000.0
    np.testing.assert_allclose(positions, plain.points, rtol=RELATIVE, atol=1e3 * FLOAT32_M)
    used = channels_of(recording).shape[1]
    scale = np.abs(plain.analog[:, :used]).max()
    np.testing.assert_allclose(channels_of(recording), plain.analog[:, :used], rtol=RELATIVE, atol=RELATIVE * scale)


def offsets(unsigned: bool, is_float: bool) -> list:
    per_channel = np.arange(12) * 400.0
    if unsigned:  # counts lie around the offset, so it keeps away from the ends
        return [5000, 32768, 33000, 60000, per_channel + 20000, per_channel + 31000]
    return [0, 2048, -1500, -30000 if is_float else -20000, per_channel, -per_channel - 100]


KINDS = [Kind(p, f, u) for p in ORDERS.values() for f in (True, False) for u in (False, True)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: f"{k.processor}-{'float' if k.is_float else 'int'}-{k.unsigned}")
def test_byte_orders_numbers_and_offsets(tmp_path: Path, kind: Kind) -> None:
    """What was put in comes out, and the independent reader says so too."""
    trials = [a_trial(offset=o, parameters=plates(2, 2), general=0.5) for o in offsets(kind.unsigned, kind.is_float)]
    paths = [write_trial(tmp_path / f"{i}.c3d", trial, kind) for i, trial in enumerate(trials)]
    for path, trial, recording in zip(paths, trials, read_many(paths), strict=True):
        require_equal(recording, read_plainly(path))
        tolerance = RELATIVE * np.abs(trial.physical).max()
        np.testing.assert_allclose(channels_of(recording), trial.physical, rtol=RELATIVE, atol=tolerance)
        assert not recording.diagnostics


def test_every_dec_float_is_what_its_definition_says() -> None:
    """The largest (no infinity there), the smallest, zero and its dirty relatives, and random ones."""
    patterns = [0, 1, 0x7FFF, 0x80, 0x8080, 0xFF, 0x7F80, 0x7FFF7FFF, 0xFFFFFFFF, 0x4080, 0x00804080]
    raw = b"".join(struct.pack("<I", p) for p in patterns) + np.random.default_rng(3).bytes(4000)
    found = decode_floats(np.frombuffer(raw, dtype="<u2"), "DEC")
    np.testing.assert_array_equal(found, [dec_float(raw[i : i + 4]) for i in range(0, len(raw), 4)])


@pytest.mark.parametrize("plate_type", [1, 2, 3, 4])
@pytest.mark.parametrize("processor", [INTEL, DEC, MIPS])
def test_plate_types(tmp_path: Path, plate_type: int, processor: int) -> None:
    """Each type gets its channels in its order: raw ones with a matrix, N and Nm else, positions of type 1 in m."""
    rows = {3: 8}.get(plate_type, 6)
    units = {1: ["N", "N", "N", "mm", "mm", "Nmm"], 3: ["N"] * 8}.get(plate_type, ["N"] * 3 + ["Nmm"] * 3)
    trial = a_trial(channels=2 * rows, offset=-300, analog_units=units * 2, parameters=plates(plate_type, 2))
    recording = read_c3d(write_trial(tmp_path / "p.c3d", trial, Kind(processor, False)))
    factors = np.ones(rows)
    if plate_type != 4:
        factors = np.array([1e-3 if unit in ("mm", "Nmm") else 1.0 for unit in units])
    for number, plate in enumerate(recording.plates):
        expected = trial.physical[:, number * rows : (number + 1) * rows] * factors
        np.testing.assert_allclose(plate.channels, expected, rtol=RELATIVE, atol=RELATIVE * np.abs(expected).max())
        assert plate.type == plate_type
    assert len(recording.plates) == 2


@pytest.mark.parametrize("samples", [1, 3, 10, 20])
def test_analog_samples_a_frame(tmp_path: Path, samples: int) -> None:
    trial = a_trial(samples=samples, parameters=plates(2, 2))
    path = write_trial(tmp_path / "s.c3d", trial)
    recording = read_c3d(path)
    require_equal(recording, read_plainly(path))
    assert recording.plates[0].rate_hz == samples * 100.0


@pytest.mark.parametrize("frames", [65534, 65535, 65536, 70000])
def test_long_files(tmp_path: Path, frames: int) -> None:
    """Frames beyond what 16 bits count, and the counts at the edge."""
    trial = a_trial(frames=frames, channels=0)
    recording = read_c3d(
        write_trial(tmp_path / "long.c3d", replace(trial, points=trial.points[:, :4], labels=trial.labels[:4]))
    )
    assert recording.markers.frame_count == frames
    np.testing.assert_allclose(recording.markers.positions[-1], trial.points[-1, :4] / 1000, atol=20 * FLOAT32_M)


def test_long_files_that_only_the_trial_group_counts(tmp_path: Path) -> None:
    trial = a_trial(frames=66000, channels=0)
    fields = {"TRIAL:ACTUAL_START_FIELD": np.array([1, 0]), "TRIAL:ACTUAL_END_FIELD": np.array([66000 - 65536, 1])}
    trial = replace(
        trial, points=trial.points[:, :4], labels=trial.labels[:4], parameters=fields, drop=["POINT:LONG_FRAMES"]
    )
    assert read_c3d(write_trial(tmp_path / "long.c3d", trial)).markers.frame_count == 66000
    wrapped = replace(trial, header={"last": 66000 - 65536}, drop=["POINT:LONG_FRAMES", "POINT:FRAMES"])
    assert read_c3d(write_trial(tmp_path / "wrapped.c3d", wrapped)).markers.frame_count == 66000


def test_three_hundred_channels(tmp_path: Path) -> None:
    """SCALE2, OFFSET2, LABELS2: the plate's channels are beyond the first 255."""
    channel = {"FORCE_PLATFORM:CHANNEL": np.arange(289, 295).reshape(1, 6)}
    trial = a_trial(frames=4, channels=300, offset=np.arange(300) * 10.0, parameters=plates(2) | channel)
    plate = read_c3d(write_trial(tmp_path / "many.c3d", trial)).plates[0]
    expected = trial.physical[:, 288:294]
    units = np.array([1e-3 if unit == "Nmm" else 1.0 for unit in trial.analog_units[288:294]])
    np.testing.assert_allclose(plate.channels, expected * units, rtol=RELATIVE, atol=RELATIVE * np.abs(expected).max())
    assert plate.channel_labels == tuple(f"A{c}" for c in range(288, 294))


def test_a_channel_without_scale_is_not_used_and_said(tmp_path: Path) -> None:
    trial = a_trial(parameters=plates(2, 2) | {"ANALOG:SCALE": np.full(6, 0.25)})
    recording = read_c3d(write_trial(tmp_path / "s.c3d", trial))
    assert [plate.number for plate in recording.plates] == [1]
    assert {"recording-repaired", "plate-not-used"} <= {d.code for d in recording.diagnostics}


# -- header against parameters ----------------------------------------------------------------------------------------


def codes(recording: Recording) -> set[str]:
    return {d.code for d in recording.diagnostics}


@pytest.mark.parametrize(
    "parameters",
    [{"ANALOG:RATE": 400.0}, {"ANALOG:USED": 6}, {"ANALOG:RATE": 540.0}, {"POINT:USED": 15}, {"POINT:USED": 17}],
    ids=str,
)
def test_wrong_parameters_do_not_scramble_the_markers(tmp_path: Path, parameters: dict) -> None:
    """The header and the size of the file agree; a reader that goes by these parameters takes a wrong frame length."""
    trial = a_trial(parameters=plates(2, 1) | parameters)
    path = write_trial(tmp_path / "h.c3d", trial)
    recording = read_c3d(path)
    require_equal(recording, read_plainly(path))
    assert recording.plates[0].rate_hz == 500.0
    assert codes(recording) & {"recording-repaired"}


WRONG_WORDS = [{"points": 15}, {"points": 0}, {"analog": 0}, {"block": 9}, {"last": 12}, {"last": 900}]


@pytest.mark.parametrize("header", WRONG_WORDS, ids=str)
def test_a_wrong_header_is_mended_from_the_parameters_where_the_size_says_so(tmp_path: Path, header: dict) -> None:
    trial = a_trial(parameters=plates(2, 2))
    sound = read_c3d(write_trial(tmp_path / "sound.c3d", trial))
    mended = read_c3d(write_trial(tmp_path / "h.c3d", replace(trial, header=header)))
    np.testing.assert_array_equal(mended.markers.positions, sound.markers.positions)
    np.testing.assert_array_equal(channels_of(mended), channels_of(sound))
    assert codes(mended) & {"recording-repaired"}


def test_a_file_that_fits_nothing_it_says_is_refused(tmp_path: Path) -> None:
    trial = replace(a_trial(parameters={"POINT:USED": 400}), header={"points": 300})
    (error,) = read_many([write_trial(tmp_path / "h.c3d", trial)])
    assert "contradict each other" in str(error)


@pytest.mark.parametrize(
    ("scale", "outcome"), [(0.1002, "recording-repaired"), (0.0, "recording-repaired"), (0.2, "refused")]
)
def test_a_step_of_the_coordinates_that_header_and_parameter_tell_differently(
    tmp_path: Path, scale: float, outcome: str
) -> None:
    """Two per thousand are said; a factor of two cannot be decided, and every length depends on it."""
    trial = replace(a_trial(), header={"scale": scale})
    (result,) = read_many([write_trial(tmp_path / "s.c3d", trial, Kind(is_float=False))])
    if outcome == "refused":
        assert "scale of its integer coordinates" in str(result)
    else:
        assert outcome in codes(result)
        np.testing.assert_allclose(result.markers.positions[0, 0], trial.points[0, 0] / 1000, atol=1e-4)


def test_a_header_of_random_words_is_not_mended(tmp_path: Path) -> None:
    """All of it wrong is damage, though the parameters fit the size of the file."""
    words = {"points": 7741, "analog": 23001, "block": 903, "samples": 77, "scale": 5.0, "last": 60123}
    (error,) = read_many([write_trial(tmp_path / "h.c3d", replace(a_trial(), header=words))])
    assert "is damaged" in str(error)


def test_mended_values_are_said_by_name(tmp_path: Path) -> None:
    trial = a_trial(parameters=plates(2, 1) | {"POINT:USED": 15})
    notes = {d.code: d.message for d in read_c3d(write_trial(tmp_path / "h.c3d", trial)).diagnostics}
    assert "points per frame (header 16, POINT:USED 15)" in notes["recording-repaired"]


# -- other people's files ---------------------------------------------------------------------------------------------


def by_the_c3d_package(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Points (T, N, 3) and analog (Ta, C) as the package `c3d` reads them."""
    package = pytest.importorskip("c3d")
    with warnings.catch_warnings(), io.BytesIO(path.read_bytes()) as stream:
        warnings.simplefilter("ignore")
        frames = [(p, a) for _, p, a in package.Reader(stream).read_frames()]
    points = np.array([p for p, _ in frames])
    points[points[..., 3] < 0] = np.nan
    return points[..., :3], np.concatenate([a for _, a in frames], axis=1).T


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: f"{k.processor}-{'float' if k.is_float else 'int'}-{k.unsigned}")
def test_the_independent_reader_agrees_with_the_c3d_package(tmp_path: Path, kind: Kind) -> None:
    path = write_trial(tmp_path / "t.c3d", a_trial(offset=20000 if kind.unsigned else -700), kind)
    points, analog = by_the_c3d_package(path)
    plain = read_plainly(path)
    np.testing.assert_allclose(points, plain.points, rtol=RELATIVE, atol=1e3 * FLOAT32_M)
    np.testing.assert_allclose(analog, plain.analog, rtol=RELATIVE, atol=1e-3)


def own_reading(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """All points and all analog channels as the product reads them, in file units."""
    header = read_header(path)
    layout = data_layout(header)
    data = decode_data_section(path.read_bytes(), layout, header.processor, header.groups, range(layout.channel_count))
    assert data.channels == tuple(range(layout.channel_count))
    return data.points, data.samples


# What the plain reader cannot walk: a header whose word for the analog values is that of one sample, records in two byte
# orders, a list of parameters that ends in garbage. The package reads the last three of them.
NOT_PLAIN = {"MotionMonitorC3D.c3d", "sgi_int.c3d", "sgi_real.c3d", "bad_parameter_section.c3d"}
# The package `c3d` takes a float for an integer here: ANALOG:OFFSET is stored as a float.
OFFSET_AS_FLOAT = {"Dance.c3d", "Dance1.c3d", "golfswing.c3d", "golfswing1.c3d"}
REFUSED = {"Empty.c3d"}


@pytest.mark.real
def test_every_recording_of_others_equals_the_independent_readers(real_data: Path) -> None:
    """Points and all analog channels, of every file."""
    paths = sorted(p for p in real_data.rglob("*") if p.suffix.lower() == ".c3d" and p.name not in REFUSED)
    assert len(paths) > 50
    for path in paths:
        points, analog = own_reading(path)
        if path.name in NOT_PLAIN:
            continue
        plain = read_plainly(path)
        np.testing.assert_allclose(points, plain.points, rtol=RELATIVE, atol=1e-6, err_msg=path.name)
        assert analog.size == plain.analog.size
        if analog.size:
            np.testing.assert_allclose(analog, plain.analog, rtol=RELATIVE, atol=1e-6, err_msg=path.name)


@pytest.mark.real
def test_every_recording_the_c3d_package_reads_is_read_the_same(real_data: Path) -> None:
    """It stops at files without analog data and at some parameters; integers are scaled in 4-byte floats there."""
    pytest.importorskip("c3d")
    compared = set()
    for path in sorted(p for p in real_data.rglob("*") if p.suffix.lower() == ".c3d" and p.name not in REFUSED):
        try:
            other_points, other_analog = by_the_c3d_package(path)
        except (KeyError, ValueError, AssertionError, struct.error):
            continue
        points, analog = own_reading(path)
        compared.add(path.name)
        np.testing.assert_allclose(points, other_points, rtol=RELATIVE, atol=1e-3, err_msg=path.name)
        if path.name not in OFFSET_AS_FLOAT:
            np.testing.assert_allclose(analog, other_analog, rtol=RELATIVE, atol=1e-3, err_msg=path.name)
    assert {"sgi_int.c3d", "sgi_real.c3d", "bad_parameter_section.c3d"} <= compared
    assert len(compared) > 40
