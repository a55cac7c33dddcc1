"""Points and events added to C3D files: what the files held is there to the last bit, in three readers."""

from __future__ import annotations

import struct
import warnings

import c3d
import ezc3d
import numpy as np
import pytest
from simulator.c3d_writer import C3dContent, write_c3d

import biodyn
from biodyn.errors import InputFileError
from biodyn.io.events import StoredEvent
from biodyn.io.formats.c3d.header import read_header
from biodyn.io.formats.c3d.point_and_event_writer import SUFFIX, NewPoint, append_points_and_events

FRAMES, STEP = 12, 0.5


def _made(path, points=5, parameters=None, labels=None):
    rng = np.random.default_rng(2)
    positions = rng.normal(0.0, 500.0, (FRAMES, points, 3))
    positions[3, 1] = np.nan
    write_c3d(
        path,
        C3dContent(
            labels or [f"M{k}" for k in range(points)],
            positions,
            100.0,
            analog=rng.normal(size=(FRAMES * 4, 3)),
            analog_labels=("Fx", "Fy", "Fz"),
            analog_units=("N", "N", "N"),
            parameters=parameters or {},
            first_frame=41,
        ),
    )
    return path


def _as_integers(path):
    """The file with its numbers as 16-bit integers of a step of `STEP`."""
    content, header = bytearray(path.read_bytes()), read_header(path)
    start = (header.words.data_block - 1) * 512
    values = np.frombuffer(bytes(content[start:]), dtype="<f4").reshape(FRAMES, -1)
    scaled = values.copy()
    for k in range(3):
        scaled[:, k : 4 * header.words.points : 4] /= STEP
    struct.pack_into("<f", content, 12, STEP)
    at = content.index(b"SCALE", 512)
    struct.pack_into("<f", content, at + len("SCALE") + 4, STEP)
    path.write_bytes(bytes(content[:start]) + np.rint(scaled).astype("<i2").tobytes())
    return path


def _points(**values):
    flat = np.tile([1.0, -2.0, 30.0], (FRAMES, 1))
    flat[0] = np.nan
    return [NewPoint(name, "ANGLES", "deg", "deg; x: flexion +", values.get(name, flat)) for name in ("RHip", "LHip")]


EVENTS = [StoredEvent("Foot Strike", "Right", 0.05), StoredEvent("Foot Off", "Left", 0.08)]


def _in_c3d(path):
    with warnings.catch_warnings(), path.open("rb") as stream:
        warnings.simplefilter("ignore")
        rows = [(p.copy(), a.copy()) for _, p, a in c3d.Reader(stream).read_frames()]
    return np.array([p for p, _ in rows]), np.array([a for _, a in rows])


def _require_kept(old, new, count):
    a, b = ezc3d.c3d(str(old))["data"], ezc3d.c3d(str(new))["data"]
    np.testing.assert_array_equal(a["points"], b["points"][:, :count])
    np.testing.assert_array_equal(a["analogs"], b["analogs"])
    np.testing.assert_array_equal(a["meta_points"]["residuals"], b["meta_points"]["residuals"][:, :count])
    (points, analog), (more, same) = _in_c3d(old), _in_c3d(new)
    np.testing.assert_array_equal(points, more[:, :count])
    np.testing.assert_array_equal(analog, same)
    return b["points"][:3, count:]


def _added(path, points, events=EVENTS):
    content, notes = append_points_and_events(path, points, events)
    out = path.with_name("out.c3d")
    out.write_bytes(content)
    return out, notes


def test_every_sample_stays_and_new_ones_are_what_was_given(tmp_path):
    path = _made(tmp_path / "walk.c3d")
    out, notes = _added(path, _points())
    new = _require_kept(path, out, 5)
    assert notes == ()
    np.testing.assert_array_equal(new[:, 0, 1:].T, _points()[0].values[1:])
    assert np.isnan(new[:, :, 0]).all()
    file = ezc3d.c3d(str(out))["parameters"]
    assert file["POINT"]["LABELS"]["value"][-2:] == ["RHip", "LHip"]
    assert file["POINT"]["ANGLES"]["value"] == ["RHip", "LHip"]
    assert file["POINT"]["ANGLE_UNITS"]["value"] == ["deg"]
    assert file["POINT"]["DESCRIPTIONS"]["value"][-1] == "deg; x: flexion +"
    np.testing.assert_allclose(file["EVENT"]["TIMES"]["value"], [[0.0, 0.0], [0.45, 0.48]], atol=1e-6)
    back, before = biodyn.read(out), biodyn.read(path)
    assert back.markers.labels == before.markers.labels
    assert [(e.side, e.kind) for e in back.events] == [("r", "foot_strike"), ("l", "foot_off")]
    assert [e.time_s for e in back.events] == pytest.approx([0.05, 0.08])


def test_a_file_of_integers_keeps_them(tmp_path):
    path = _as_integers(_made(tmp_path / "walk.c3d"))
    far = np.full((FRAMES, 3), 20_000.0)
    out, notes = _added(path, _points(LHip=far))
    new = _require_kept(path, out, 5)
    assert new.shape[1] == 1
    assert np.nanmax(np.abs(new[:, 0, 1:].T - _points()[0].values[1:])) <= STEP / 2
    assert "scale of 0.5" in notes[0]
    assert "LHip" in notes[1]


def test_more_labels_than_one_parameter_holds_go_on_in_the_next(tmp_path):
    path = _made(tmp_path / "walk.c3d", points=254)
    out, _ = _added(path, _points())
    _require_kept(path, out, 254)
    assert read_header(out).point_labels[-2:] == ("RHip", "LHip")
    assert ezc3d.c3d(str(out))["parameters"]["POINT"]["LABELS2"]["value"] == ["LHip"]


def test_channels_and_events_of_the_laboratory_stay_beside_ours(tmp_path):
    events = {
        "USED": 1,
        "CONTEXTS": ["Left"],
        "LABELS": ["Foot Strike"],
        "TIMES": np.array([[0.0, 0.47]]),
        "DESCRIPTIONS": ["theirs"],
    }
    parameters = {"EVENT": events, "POINT": {"ANGLES": ["RHip"], "ANGLE_UNITS": "deg"}}
    path = _made(tmp_path / "walk.c3d", parameters=parameters, labels=["A", "B", "C", "S:RHip", "D"])
    near = StoredEvent("Foot Strike", "Left", 0.06)  # the file's own at 0.47 - 0.40 s
    out, notes = _added(path, _points(), [near, *EVENTS])
    _require_kept(path, out, 5)
    assert SUFFIX in notes[0]
    file = ezc3d.c3d(str(out))["parameters"]
    assert file["POINT"]["ANGLES"]["value"] == ["RHip", f"RHip{SUFFIX}", f"LHip{SUFFIX}"]
    assert file["EVENT"]["DESCRIPTIONS"]["value"] == ["theirs", "found by biodyn", "found by biodyn"]
    assert file["EVENT"]["CONTEXTS"]["value"] == ["Left", "Right", "Left"]
    with pytest.raises(InputFileError, match="earlier export"):
        append_points_and_events(out, _points())


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda content: struct.pack_into("<B", content, 515, 85), "DEC byte order"),
        (lambda content: struct.pack_into("<H", content, 2, 4), "disagree"),
        (lambda content: struct.pack_into("<H", content, 512 + 4 + 2 + 5, 40_000), "."),
    ],
    ids=["another byte order", "header against parameters", "a broken list"],
)
def test_what_cannot_be_added_to_is_refused(tmp_path, spoil, words):
    path = _made(tmp_path / "walk.c3d")
    content = bytearray(path.read_bytes())
    spoil(content)
    path.write_bytes(content)
    with pytest.raises(InputFileError, match=words):
        append_points_and_events(path, _points())


def test_another_length_is_another_recording(tmp_path):
    path = _made(tmp_path / "walk.c3d")
    with pytest.raises(InputFileError, match="not the analysed recording"):
        append_points_and_events(path, [NewPoint("RHip", "ANGLES", "deg", "", np.zeros((FRAMES + 1, 3)))])
