"""Pole trials over force plates with planted errors, and the calibration of the plates applied to a walk."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulator.plates import Plate
from simulator.pole import PlateError as Planted
from simulator.pole import PoleOptions, write_pole_trial
from support.sessions import Laboratory, without_plates
from typer.testing import CliRunner, Result

import biodyn
from biodyn.cli import app
from biodyn.errors import PlateError, SettingsError
from biodyn.io import read
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.recording import ForcePlate, PlateCalibration, PlateCorrection
from biodyn.study import open_session

TWO_PLATES = (Plate(2, 0.0), Plate(4, 0.8, turned=True))
ERRORS = (
    Planted(
        np.array([0.02, -0.015, 0.01]), np.radians([0.8, -1.0, 2.0]), np.diag([1.03, 0.97, 1.05, 0.96, 1.04, 1.03])
    ),
    Planted(np.array([-0.01, 0.02, -0.015]), np.radians([-0.5, 1.0, -1.5])),
)
# Targets of a check with a pole: 1 mm, 0.1 degrees, 0.3 %; centre of pressure within 2 mm afterwards.
SHIFT_M, TURN_RAD, GAIN, COP_M = 1e-3, np.radians(0.1), 3e-3, 2e-3
QUICK = {"signals": {"method": "butterworth"}, "uncertainty": {"compute": False}, "output": {"figures": False}}


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def written(folder: Path, name: str = "pole.c3d", plates=TWO_PLATES, errors=ERRORS, **options: object) -> Path:
    return write_pole_trial(folder / name, plates, errors, PoleOptions(**options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def one_plate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short trial over one plate."""
    return written(tmp_path_factory.mktemp("pole"), plates=TWO_PLATES[:1], errors=ERRORS[:1], places=2, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "layout", ["both ends", pytest.param("above", marks=pytest.mark.slow), pytest.param("line", marks=pytest.mark.slow)]
)
def test_planted_errors_are_found(layout: str, tmp_path: Path) -> None:
    """With noise, a pole that bends, and markers at both ends, above only, or on a line."""
    trial = written(tmp_path, layout=layout, known_mass_kg=20.0)
    out = tmp_path / "plates.toml"
    done = command("plates", trial, "--pole-mass", 1.2, "--known-mass", 20, "--out", out)
    assert done.exit_code == 0, done.output
    calibration = PlateCalibration.read(out)
    assert calibration.method == "pole"
    assert calibration.sources == ((trial.name, read(trial).sha256),)
    for found, true in zip(calibration.plates, ERRORS, strict=True):
        np.testing.assert_allclose(found.shift, true.shift, atol=SHIFT_M)
        np.testing.assert_allclose(found.turn, true.turn, atol=TURN_RAD)
        np.testing.assert_allclose(np.diag(found.sensitivity), np.diag(true.sensitivity), atol=GAIN)
        assert found.cop_error[0] > 0.02
        assert found.cop_error[1] < COP_M
        assert (np.abs(found.shift - true.shift) < 4.0 * found.shift_sd).all()


@pytest.mark.slow
def test_correction_holds_in_another_trial(one_plate: Path, tmp_path: Path) -> None:
    check = biodyn.calibrate_plates(one_plate, pole_mass_kg=1.2)
    second = written(tmp_path, plates=TWO_PLATES[:1], errors=ERRORS[:1], places=2, seed=9)
    (cop, direction), *_ = biodyn.calibrate_plates(second, pole_mass_kg=1.2).rms_errors(check.calibration).values()
    assert cop < COP_M
    assert direction < np.radians(0.3)  # the moment of the hand in it: 0.5 Nm / 1.4 m / 300 N = 0.07 degrees each
    check.calibration.write(tmp_path / "plates.toml")
    shown = command("plates", second, "--apply", tmp_path / "plates.toml")
    assert shown.exit_code == 0
    assert "errors on plate 1: centre of pressure 0." in shown.output


@pytest.mark.slow
def test_common_gain_needs_a_known_load(one_plate: Path) -> None:
    done = command("plates", one_plate)
    assert done.exit_code == 0
    assert "Fz +0.0 (assumed)" in done.output
    assert "A common gain of all channels cannot be determined with a pole" in done.output
    (found,) = biodyn.calibrate_plates(one_plate).calibration.plates
    assert np.isnan(found.sensitivity_sd[2, 2])
    ratio = np.diag(ERRORS[0].sensitivity) / ERRORS[0].sensitivity[2, 2]
    np.testing.assert_allclose(
        np.diag(found.sensitivity), ratio, atol=3.0 * GAIN
    )  # four places, mass of the pole unknown


@pytest.mark.slow
def test_crosstalk_is_found(tmp_path: Path) -> None:
    C = np.eye(6)
    C[0, 2], C[4, 0] = 0.01, 0.004  # 1 % of Fz in Fx; Fx in My as crosstalk and not as a displacement
    trial = written(tmp_path, plates=TWO_PLATES[:1], errors=(Planted(sensitivity=C),))
    (result,) = biodyn.calibrate_plates(trial, pole_mass_kg=1.2).results
    assert result.correction.cop_error[1] < COP_M
    assert result.correction.direction_error[1] < 0.5 * result.correction.direction_error[0]


# -- what cannot be done ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"places": 1}, "Plate 1 was loaded at 1 point"),
        ({"tilt_deg": 4.0, "places": 2}, "degrees (RMS). At least"),
        ({"push_n": 20.0, "places": 1}, "is loaded by more than 40 N"),
    ],
)
def test_too_little_is_refused(options: dict[str, float], sentence: str, tmp_path: Path) -> None:
    trial = written(tmp_path, plates=TWO_PLATES[:1], errors=ERRORS[:1], **options)
    done = command("plates", trial)
    assert done.exit_code == 2
    assert sentence in done.output


def test_walk_is_no_pole_trial(laboratory: Laboratory) -> None:
    done = command("plates", laboratory.walk)
    assert done.exit_code == 2
    assert "biodyn:" in done.output


def test_recording_without_plates_is_refused(laboratory: Laboratory, tmp_path: Path) -> None:
    without_plates(tmp_path / "bare.c3d", laboratory.trials["walk"])
    done = command("plates", tmp_path / "bare.c3d")
    assert done.exit_code == 2
    assert "holds no force plate" in done.output


@pytest.mark.slow
def test_exchanged_plates_are_named(tmp_path: Path) -> None:
    apart = (Plate(2, 0.0), Plate(2, 0.8))
    far = Planted(shift=np.array([0.8, 0.0, 0.0]))  # the pole stands on the other one
    trial = written(tmp_path, plates=apart, errors=(far, replace(far, shift=-far.shift)), places=2)
    done = command("plates", trial)
    assert done.exit_code == 2
    assert "while the tip of the pole is on plate" in done.output


def test_existing_file_is_kept(one_plate: Path, tmp_path: Path) -> None:
    out = tmp_path / "plates.toml"
    out.write_text("mine", encoding="utf-8")
    assert command("plates", one_plate, "--out", out).exit_code == 2
    assert out.read_text(encoding="utf-8") == "mine"


# -- the calibration applied --------------------------------------------------------------------------------------------


def calibration_of(path: Path, shift: np.ndarray, sensitivity: np.ndarray | None = None) -> PlateCalibration:
    """A calibration of all plates of a recording."""
    zero = np.zeros(3)
    C = np.eye(6) if sensitivity is None else sensitivity
    plates = tuple(
        PlateCorrection(p.number, p.corners, shift, zero, C, zero, zero, np.full((6, 6), np.nan), (0.01, 0.001))
        for p in read(path).plates
    )
    return PlateCalibration(datetime.date(2026, 1, 31), "pole", (("pole.c3d", "0" * 64),), plates)


def test_file_keeps_the_values(laboratory: Laboratory, tmp_path: Path) -> None:
    before = calibration_of(laboratory.walk, np.array([0.01, -0.002, 0.003]), np.eye(6) + 0.001)
    before.write(tmp_path / "plates.toml")
    after = PlateCalibration.read(tmp_path / "plates.toml")
    assert (after.date, after.method, after.sources) == (before.date, before.method, before.sources)
    for name in ("corners", "shift", "turn", "sensitivity", "sensitivity_sd", "cop_error"):
        for a, b in zip(after.plates, before.plates, strict=True):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-9)


def test_correction_moves_the_reaction() -> None:
    """A shifted plate with a gain: its reaction moves along, and grows by the gain."""
    corners = np.array([[0.3, 0.0, 0.2], [-0.3, 0.0, 0.2], [-0.3, 0.0, -0.2], [0.3, 0.0, -0.2]])
    channels = np.zeros((1000, 6))
    channels[500:] = [20.0, 10.0, -700.0, 30.0, -40.0, 5.0]
    plate = ForcePlate(1, 2, corners, np.zeros(3), channels, 1000.0)
    shift, zero = np.array([0.02, 0.0, -0.01]), np.zeros(3)
    C = np.diag(np.full(6, 1.05))
    correction = PlateCorrection(1, corners, shift, zero, C, zero, zero, C)
    stored, corrected = (plate_wrench(p, 100, 100.0).wrench[-1] for p in (plate, correction.correct_plate(plate)))
    np.testing.assert_allclose(corrected[3:], 1.05 * stored[3:])
    np.testing.assert_allclose(corrected[:3], 1.05 * (stored[:3] + np.cross(shift, stored[3:])), atol=1e-9)


def test_run_applies_and_records_it(laboratory: Laboratory, tmp_path: Path) -> None:
    file = tmp_path / "plates.toml"
    calibration_of(laboratory.walk, np.array([0.01, 0.0, 0.0])).write(file)
    settings = tmp_path / "quick.toml"
    settings.write_text(
        '[signals]\nmethod = "butterworth"\n[uncertainty]\ncompute = false\n[output]\nfigures = false\n',
        encoding="utf-8",
    )
    done = command(
        "run", laboratory.walk, "--plates", file, "--settings", settings, "--out", tmp_path / "out", "--verbose"
    )
    assert done.exit_code in (0, 1), done.output
    assert "plates.toml (pole, 2026-01-31) is applied: plate 1: shift 10.0 mm" in done.output
    record = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert record["plate_check"]["date"] == "2026-01-31"
    assert record["plate_check"]["plates"][0]["shift_mm"] == [10.0, 0.0, 0.0]
    assert [entry["role"] for entry in record["user_files"]].count("plate calibration") == 1
    moved = np.array(record["plates"][0]["corners_W_m"]) @ np.array(record["world"]["R_WL"])
    np.testing.assert_allclose(moved - read(laboratory.walk).plates[0].corners, [[0.01, 0.0, 0.0]] * 4, atol=1e-6)
    assert "checked 2026-01-31, by a pole" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_without_calibration_the_report_says_so(laboratory: Laboratory, tmp_path: Path) -> None:
    result = biodyn.run_trial(laboratory.walk, laboratory.static, settings=QUICK)
    folder = result.save(tmp_path / "out")
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["plate_check"] is None
    assert "Force plates</td><td>not checked" in (folder / "report.html").read_text(encoding="utf-8").replace(
        "th>", "td>"
    )


@pytest.mark.parametrize(
    ("offset_m", "sentence"), [(0.02, "differ by 20.0 mm (at most 5 mm)"), (0.004, "are already corrected in the file")]
)
def test_calibration_of_other_corners_is_refused(
    offset_m: float, sentence: str, laboratory: Laboratory, tmp_path: Path
) -> None:
    calibration = calibration_of(laboratory.walk, np.array([offset_m, 0.0, 0.0]))
    # the calibration was made when the corners were elsewhere; the smaller offset is the correction itself
    plates = tuple(replace(p, corners=p.corners - [offset_m, 0.0, 0.0]) for p in calibration.plates)
    replace(calibration, plates=plates).write(tmp_path / "plates.toml")
    done = command("run", laboratory.walk, "--plates", tmp_path / "plates.toml", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert sentence in done.output
    assert not (tmp_path / "out").exists()
    with pytest.raises(PlateError, match="does not fit"):
        open_session([laboratory.walk], plates=tmp_path / "plates.toml")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no entry 'date'"),
        ('date = 2026-01-31\nmethod = "guess"\n', "method: expected one of"),
        ('date = 2026-01-31\nmethod = "pole"\n[[plate]]\nnumber = 1\n', "has no entry 'corners_mm'"),
        (
            'date = 2026-01-31\nmethod = "pole"\n[[plate]]\nnumber = 1\ncorners_mm = [1, 2]\n',
            "corners_mm: expected 4 x 3",
        ),
    ],
)
def test_invalid_file_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "plates.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=sentence):
        PlateCalibration.read(tmp_path / "plates.toml")
