"""One unbroken loading of one plate, and what was decided about a stretch of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from biodyn.conventions import FloatArray, Side
from biodyn.processing.contacts.foot_outline import FootOutline
from biodyn.processing.contacts.loading import PlateSignals
from biodyn.processing.contacts.parameters import ContactSettings
from biodyn.processing.contacts.presence import Presence
from biodyn.recording.wrenches import Contact

# The sole's outline is known to about this; less overlap with a plate, or less overhang, says nothing.
OUTLINE_ERROR_M = 0.015
# Kinematic stance begins and ends within about this of the true one (Zeni, O'Connor: 16 +- 15 ms): ignore less.
MIN_SHARED_S = 0.05


@dataclass(frozen=True)
class Load:
    """One unbroken loading of one plate, or a part of it, with everything needed to decide about it.

    Attributes:
        index: of the plate among `plates`; plate: its signals. plates: all, the floor that is measured.
        foot_outlines: both feet. presence: when they can load the plate.
        cop: (T, 3) m centre of pressure on the plate's surface.
        raised: a stair: what hangs over its edge hangs in the air.
        rate_hz: marker rate.
        start_s, end_s: of the raw force; first, stop: its marker frames, stop exclusive.
        threshold_n: vertical force that counts as contact on this plate (more than the setting where it is noisy).
        settings: the section [contacts]. smear_s, mass_kg: see `decide.decide_contacts`.
    """

    index: int
    plate: PlateSignals
    plates: Sequence[PlateSignals]
    foot_outlines: Mapping[Side, FootOutline]
    presence: Presence
    cop: FloatArray
    raised: bool
    rate_hz: float
    start_s: float
    end_s: float
    first: int
    stop: int
    threshold_n: float
    settings: ContactSettings
    smear_s: float
    mass_kg: float | None


@dataclass(frozen=True)
class SharedWrench:
    """One foot's part of a load that two feet put on one plate, in a window around its stance; zero beside it.

    Attributes:
        raw: (n, 6) F_Wo_W at the plate's rate, not filtered, from sample `first_sample` on.
        wrench: (m, 6) the same as the plates' wrenches are: filtered, at the marker frames from `first_frame` on.
        sd: (K, m, 6) one standard deviation of `wrench` by K independent causes.
    """

    first_sample: int
    raw: FloatArray
    first_frame: int
    wrench: FloatArray
    sd: FloatArray


@dataclass(frozen=True)
class PlateContact:
    """One decided stretch of a plate's loading.

    Attributes:
        contact: the record for tables and reports.
        plate: index into the plates given (not the number in the file).
        first, stop: marker frames of the raw loading, stop exclusive.
        feet: sides whose ground reaction the stretch concerns: the one assigned, or those that stay unmeasured.
        cut_before, cut_after: the load goes on without a break before or after this stretch (two feet on one plate).
        hanging_m: (n,) how far the low part of the sole lies beyond the plates in each frame, of a contact that was rejected for
            that alone; None for all others.
        share: the foot's share of the plate's load, where two feet were on it; None = all of it is the foot's.
    """

    contact: Contact
    plate: int
    first: int
    stop: int
    feet: tuple[Side, ...]
    cut_before: bool = False
    cut_after: bool = False
    hanging_m: FloatArray | None = None
    share: SharedWrench | None = None
