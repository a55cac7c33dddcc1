"""Contacts and events of real recordings against what the laboratories stored; soles from three foot markers."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support import real
from support.feet_on_plates import feet_on_plates

from biodyn.io.formats.c3d.reader import read_c3d
from biodyn.processing.contacts.foot_motion import GaitPoints
from biodyn.processing.contacts.plate_loads import PlateSignals
from biodyn.processing.contacts.settings import ContactSettings
from biodyn.processing.contacts.stances_off_plates import EVENT_ERROR_S
from biodyn.processing.gait.events import gait_events, plate_events
from biodyn.processing.gait.kinematic_events import foot_excursion_events, kinematic_events
from biodyn.processing.gait.settings import GaitSettings
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.plate_wrenches import plate_wrench, resample_wrench
from biodyn.processing.signals.world_frame import find_world

pytestmark = pytest.mark.real

CUTOFF_HZ = 6.0
PLUG_IN_GAIT = {"heel": "{}HEE", "toe": "{}TOE", "ankle": "{}ANK", "front": "{}ASI"}
ANATOMICAL = {"heel": "{}_FCC", "toe": "{}_FM1", "ankle": "{}_FAL", "front": "{}_IAS"}
BACK = [("SACR",), ("LPSI", "RPSI"), ("L_IPS", "R_IPS")]
ZOO, SYDNEY = "gait/biomechzoo", "gait/sydney"
# (static, walk) -> plate and side of every contact in order of time, "-" where it is not assigned. The laboratories
# gave forces to the same single-plate contacts, with two differences: they left the steps over two plates out
# (S4-AMGait03, 06, 07), and used the left one of the turn, whose force ends 0.3 s before the foot leaves the floor.
WALKS = {
    (f"{ZOO}/HC038A/Static/HC038A01", f"{ZOO}/HC038A/Straight/HC038A11"): "2r 1l",
    (f"{ZOO}/HC030A/Static/HC030A01", f"{ZOO}/HC030A/Straight/HC030A05"): "2r 1l",
    (f"{ZOO}/HC002D/Static/HC002D02", f"{ZOO}/HC002D/Straight/HC002D06"): "2r 1l",
    (f"{ZOO}/HC032A/Static/HC032A01", f"{ZOO}/HC032A/Straight/HC032A03"): "2r 1l",
    (f"{ZOO}/HC032A/Static/HC032A01", f"{ZOO}/HC032A/Turn/HC032A18"): "2r 1-",
    (f"{SYDNEY}/static/S4 AM Cal 01", f"{SYDNEY}/dynamic/S4-AMGait03"): "3r 2l 1l",
    (f"{SYDNEY}/static/S4 AM Cal 01", f"{SYDNEY}/dynamic/S4-AMGait04"): "1r 2l 3-",
    (f"{SYDNEY}/static/S4 AM Cal 01", f"{SYDNEY}/dynamic/S4-AMGait05"): "3r 2l 1-",
    (f"{SYDNEY}/static/S4 AM Cal 01", f"{SYDNEY}/dynamic/S4-AMGait06"): "1r 2l 3l",
    (f"{SYDNEY}/static/S4 AM Cal 01", f"{SYDNEY}/dynamic/S4-AMGait07"): "3r 2l 1l",
    ("gait/btk_pig/PiG_Calibration3_FF", "gait/btk_pig/PiG_Motion3_FF"): "1l 2r 3l",
    ("gait/schreiber2019/2014001_ST", "gait/schreiber2019/2014001_C1_01"): "2l 1r",
}


class Scene:
    """A walk in World: filtered points, soles carried by three markers of the foot, plates."""

    def __init__(self, static_path: Path, walk_path: Path):
        still, moving = (read_c3d(path) for path in (static_path, walk_path))
        still = still.rotated(find_world(still).R_WL)
        self.recording = moving.rotated(find_world(moving).R_WL)
        markers = self.recording.markers
        self.rate_hz, frames = markers.rate_hz, markers.frame_count
        names = PLUG_IN_GAIT if "RHEE" in markers.labels else ANATOMICAL

        def mean(label):
            return np.nanmean(still.markers.positions[:, still.markers.index(label)], axis=0)

        def path(label):
            return butterworth_lowpass(markers.positions[:, markers.index(label)], self.rate_hz, CUTOFF_HZ)

        self.heel, self.toe, self.soles = {}, {}, {}
        for side in "rl":
            three = [names[part].format(side.upper()) for part in ("heel", "toe", "ankle")]
            self.soles[side] = carried(
                outline(*(mean(label) for label in three)),
                [mean(label) for label in three],
                [path(label) for label in three],
            )
            self.heel[side], self.toe[side] = path(three[0]), path(three[1])
        front = np.mean([path(names["front"].format(letter)) for letter in "RL"], axis=0)
        back = next(group for group in BACK if all(label in markers.labels for label in group))
        back = np.mean([path(label) for label in back], axis=0)
        self.pelvis, self.forward = 0.5 * (front + back), front - back
        self.plates = []
        for plate in self.recording.plates:
            raw = plate_wrench(plate, frames, self.rate_hz)
            smooth = replace(raw, wrench=butterworth_lowpass(raw.wrench, raw.rate_hz, CUTOFF_HZ))
            at_frames = resample_wrench(smooth, frames, self.rate_hz).wrench
            self.plates.append(PlateSignals(plate.number, plate.corners, at_frames, raw.wrench[:, 4], raw.rate_hz))
        self.contacts, self.reaction = feet_on_plates(
            self.plates, self.soles, self.rate_hz, ContactSettings(), smear_s=0.5 / CUTOFF_HZ
        )


def foot_axes(heel, toe, ankle):
    x = (toe - heel) / np.linalg.norm(toe - heel, axis=-1, keepdims=True)
    z = np.cross(x, ankle - heel)
    z /= np.linalg.norm(z, axis=-1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def outline(heel, toe, ankle):
    """Fourteen points on the floor around a foot that stands flat: a third longer than heel to toe marker."""
    ahead = (toe - heel) * [1.0, 0.0, 1.0]
    right = np.cross(ahead, [0.0, 1.0, 0.0])
    along = np.array([0, 0.25, 0.5, 0.75, 1, 1.2, 1.32, 1.2, 1, 0.75, 0.5, 0.25, 0, -0.03])
    across = 0.38 * np.array([0.3, 0.35, 0.4, 0.45, 0.5, 0.4, 0, -0.4, -0.5, -0.45, -0.4, -0.35, -0.3, 0])
    return heel * [1.0, 0.0, 1.0] + along[:, None] * ahead + across[:, None] * right


def carried(points, still, moving):
    local = (points - still[0]) @ foot_axes(*still)
    return moving[0][:, None] + np.einsum("tij,kj->tki", foot_axes(*moving), local)


@pytest.fixture(scope="module")
def scenes():
    folder = real.recordings()
    return {
        Path(walk).name: (Scene(Path(folder, f"{static}.c3d"), Path(folder, f"{walk}.c3d")), expected)
        for (static, walk), expected in WALKS.items()
    }


def test_every_contact_is_decided_as_the_laboratory_did(scenes):
    for name, (scene, expected) in scenes.items():
        found = " ".join(f"{c.plate}{c.side if c.decision == 'assigned' else '-'}" for c in scene.contacts)
        assert found == expected, name


def test_assigned_feet_carry_the_plates_whole_wrench(scenes):
    for name, (scene, expected) in scenes.items():
        if "-" in expected:
            continue
        # Just before a strike that no plate saw the feet have what the filter is expected to spread there.
        both = scene.reaction.balanced_frames("r") & scene.reaction.balanced_frames("l")
        assert both.any(), name
        feet = scene.reaction.wrench["r"] + scene.reaction.wrench["l"]
        total = sum(plate.wrench for plate in scene.plates)
        # Away from the contacts the plates' own noise and drift is left out: a few newtons.
        assert np.abs(feet - total)[both, 3:].max() < 5.0, name


def test_a_foot_on_the_floor_beside_the_plates_is_unmeasured(scenes):
    """Between the file's strike and off of a foot that no plate carries at mid-stance, nothing may pass as measured."""
    checked = 0
    for name, (scene, _) in scenes.items():
        for side in "rl":
            own = [event for event in scene.recording.events if event.side == side]
            own.sort(key=lambda event: event.time_s)
            for strike, off in pairwise(own):
                carried_here = any(
                    c.side == side and c.decision == "assigned" and c.start_s < off.time_s and c.end_s > strike.time_s
                    for c in scene.contacts
                )
                if strike.kind != "foot_strike" or carried_here:
                    continue
                # the movement tells a strike to 0.02 s
                first = math.ceil((strike.time_s + EVENT_ERROR_S) * scene.rate_hz)
                stop = round(off.time_s * scene.rate_hz)
                assert not scene.reaction.measured[side][first:stop].any(), (name, side, strike.time_s)
                checked += 1
    assert checked > 15


def differences(found, stored):
    """Differences in ms to the stored events, NaN where nothing of that kind lies within 0.15 s."""
    result = {"foot_strike": [], "foot_off": []}
    for event in stored:
        gaps = [one.time_s - event.time_s for one in found if (one.side, one.kind) == (event.side, event.kind)]
        nearest = min(gaps, key=abs, default=np.nan)
        result[event.kind].append(1000 * nearest if abs(nearest) < 0.15 else np.nan)
    return result


def test_events_against_those_stored(scenes):
    """Printed with -s: mean and mean absolute difference to the file's events, in ms."""
    table = {}
    for scene, _ in scenes.values():
        stored = scene.recording.events
        points = (scene.heel, scene.toe, scene.pelvis, scene.forward, scene.rate_hz)
        frames = len(scene.pelvis)
        feet = GaitPoints({}, scene.heel, scene.toe, scene.pelvis, scene.forward, np.zeros(3))
        moved = kinematic_events(feet, scene.rate_hz)
        (merged, _), (without, _) = (
            gait_events(by, [], moved, GaitSettings(), pelvis_W=scene.pelvis, rate_hz=scene.rate_hz)
            for by in (scene.contacts, [])
        )
        sources = {
            "plate": plate_events(scene.contacts, frames / scene.rate_hz, 1 / scene.rate_hz),
            "kinematic, raw": foot_excursion_events(*points),
            "kinematic, typical bias off": without,
            "merged without the file": merged,
        }
        for source, events in sources.items():
            for kind, values in differences(events, stored).items():
                table.setdefault((source, kind), []).extend(values)
    absolute = {}
    for (source, kind), values in table.items():
        ms = np.array(values)
        absolute[source, kind] = np.nanmean(np.abs(ms))
        print(
            f"{source:28s} {kind:12s} {np.isfinite(ms).sum():3d} of {len(ms)} found, mean {np.nanmean(ms):6.1f} ms, "
            f"mean absolute {absolute[source, kind]:5.1f} ms, largest {np.nanmax(np.abs(ms)):5.1f} ms"
        )
        if source == "merged without the file":
            # A few events lie too near the first or last frame for a turning point to show.
            assert np.isfinite(ms).mean() > 0.93
    # The file's events are themselves on frames (10 ms) and of mixed origin; two frames for movement (Zeni 2008).
    assert absolute["plate", "foot_strike"] < 10.0
    assert absolute["plate", "foot_off"] < 15.0
    for kind in ("foot_strike", "foot_off"):
        assert absolute["merged without the file", kind] < 15.0
        assert absolute["kinematic, typical bias off", kind] < 20.0
