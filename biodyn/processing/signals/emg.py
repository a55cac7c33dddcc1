"""Surface electromyography (EMG): muscles recognised in analog channels, linear envelopes, and times of activity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, Side
from biodyn.library.toml_files import load_table
from biodyn.processing.signals.filtering import butterworth_lowpass, finite_stretches
from biodyn.recording import AnalogSignals

# Band of surface EMG: electrode movement is below it (De Luca et al. 2010, J Biomech 43:1573-1579), almost no power above it.
BAND_HZ: Final = (20.0, 450.0)
#: Cut-off of the linear envelope, zero-lag 4th order (Winter 2009, Biomechanics and Motor Control, ch. 10: 3 to 6 Hz).
ENVELOPE_HZ: Final = 6.0
# Onset and offset: rectified signal, low-pass 50 Hz, against mean and SD of rest (Hodges & Bui 1996, Electroencephalogr Clin
# Neurophysiol 101:511-519: 3 SD of a known rest). The quietest windows of a trial underestimate rest: with 3 SD most simulated
# trials with bursts of 8 times the rest have false bursts, with 6 SD none of 40.
_ACTIVITY_HZ: Final = 50.0
_ACTIVITY_SD: Final = 6.0
_REST_WINDOW_S: Final = 0.2
_VOLTS: Final = {"v": 1e3, "mv": 1.0, "uv": 1e-3, "µv": 1e-3, "μv": 1e-3, "volt": 1e3, "volts": 1e3}


@dataclass(frozen=True, eq=False)
class MuscleActivity:
    """EMG of a muscle.

    Attributes:
        label: label of the channel. muscle: name of the muscle, or the label without its side if unknown. side: side of the
            body.
        rate_hz: samples per second; sample 0 is at the first frame.
        envelope: linear envelope (Ta,) mV. active: (Ta,) bool, True while the muscle is active.
    """

    label: str
    muscle: str
    side: Side
    rate_hz: float
    envelope: FloatArray
    active: BoolArray


def muscle_activity(signals: AnalogSignals) -> tuple[MuscleActivity, ...]:
    """Return the activity of every recorded muscle; empty if the sampling rate is too low for EMG.

    A channel is EMG if its unit is a voltage, its label has a side, and the label names a muscle or says EMG. If a file has
    such channels, other voltage channels whose label consists of a side and letters are EMG, too. Constant and
    unused channels are omitted.
    """
    volts = [i for i, unit in enumerate(signals.units) if unit.strip().lower() in _VOLTS]
    unused = load_table("variables/muscles")["unused"]
    parsed = {i: parse_channel_label(signals.labels[i]) for i in volts}
    read = {i: parts for i, parts in parsed.items() if parts is not None and parts[1] not in unused}
    sure = {i for i, (_, name, says) in read.items() if says or (len(name) > 2 and name in muscle_names())}
    if not sure or signals.rate_hz < 4.0 * _ACTIVITY_HZ:
        return ()
    result = []
    for i, (side, name, _) in read.items():
        values = signals.values[:, i]
        if (i in sure or name.isalpha()) and np.isfinite(values).all() and np.ptp(values) > 0.0:
            millivolts = _VOLTS[signals.units[i].strip().lower()] * values
            burst = filter_emg_band(millivolts, signals.rate_hz)
            muscle = muscle_names().get(name, name)
            envelope = linear_envelope(burst, signals.rate_hz)
            result.append(
                MuscleActivity(
                    signals.labels[i], muscle, side, signals.rate_hz, envelope, active_samples(burst, signals.rate_hz)
                )
            )
    return tuple(result)


@cache
def muscle_names() -> dict[str, str]:
    """Return the name of the muscle by each spelling in channel labels."""
    table: dict[str, Sequence[str]] = load_table("variables/muscles")["muscles"]
    return {spelling: muscle for muscle, spellings in table.items() for spelling in spellings}


def parse_channel_label(label: str) -> tuple[Side, str, bool] | None:
    """Return side, name in capitals, and whether the label contains "EMG"; None for a label without a side.

    The side is a word (right, left) or a letter at the beginning or end of the label: RVAS, TA_L, "EMG left soleus".
    """
    says = "EMG" in label.upper()
    pieces = [piece for piece in re.split(r"[^A-Z0-9]+", label.upper()) if piece]
    pieces = [piece for piece in pieces if not re.fullmatch(r"(S?EMG|VOLTAGE|IM|CH)?\d*", piece)]
    words: dict[str, Side] = {"RIGHT": "r", "R": "r", "RT": "r", "LEFT": "l", "L": "l", "LT": "l"}
    for piece in pieces:
        if piece in words and len(pieces) > 1:
            return words[piece], "".join(other for other in pieces if other is not piece), says
    name = "".join(pieces)
    for side in ("RIGHT", "LEFT", "R", "L"):
        if name.startswith(side) and len(name) > len(side) + 1:
            return words[side], name.removeprefix(side), says
    if len(name) > 2 and name[-1] in "RL" and name[:-1] in muscle_names():
        return words[name[-1]], name[:-1], says
    return None


def filter_emg_band(values: FloatArray, rate_hz: float) -> FloatArray:
    """Return the channel (Ta,) without offset and movement artefacts: zero-lag Butterworth filter of order 4 with band
    `BAND_HZ`."""
    from scipy.signal import butter, sosfiltfilt  # imported here, because the import takes 0.4 s

    high = min(BAND_HZ[1], 0.45 * rate_hz)
    sections = butter(2, (BAND_HZ[0], high), "bandpass", fs=rate_hz, output="sos")
    return np.asarray(sosfiltfilt(sections, values - values.mean()))


def linear_envelope(burst: FloatArray, rate_hz: float) -> FloatArray:
    """Return the linear envelope (Ta,) of a band-passed channel: rectified, low-pass filtered at `ENVELOPE_HZ`, at least 0."""
    return np.maximum(butterworth_lowpass(np.abs(burst), rate_hz, ENVELOPE_HZ), 0.0)


def active_samples(burst: FloatArray, rate_hz: float, shortest_s: float = 0.05, least_share: float = 0.1) -> BoolArray:
    """Return the samples (Ta,) in which a band-passed channel is active.

    The muscle is active while the rectified signal, low-pass filtered at 50 Hz, exceeds rest by six standard deviations and
    also `least_share` of its largest values. Rest is the quietest tenth of the windows of 0.2 s (at least one window). Bursts
    and pauses below `shortest_s` are ignored.
    """
    smooth = np.maximum(butterworth_lowpass(np.abs(burst), rate_hz, _ACTIVITY_HZ), 0.0)
    shortest, size = (max(round(width_s * rate_hz), 1) for width_s in (shortest_s, _REST_WINDOW_S))
    windows = smooth[: len(smooth) // size * size].reshape(-1, size)
    if not len(windows):
        return np.zeros(len(burst), dtype=bool)
    quiet = windows[np.argsort(windows.mean(axis=1))[: max(len(windows) // 10, 1)]]
    level = max(float(quiet.mean() + _ACTIVITY_SD * quiet.std()), least_share * float(np.quantile(smooth, 0.99)))
    active = smooth > level
    for value in (False, True):  # short pauses first, then short bursts
        for first, stop in finite_stretches(active == value):
            inside = value or (first > 0 and stop < len(active))
            if stop - first < shortest and inside:
                active[first:stop] = not value
    return active
