"""What a file is for: a walk to analyse, a static trial, something else.

A static trial: words of its name or its folder, a declaration in the file, or a recording too short for a step; words
for walking and stored foot events speak against. Something else: words for functional trials, muscle tests and the like
without a word for walking; or no force plate and nothing that speaks for a walk. Everything else is a walk, also one
without plates where its name says that it is one: it fails with that reason instead of vanishing.
"""

from __future__ import annotations

from collections.abc import Sequence

from biodyn.io.file_names import walk_words
from biodyn.study.discovery.subjects.assignment import SubjectAssignment
from biodyn.study.discovery.words import Token, tokens
from biodyn.study.plan import Role

_SURE_STATIC = 3.0  # what one piece of evidence is worth
_STATIC = 2.0
_WALK = 2.0
_EVENTS = 1.0  # some laboratories store foot strikes in every file
_SHORTEST_STEP_S = 0.2
_SURE_WORDS = ("stati", "calib", "standing")  # beginnings of words that mean nothing else


def decide_role(assignment: SubjectAssignment, walk_names: frozenset[tuple[str, ...]]) -> tuple[Role, str]:
    """Return role and reason; `walk_names` are the name patterns of walks with plates, see `name_pattern`."""
    file = assignment.file
    if file.twin is not None:
        return "other", f"It is the same file as '{file.twin}'."
    if file.path.name.startswith("."):
        return "other", "A hidden file, as macOS leaves beside copies."
    if file.facts is None:
        return "unreadable", file.trouble
    static, why = _static_evidence(assignment)
    if static > 0.0:
        return "static", f"Used as static trial: {why}."
    stem = assignment.stem_tokens()
    words = {token.word for token in stem}
    walks = _has_walk_word(stem)
    other = next((token.text for token in stem if token.kind == "other"), "")
    if not other and not walks:
        levels = range(len(assignment.folders))
        other = next((t.text for level in levels for t in assignment.folder_tokens(level) if t.kind == "other"), "")
    if other and not walks:
        return "other", f"'{other}' in its name or folder: not a walk."
    if file.facts.plate_count > 0:
        return "walk", "It holds force plates and nothing speaks against a walk."
    if not file.facts.labels and not walks and not words & walk_words():
        return "other", "It names no markers and holds no force plate."
    if _speaks_for_walk(assignment) or name_pattern(assignment) in walk_names:
        return "walk", "It is named like a walk, though it holds no force plate."
    return "other", "It holds no force plate and nothing speaks for a walk."


def name_pattern(assignment: SubjectAssignment) -> tuple[str, ...]:
    """Person and words of a file's name without its counters: one for 'P01_walk01' and 'P01_walk02'."""
    return (assignment.label, *(token.text.casefold() for token in assignment.stem_tokens() if token.kind != "counter"))


def _static_evidence(assignment: SubjectAssignment) -> tuple[float, str]:
    """How much more speaks for a static trial than against, and what."""
    facts = assignment.file.facts
    if facts is None:
        return 0.0, ""
    score = 0.0
    reasons = []
    stem = assignment.stem_tokens()
    static = [token for token in stem if token.kind == "static"]
    if static:
        score += max(_SURE_STATIC if token.word.startswith(_SURE_WORDS) else _STATIC for token in static)
        reasons.append(f"'{static[0].text}' in its name")
    levels = range(len(assignment.folders))
    folder = next((t for level in levels for t in assignment.folder_tokens(level) if t.kind == "static"), None)
    if folder is not None:
        score += _STATIC
        reasons.append(f"folder '{folder.text}'")
    if facts.declared_static:
        score += _SURE_STATIC
        reasons.append("declared in the file")
    if 0 < facts.frame_count < _SHORTEST_STEP_S * facts.rate_hz and facts.plate_count == 0:
        score += _SURE_STATIC
        reasons.append(f"{facts.frame_count} frame{'s' if facts.frame_count > 1 else ''}")
    score -= _WALK * _has_walk_word(stem) + _EVENTS * (facts.gait_events > 1)
    return score, ", ".join(reasons)


def _has_walk_word(found: Sequence[Token]) -> bool:
    """True where a word means moving on one's feet; 'trial' and 'dynamic' alone do not."""
    return any(t.kind == "activity" or (t.kind == "condition" and t.word in walk_words()) for t in found)


def _speaks_for_walk(assignment: SubjectAssignment) -> bool:
    facts = assignment.file.facts
    names = (assignment.stem_tokens(), *(tokens(name) for name in assignment.folders))
    worded = any(t.kind == "activity" or t.word in walk_words() for name in names for t in name)
    return worded or (facts is not None and facts.gait_events > 1)
