"""Find the recordings of a walk's session: same person, same day, same marker placement.

The model of the subject is estimated from all of them: it is calibrated by static trials, and joint positions are determined from
functional trials and other walks. Every file near the walk is listed with its use and the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from biodyn.errors import InputFileError
from biodyn.io import read_facts
from biodyn.recording import FileFacts, Markers
from biodyn.session.name_tokens import load_vocabulary, split_name
from biodyn.session.person_comparison import NeighbouringFiles, compare_persons
from biodyn.session.recording_role import (
    MotionFacts,
    Role,
    TrialNames,
    determine_role,
    preview_of_file,
    read_motion_facts,
)
from biodyn.session.static_trials import MAX_HEADERS, SAME_BODY_M, body_difference_m, static_candidates

Use = Literal["static", "functional", "walk", "other", "stranger", "unreadable"]


@dataclass(frozen=True)
class Companion:
    """Recording near the file of a walk, and its use for the session of the walk.

    Attributes:
        path: path of the file. use: its use; "stranger" for another person or day, "unreadable" for a damaged file.
        why: one sentence with the reason.
        suitability: 0 to 1, of the quietest half second for a calibration: 1 for quiet standing throughout, smaller for
            more movement or shorter standing, 0 without standing.
        body_m: median difference of marker distances within segments between recording and walk, None if unknown.
    """

    path: Path
    use: Use
    why: str
    suitability: float = 0.0
    body_m: float | None = None


@dataclass(frozen=True)
class SessionFiles:
    """Recordings of the session of a walk, and all other files near it.

    Attributes:
        walk: the walk itself, with its quiet part. companions: all other files that were examined.
    """

    walk: Companion
    companions: tuple[Companion, ...]

    def companions_with_use(self, use: Use) -> tuple[Companion, ...]:
        """Return the other recordings of the session that have the given use."""
        return tuple(c for c in self.companions if c.use == use)

    @property
    def static_trials(self) -> tuple[Companion, ...]:
        """Return the static trials of the session, the most suitable first."""
        return tuple(sorted(self.companions_with_use("static"), key=lambda c: -c.suitability))


def find_session_files(walk: str | Path, among: Sequence[Path] = (), max_files: int = MAX_HEADERS) -> SessionFiles:
    """Find the recordings of the session of a walk, near its file, or among given files of its person and day.

    Only headers and previews are read, in about ten milliseconds per file. Raises InputFileError if `walk` cannot be read.
    """
    path = Path(walk)
    facts, markers = read_facts(path), preview_of_file(path).markers
    paths = [p for p in (among or static_candidates(path, max_headers=max_files)) if p.resolve() != path.resolve()]
    neighbours = None if among else NeighbouringFiles([path, *paths])
    companions = tuple(_read_companion(facts, markers, other, neighbours) for other in paths)
    motion = read_motion_facts(path)
    walk_itself = Companion(path, "walk", "the walk itself", calibration_suitability(motion))
    return SessionFiles(walk_itself, companions)


def recording_role(facts: FileFacts) -> tuple[Role, str]:
    """Return the role of a recording by its name, folders, header and motion, and the reason."""
    folders = 2  # levels above a file with names that may state its role
    parts = facts.path.resolve().parent.parts[1:]
    names = TrialNames(split_name(facts.path.stem), tuple(split_name(name) for name in parts[-folders:]))
    return determine_role(names, facts, motion=partial(read_motion_facts, facts.path))


def is_contraction(path: Path) -> bool:
    """Return whether the name or folder of a recording contains a word for maximal voluntary contractions (MVC)."""
    words = {token.word for name in (path.parent.name, path.stem) for token in split_name(name)}
    return bool(words & load_vocabulary()["contraction"])


def calibration_suitability(motion: MotionFacts | None) -> float:
    """Return how suitable (0-1) the quietest half second of a recording is for a calibration; see `Companion.suitability`."""
    sway_m = 0.01  # movement in half a second that halves the suitability
    if motion is None or not motion.is_standing:
        return 0.0
    length = 1.0 if motion.kind == "standing" else 0.5 + 0.5 * motion.still_share
    return length / (1.0 + motion.quiet.movement_m / sway_m)


def _read_companion(walk: FileFacts, markers: Markers, path: Path, neighbours: NeighbouringFiles | None) -> Companion:
    try:
        facts = read_facts(path)
        strange, _, _ = compare_persons(walk, facts, neighbours)
        if strange:  # the markers of other persons are not read
            return Companion(path, "stranger", f"Not in this session: {strange}.")
        preview = preview_of_file(path)
    except (InputFileError, OSError) as error:
        use: Use = "other" if is_contraction(path) else "unreadable"  # contractions need no markers
        return Companion(path, use, str(getattr(error, "message", error)))
    role, why = recording_role(facts)
    motion = read_motion_facts(path)
    suitability = calibration_suitability(motion)
    body = body_difference_m(markers, preview.quiet_markers())
    if body is not None and body > SAME_BODY_M:
        strange = f"its marker distances differ from the walk by {1000.0 * body:.1f} mm"
        return Companion(path, "stranger", f"Not in this session: {strange}.", suitability, body)
    return Companion(path, "walk" if role == "run" else role, why, suitability, body)
