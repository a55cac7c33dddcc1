"""When plates are loaded, told from their channels before anything else is known of them."""

from __future__ import annotations

from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.recording import ForcePlate

# Types whose third channel, or third output of the matrix, is the force along the normal; of type 3 the last four are its parts.
_WITH_FORCE: Final = (1, 2, 4, 5)
_FOUR_PARTS: Final = 3
# A foot presses with more than this at some time, N, and is on the plate while it presses with more than this share of that.
_LEAST_N: Final = 150.0
_LOADED_SHARE: Final = 0.05
# A plate is unloaded for a third of a recording at least; a step is not shorter, nor a break within one.
_UNLOADED_PERCENT: Final = 20.0
_LEAST_S: Final = 0.1


def normal_force(plate: ForcePlate) -> FloatArray | None:
    """Return the force (Ta,) N along a plate's normal, as stored; None where its channels do not hold it or hold no number."""
    outputs = plate.outputs
    if plate.type == _FOUR_PARTS:
        force = outputs[:, 4:8].sum(axis=1)
    elif plate.type in _WITH_FORCE:
        force = outputs[:, 2]
    else:
        return None
    return force if np.isfinite(force).all() else None


def loading_times(plate: ForcePlate) -> tuple[FloatArray, FloatArray]:
    """Return when a plate's load begins and when it ends (each (N,) s from the first sample), within the recording.

    Empty where the plate tells nothing. Not the contacts of an analysis: no foot is known, and no offset but the usual reading.
    """
    force = normal_force(plate)
    if force is None or not len(force):
        return np.empty(0), np.empty(0)
    size = np.abs(force - np.median(force[np.abs(force) <= np.percentile(np.abs(force), _UNLOADED_PERCENT)]))
    if size.max() < _LEAST_N:
        return np.empty(0), np.empty(0)
    loaded = size > _LOADED_SHARE * size.max()
    shortest = _LEAST_S * plate.rate_hz
    for state in (False, True):  # breaks first, then what is left of a load
        edges = np.flatnonzero(np.diff(np.concatenate([[not state], loaded, [not state]]) == state))
        for first, stop in zip(edges[::2], edges[1::2], strict=True):
            if stop - first < shortest and first > 0 and stop < len(loaded):
                loaded[first:stop] = not state
    change = np.diff(loaded.astype(np.int8))
    return (np.flatnonzero(change > 0) + 1) / plate.rate_hz, (np.flatnonzero(change < 0) + 1) / plate.rate_hz
