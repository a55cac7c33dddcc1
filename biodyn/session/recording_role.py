"""Determine the role of a recording: static, functional, walk, run or other.

The motion of the markers has priority over names. A file in which the markers never rest is not a static trial, and quiet
standing throughout is a static trial even if its name does not state it. Names, declarations and stored events decide if the
motion is ambiguous, because treadmill walking and squats are both without travel.

- Static: indicated by words in the name or folder, by a declaration in the file, or by a recording that is too short for a step.
  Words for walking and stored foot events are evidence against it.
- Functional or other: indicated by words for functional trials, muscle tests and similar without a word for walking, by one foot
  that is still while the other leg moves, or by the absence of both force plates and evidence of a walk.
- Walk or run: all other recordings, including those without plates that are named as walks. Their analysis reports the missing
  data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io import read_preview
from biodyn.recording import FileFacts, Preview, QuietPart
from biodyn.recording.stillness import MOVING_RANGE_M, QUIET_RANGE_M
from biodyn.session.name_tokens import Token, load_vocabulary, walk_words

MotionKind = Literal["standing", "one_leg", "in_place", "travelling"]

_FEWEST_MARKERS = 4  # fewer markers are a wand or a calibration frame


@dataclass(frozen=True)
class MotionFacts:
    """The motion in a recording.

    Attributes:
        kind: "standing": throughout, or for long after stepping into place; "one_leg": one foot is still while the other moves,
            without travel; "in_place": any other motion without travel; "travelling".
        quiet: the half second in which the markers move least.
        typical_m: median over the markers of the largest range of a coordinate, m. still_share: share of the recording at rest.
    """

    kind: MotionKind
    quiet: QuietPart
    typical_m: float
    still_share: float

    @property
    def is_standing(self) -> bool:
        """Return whether the quietest half second is suitable for a calibration.

        The limit of movement is stricter for a person who travels than for one who stays in place.
        """
        limit = QUIET_RANGE_M if self.kind == "travelling" else MOVING_RANGE_M
        return self.quiet.movement_m <= limit

    def sentence(self) -> str:
        """Return the kind of motion, and the movement in the quietest half second, as a clause."""
        quiet = f"the markers move by {1000.0 * self.quiet.movement_m:.0f} mm in the quietest half second"
        done = {
            "standing": "quiet standing",
            "one_leg": "one foot is still while the other leg moves",
            "in_place": "the person moves without travelling",
            "travelling": f"the person travels {self.typical_m:.1f} m",
        }[self.kind]
        return f"{done}; {quiet}"


def motion_facts(preview: Preview) -> MotionFacts | None:
    """Return the kind and size of the motion in a preview; None if it has too few markers for a person."""
    positions = preview.markers.positions
    seen = np.isfinite(positions[..., 0]).any(axis=0)
    if seen.sum() < _FEWEST_MARKERS:
        return None
    positions = positions[:, seen]
    quiet = preview.quietest_piece()
    reach = np.nanmax(positions, axis=0) - np.nanmin(positions, axis=0)
    ranges = reach.max(axis=1)
    typical = float(np.median(ranges))
    still = float(np.mean(preview.movements_m <= QUIET_RANGE_M))
    kind = _motion_kind(quiet, typical, still, _foot_ranges(preview.quiet_markers().positions[0, seen], reach))
    return MotionFacts(kind, quiet, typical, still)


def _motion_kind(quiet: QuietPart, typical: float, still: float, feet: FloatArray) -> MotionKind:
    long_still = 0.3  # share of quiet standing in a static trial that starts with a step
    foot_stays_m, foot_moves_m = 0.05, 0.12
    sway_m = 0.06  # typical range of a marker while standing; swaying heads reach 0.03 m in three seconds
    travel_m = 0.5  # typical range of the markers, m: larger than possible without steps
    if typical > travel_m:
        return "travelling"
    if quiet.movement_m <= QUIET_RANGE_M and typical <= sway_m and (feet <= foot_stays_m).all():
        return "standing"
    if typical <= foot_moves_m * 2.0 and feet.min() <= foot_stays_m and feet.max() >= foot_moves_m:
        return "one_leg"
    stepped_into_place = feet.min() > foot_stays_m
    if quiet.movement_m <= QUIET_RANGE_M and still >= long_still and stepped_into_place:
        return "standing"
    return "in_place"


def _foot_ranges(standing: FloatArray, reach: FloatArray) -> FloatArray:
    """Return the ranges (m) of motion of the lowest markers, which are on the feet.

    standing: (M, 3) m, positions. reach: (M, 3) m, range of each coordinate.
    """
    feet_share = 0.25  # share of markers that are the lowest
    known = np.isfinite(standing[:, 0])
    standing, reach = standing[known], reach[known]
    if not len(standing):
        return np.zeros(1)
    span = standing.max(axis=0) - standing.min(axis=0)
    up = int(np.argmax(span))  # a standing person is longest in the vertical direction
    height = standing[:, up]
    # the floor is at 0: the feet are at the end of the body that is closer to it
    from_floor = height - height.min() if abs(height.min()) <= abs(height.max()) else height.max() - height
    lowest = np.argsort(from_floor)[: max(_FEWEST_MARKERS, round(feet_share * len(height)))]
    ranges: FloatArray = reach[lowest].max(axis=1)
    return ranges


def read_motion_facts(path: Path) -> MotionFacts | None:
    """Return the kind and size of the motion in a file (cached); None if its markers cannot be read or are too few."""
    try:
        known = path.stat()
        return _cached_motion(path, known.st_size, known.st_mtime_ns)
    except (InputFileError, OSError):
        return None


def preview_of_file(path: Path) -> Preview:
    """Return the preview of a file, read once; InputFileError as for `read_preview`."""
    known = path.stat()
    return _cached_preview(path, known.st_size, known.st_mtime_ns)


@lru_cache(maxsize=128)
def _cached_preview(path: Path, size: int, changed_ns: int) -> Preview:
    return read_preview(path)


@lru_cache(maxsize=4096)
def _cached_motion(path: Path, size: int, changed_ns: int) -> MotionFacts | None:
    return motion_facts(_cached_preview(path, size, changed_ns))


Role = Literal["static", "functional", "walk", "run", "other"]

_STATIC = 2.0
_WALK = 2.0
_SHORTEST_STEP_S = 0.2
_SURE_WORDS = ("stati", "calib", "standing")  # unambiguous starts of words


@dataclass(frozen=True)
class TrialNames:
    """The words (`name_tokens.split_name`) of a file name and of its folders, from the outermost to the innermost.

    Attributes:
        file: words of the file name. folders: words of each folder. Both exclude words that name the person.
        person: words of the folders that name the person.
    """

    file: tuple[Token, ...]
    folders: tuple[tuple[Token, ...], ...] = ()
    person: tuple[Token, ...] = ()

    def all_words(self) -> tuple[Token, ...]:
        """Return the words of the file name and of all folders."""
        return (*self.file, *(token for folder in self.folders for token in folder), *self.person)


def determine_role(
    names: TrialNames,
    facts: FileFacts,
    sibling_walks: bool = False,
    motion: Callable[[], MotionFacts | None] = lambda: None,
) -> tuple[Role, str]:
    """Return the role of a recording and one sentence with the reason.

    sibling_walks: whether files with the same name but another number have force plates and are walks. motion: returns the
    motion (None if unknown), called only if names and header do not indicate a walk.
    """
    walks = _has_walk_word(names.file)
    other = _first_word_of_kind("other", (names.file, *names.folders))
    static, why = _static_evidence(names, facts)
    is_plain_walk = static <= 0.0 and walks and facts.plate_count > 0
    done = None if is_plain_walk else motion()
    is_standing = done is not None and done.kind == "standing"
    if static > 0.0 and not (other is not None and _first_word_of_kind("other", (names.file,)) and not is_standing):
        if done is not None and done.kind == "one_leg":
            return "functional", f"Used as functional trial despite static evidence ({why}): {done.sentence()}."
        if done is None or done.is_standing:
            return "static", f"Used as static trial: {why}{'' if done is None else f'; {done.sentence()}'}."
        if done.kind == "travelling":
            return _movement_role(names), f"{why[:1].upper()}{why[1:]}, but not a static trial: {done.sentence()}."
    if other is not None and not walks:
        role: Role = "functional" if other.word in load_vocabulary()["functional"] else "other"
        return role, f"Not a walk because of '{other.text}' in its name or folder."
    if done is not None and not walks and not facts.gait_events > 1:
        if done.kind == "standing":
            return "static", f"Used as static trial because of its motion: {done.sentence()}."
        if done.kind == "one_leg":
            return "functional", f"Used as functional trial because of its motion: {done.sentence()}."
    return _walk_or_other_role(names, facts, sibling_walks, walks)


def _walk_or_other_role(names: TrialNames, facts: FileFacts, sibling_walks: bool, walks: bool) -> tuple[Role, str]:
    moving = _movement_role(names)
    if facts.plate_count > 0:
        return moving, "It has force plates and no evidence against a walk."
    if not facts.labels and not walks and not {token.word for token in names.file} & walk_words():
        return "other", "It has neither labelled markers nor force plates."
    is_named = any(word.kind == "activity" or word.word in walk_words() for word in names.all_words())
    if sibling_walks or facts.gait_events > 1 or is_named:
        return moving, "It is named as a walk but has no force plates."
    return "other", "It has no force plates and no evidence of a walk."


def _movement_role(names: TrialNames) -> Role:
    return "run" if any(t.word in load_vocabulary()["running"] for t in names.all_words()) else "walk"


def _static_evidence(names: TrialNames, facts: FileFacts) -> tuple[float, str]:
    """Return a score of the evidence for a static trial in names and header, and the evidence as text."""
    events = 1.0  # some laboratories store foot strikes in every file
    sure_static = 3.0  # score of one piece of evidence
    score = 0.0
    reasons = []
    static = [token for token in names.file if token.kind == "static"]
    if static:
        score += max(sure_static if token.word.startswith(_SURE_WORDS) else _STATIC for token in static)
        reasons.append(f"'{static[0].text}' in its name")
    folder = _first_word_of_kind("static", names.folders)
    if folder is not None:
        score += _STATIC
        reasons.append(f"folder '{folder.text}'")
    if facts.declared_static:
        score += sure_static
        reasons.append("declared in the file")
    if 0 < facts.frame_count < _SHORTEST_STEP_S * facts.rate_hz and facts.plate_count == 0:
        score += sure_static
        reasons.append(f"{facts.frame_count} frame{'s' if facts.frame_count > 1 else ''}")
    score -= _WALK * _has_walk_word(names.file) + events * (facts.gait_events > 1)
    return score, ", ".join(reasons)


def _first_word_of_kind(kind: str, names: Iterable[Sequence[Token]]) -> Token | None:
    return next((token for name in names for token in name if token.kind == kind), None)


def _has_walk_word(words: Sequence[Token]) -> bool:
    """Return whether a word denotes locomotion; 'trial' and 'dynamic' alone do not."""
    return any(t.kind == "activity" or (t.kind == "condition" and t.word in walk_words()) for t in words)
