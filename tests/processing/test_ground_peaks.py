"""Peaks of the ground reaction: read at the plates' rate, whatever the frames; unknown where a part of them is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from biodyn.conventions import STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.output.report.sections.gait import parameter_rows
from biodyn.output.store.result_writer import write_view
from biodyn.output.tables.parquet_tables import to_parquet
from biodyn.processing.contacts.plate_loads import FootForces, forces_at_plate_rate
from biodyn.processing.gait.cycle_values import ground_peak_definitions, stance_peaks
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.recording import Contact, GroundReaction, PlateWrench
from biodyn.recording.wrenches import SharedLoad
from biodyn.study.trial_record import read_strides
from biodyn.trial.result import TrialResult

_PLATE_HZ, _SECONDS = 1000.0, 2.0
_CORNERS = np.array([[1.0, 0.0, -1.0], [-1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]])


def _plate(spike_s: float, number: int = 1) -> PlateWrench:
    """A stance from 0.5 to 1.2 s with a sideways spike, 16 ms wide at half its height."""
    t = np.arange(0.0, _SECONDS, 1.0 / _PLATE_HZ)
    wrench = np.zeros((len(t), 6))
    wrench[:, 4] = 700.0 * np.clip(np.minimum(t - 0.5, 1.2 - t) / 0.1, 0.0, 1.0)
    wrench[:, 5] = 80.0 * np.exp(-0.5 * ((t - spike_s) / 0.007) ** 2)
    return PlateWrench(number, _CORNERS, wrench, _PLATE_HZ)


def _reaction(frame_hz: float, shared: tuple[SharedLoad, ...] = ()) -> GroundReaction:
    frames = round(_SECONDS * frame_hz)
    known = {"r": np.ones(frames, dtype=bool), "l": np.ones(frames, dtype=bool)}
    none = {side: np.zeros((frames, 6)) for side in known}
    points = {side: np.full((frames, 3), np.nan) for side in known}
    moments = {side: np.full(frames, np.nan) for side in known}
    words = {side: [""] * frames for side in known}
    return GroundReaction(none, known, words, known, points, moments, shared)  # type: ignore[arg-type]


def _forces(contacts: list[Contact], plates: list[PlateWrench], reaction: GroundReaction, hz: float) -> FootForces:
    found = forces_at_plate_rate(contacts, plates, reaction, hz, threshold_n=20.0, order=4)
    assert found is not None
    return found


_STANCE = Contact(1, 0.5, 1.2, "r", "assigned", "")


@pytest.mark.parametrize("spike_s", [0.552, 0.555, 0.5575])
def test_a_narrow_peak_is_found_wherever_it_lies_between_frames(spike_s: float) -> None:
    plate = _plate(spike_s)
    truth = butterworth_lowpass(plate.wrench[:, 3:], _PLATE_HZ, 50.0, 4)[:, 2].max()
    peaks = [_forces([_STANCE], [plate], _reaction(hz), hz).wrench["r"][:, 5].max() for hz in (50.0, 100.0, 200.0)]
    np.testing.assert_allclose(peaks, truth, rtol=1e-12)
    if spike_s == 0.555:  # half-way between frames of 100 Hz: the data show what the frames lose
        assert butterworth_lowpass(plate.wrench[:, 3:], _PLATE_HZ, 50.0, 4)[::10, 2].max() < 0.9 * truth


def test_plates_of_two_rates_add_up() -> None:
    fast, slow = _plate(0.555), replace(_plate(0.9, number=2), wrench=_plate(0.9).wrench[::2], rate_hz=_PLATE_HZ / 2)
    contacts = [_STANCE, Contact(2, 0.5, 1.2, "r", "assigned", "")]
    both = _forces(contacts, [fast, slow], _reaction(100.0), 100.0)
    assert both.rate_hz == _PLATE_HZ
    at = round(0.8 * _PLATE_HZ)
    assert both.wrench["r"][at, 4] == pytest.approx(1400.0, abs=1.0)
    np.testing.assert_array_equal(both.wrench["l"], 0.0)


def test_a_load_of_two_feet_belongs_to_neither_unless_it_was_shared_out() -> None:
    plate = _plate(0.555)
    contacts = [replace(_STANCE, end_s=0.9), replace(_STANCE, start_s=0.8, side="l")]
    alone = _forces(contacts, [plate], _reaction(100.0), 100.0)
    assert not alone.loaded["r"].any()
    assert not alone.loaded["l"].any()
    shares = tuple(
        SharedLoad(1, side, 500, plate.wrench[500:1201] * share, 50, np.zeros((71, 6)), np.zeros((1, 71, 6)))  # type: ignore[arg-type]
        for side, share in (("r", 0.4), ("l", 0.6))
    )
    shared = _forces(contacts, [plate], _reaction(100.0, shares), 100.0)
    assert shared.loaded["r"][550:850].all()
    assert shared.loaded["l"][850:1150].all()
    total = shared.wrench["r"] + shared.wrench["l"]
    np.testing.assert_allclose(total[700:1000, 4], 700.0, rtol=1e-3)


def test_an_unmeasured_frame_is_unknown_up_to_its_neighbours() -> None:
    reaction = _reaction(100.0)
    reaction.measured["r"][80] = False
    found = _forces([_STANCE], [_plate(0.555)], reaction, 100.0)
    unknown = np.flatnonzero(np.isnan(found.wrench["r"][:, 4]))
    assert (unknown[0], unknown[-1]) == (791, 809)
    assert not found.loaded["r"][unknown].any()


def test_without_a_contact_of_a_foot_there_is_nothing() -> None:
    rejected = replace(_STANCE, decision="rejected", side=None)
    for contacts in ([], [rejected], [replace(_STANCE, plate=7)]):
        assert forces_at_plate_rate(contacts, [_plate(0.6)], _reaction(100.0), 100.0, threshold_n=20.0, order=4) is None


def _at_frames(result: TrialResult, values: FloatArray, rate_hz: float) -> FloatArray:
    step = round(rate_hz / result.analysis.recording.markers.rate_hz)
    return values[::step][: len(result.analysis.time_s)]


def test_samples_at_the_frames_are_those_of_the_frames(walk_result: TrialResult) -> None:
    """One filter, one sum over plates: what differs is that the edges of a contact end a little earlier in one of them."""
    analysis = walk_result.analysis
    forces, reaction = analysis.plate_rate_forces, analysis.reaction.full_bandwidth_reaction
    assert forces is not None
    for side, wrench in forces.wrench.items():
        rows = _at_frames(walk_result, forces.loaded[side][:, None], forces.rate_hz)[:, 0]
        assert rows.sum() > 50
        fast = _at_frames(walk_result, wrench, forces.rate_hz)[rows]
        np.testing.assert_allclose(fast, reaction.wrench[side][rows], atol=1e-3 * np.abs(fast).max())
        point = _at_frames(walk_result, forces.centre_of_pressure[side], forces.rate_hz)[rows]
        np.testing.assert_allclose(point, reaction.centre_of_pressure[side][rows], atol=2e-3, equal_nan=True)


def test_parameters_are_peaks_of_the_full_rate_table(walk_result: TrialResult) -> None:
    table, strides = walk_result.ground_reaction_full_rate, walk_result.spatiotemporal
    weight_n = walk_result.analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2
    known = strides[strides["vertical_force_first_BW"].notna()]
    assert len(known) >= 2
    for _, row in known.iterrows():
        own = table[table["side"].astype(str) == row["side"]]
        half = own[own["time_s"].between(row["start_s"], 0.5 * (row["start_s"] + row["foot_off_s"]))]
        assert row["vertical_force_first_BW"] == pytest.approx(half["ground_force_y_N"].max() / weight_n, rel=1e-6)
        assert row["braking_force_max_BW"] == pytest.approx(-half["ground_force_x_N"].min() / weight_n, rel=1e-6)
        assert 0.0 < row["medial_force_max_BW"] < 0.3
        assert row["vertical_force_trough_BW"] < 1.0


def test_what_nobody_walks_has_no_peak(walk_result: TrialResult) -> None:
    analysis = walk_result.analysis
    measured = analysis.recording.markers.rate_hz, analysis.subject.mass_kg
    cycles = list(analysis.cycles)
    before = stance_peaks(cycles, analysis.plate_rate_forces, analysis.reaction.full_bandwidth_reaction, *measured)
    row = int(np.flatnonzero(np.isfinite(before).all(axis=1))[0])
    column = cycles[row].variables.index("ground_force_x")
    cycles[row] = replace(cycles[row], reasons={column: "jumps"})
    after = stance_peaks(cycles, analysis.plate_rate_forces, analysis.reaction.full_bandwidth_reaction, *measured)
    gone = [peak.axis == "x" for peak in ground_peak_definitions()]
    assert np.isnan(after[row, gone]).all()
    np.testing.assert_array_equal(after[row, np.logical_not(gone)], before[row, np.logical_not(gone)])


def test_packed_results_leave_the_full_rate_out(walk_result: TrialResult, tmp_path: Path) -> None:
    for name, pack in (("text", False), ("packed", True)):
        (tmp_path / name).mkdir()
        write_view(walk_result.view, tmp_path / name, pack)
        written = {path.stem for path in (tmp_path / name / "tables").iterdir()}
        assert ("ground_reaction_full_rate" in written) is not pack
        assert "ground_reaction" in written


def test_parameters_of_many_strides_are_read_from_a_packed_table(walk_result: TrialResult, tmp_path: Path) -> None:
    (tmp_path / "spatiotemporal.parquet").write_bytes(to_parquet(walk_result.spatiotemporal))
    found = read_strides(tmp_path / "spatiotemporal.csv")
    assert len(found) == len(walk_result.spatiotemporal) > 1
    for _, row in walk_result.spatiotemporal.iterrows():
        own = found[row["side"], row["cycle"]]
        assert "start_s" not in own
        np.testing.assert_allclose(own["stride_time_s"], row["stride_time_s"], atol=1e-5)
        np.testing.assert_allclose(own["braking_force_max_BW"], row["braking_force_max_BW"], atol=1e-5)


def test_the_report_shows_peaks_with_the_ground_reaction(walk_result: TrialResult) -> None:
    """Not among the first parameters, which stand before the curves."""
    table = walk_result.spatiotemporal
    peaks = {row["label"]: row for row in parameter_rows(table, peaks=True)}
    assert "Peak braking GRF" in peaks
    assert not {row["label"] for row in parameter_rows(table)} & set(peaks)
    row = peaks["Vertical GRF, first peak"]
    assert row["unit"] == "BW"
    assert 0.9 < float(row["r"]["mean"]) < 1.5
