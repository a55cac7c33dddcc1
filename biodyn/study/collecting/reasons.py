"""Why a value of a gait cycle is missing, in a few words that stay the same from trial to trial."""

from __future__ import annotations

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, IntArray, Side
from biodyn.processing.dynamics.solve import feet_below, lost_below
from biodyn.processing.gait.cycle_values import CycleValues
from biodyn.processing.gait.variables import CycleSignal
from biodyn.recording import GroundReaction

_UNSEEN = "markers missing"
_NO_ACCELERATION = "too close to the end of the recording or of a gap"
_OTHER = "not computed"


class FrameReasons:
    """For every signal and frame the reason why it is unknown, as a number of `words`; 0 (no reason) is "".

    Numbers that differ from trial to trial (a distance, a time) stay in the trial's own tables: reasons can be counted.
    """

    def __init__(self, analysis: TrialAnalysis) -> None:
        self._analysis = analysis
        self._frames = len(analysis.time_s)
        self.words: list[str] = ["", _OTHER]
        reaction = analysis.reaction
        self._ground = {side: self._contact_codes(side, reaction.as_measured) for side in reaction.wrench}
        self._loads = {side: self._contact_codes(side, reaction) for side in reaction.wrench}
        sides: list[Side] = [side for side in analysis.reaction.wrench if side in analysis.model.sole_body]
        self._feet = feet_below(analysis.model, sides)
        self._kept: dict[tuple[str, str, int], IntArray] = {}

    def of(self, signal: CycleSignal, side: Side) -> IntArray:
        """Return the codes (T,) of a signal of that side's `cycle_signals`."""
        if signal.kind == "ground":
            return self._ground[side]
        # A load does not depend on its own coordinate but on all beyond its joint.
        key = (signal.kind, signal.body, signal.coordinate if signal.kind == "angle" else -1)
        if key not in self._kept:
            self._kept[key] = self._load(signal.body) if signal.kind == "load" else self._angle(signal)
        return self._kept[key]

    def _angle(self, signal: CycleSignal) -> IntArray:
        fit = self._analysis.fit
        unseen = ~fit.solved
        if signal.coordinate >= 0:
            unseen = unseen | fit.lost[:, signal.coordinate]
        return np.where(unseen, self.code(_UNSEEN), 0)

    def _load(self, body: str) -> IntArray:
        fit = self._analysis.fit
        codes = np.zeros(self._frames, dtype=np.int64)
        for side in self._feet[body]:
            codes = self._both(codes, self._loads[side])
        codes[~fit.reliable] = self.code(_NO_ACCELERATION)
        codes[~fit.solved | lost_below(fit, body)] = self.code(_UNSEEN)
        return codes

    def _both(self, first: IntArray, second: IntArray) -> IntArray:
        """Codes of both reasons, where there are two."""
        codes = np.where(first > 0, first, second)
        two = (first > 0) & (second > 0)
        for a, b in np.unique(np.stack([first[two], second[two]], axis=1), axis=0):
            codes[two & (first == a) & (second == b)] = self.code(f"{self.words[a]}; {self.words[b]}")
        return codes

    def _contact_codes(self, side: Side, reaction: GroundReaction) -> IntArray:
        foot = f"{SIDE_NAMES[side]} foot"
        short = {
            f"plate {c.plate}: {c.reason}": f"contact of the {foot} with plate {c.plate} {c.decision}"
            for c in self._analysis.contacts
        }
        texts = reaction.reason[side]
        return np.array([self.code(short.get(text, text)) for text in texts], dtype=np.int64)

    def code(self, text: str) -> int:
        """Number of a reason in `words`; a new one is added."""
        if text not in self.words:
            self.words.append(text)
        return self.words.index(text)


def cycle_reasons(reasons: FrameReasons, values: CycleValues, rate_hz: float) -> IntArray:
    """Return the codes (CYCLE_POINTS, k) of the k signals over one cycle, 0 where there is a number.

    A point between two frames is known where both are; what was known and no person can walk has that reason.
    """
    cycle = values.cycle
    at = np.linspace(cycle.start_s, cycle.end_s, CYCLE_POINTS) * rate_hz
    frames = np.stack([reasons.of(signal, cycle.side) for signal in values.signals], axis=1)
    # A strike found at a frame may come back from seconds a rounding error beside it (as in `normalise`).
    before = np.clip(np.floor(at + 1e-6).astype(np.int64), 0, len(frames) - 1)
    after = np.clip(np.ceil(at - 1e-6).astype(np.int64), 0, len(frames) - 1)
    codes = np.where(frames[before] > 0, frames[before], frames[after])
    for column, words in values.refused.reasons.items():
        codes[:, column] = np.where(codes[:, column] > 0, codes[:, column], reasons.code(words))
    codes = np.where(codes > 0, codes, reasons.code(_OTHER))
    return np.where(values.measured, 0, codes)
