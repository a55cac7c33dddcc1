"""Whether two files can be recordings of one person, by what is stored in them."""

from __future__ import annotations

from biodyn.recording import FileFacts
from biodyn.session.words import plain_text, tokens

_ROLE_KINDS = ("static", "activity", "other", "empty")
_SAME_MEASURE = 0.01  # relative difference of mass, height and leg length stored for one person


def person_name(stored: str) -> str:
    """Return a stored subject name without words for the kind of trial around it: 'X_static' and 'X_dynamic 2' are X.

    Letters and digits only, in lower case; the whole name where it is nothing but such words.
    """
    text = plain_text(stored)
    found = list(tokens(text))
    roles = [token.kind in _ROLE_KINDS for token in found]
    if any(roles) and not all(role or token.kind == "counter" for role, token in zip(roles, found, strict=True)):
        while found and (found[-1].kind in _ROLE_KINDS or (found[-1].kind == "counter" and roles[len(found) - 2])):
            found.pop()
        while found and found[0].kind in _ROLE_KINDS:
            found.pop(0)
        text = text[found[0].start : found[-1].end] if found else text
    return "".join(c for c in text.casefold() if c.isalnum())


def different_measures(mine: FileFacts, theirs: FileFacts) -> str:
    """Why the stored body measures cannot be one person's, "" if they can."""
    pairs = [("body mass", mine.mass_kg, theirs.mass_kg), ("height", mine.height_m, theirs.height_m)]
    shared = mine.leg_lengths_m.keys() & theirs.leg_lengths_m.keys()
    pairs += [(key, mine.leg_lengths_m[key], theirs.leg_lengths_m[key]) for key in sorted(shared)]
    for name, a, b in pairs:
        if a is not None and b is not None and abs(a - b) > _SAME_MEASURE * abs(a):
            return f"its stored {name.replace('_', ' ')} is {b:.4g}, the walk's {a:.4g}"
    return ""


def different_person(mine: FileFacts, theirs: FileFacts) -> str:
    """Why the stored parameters cannot be one person's, "" if they can."""
    if mine.subject and theirs.subject and person_name(mine.subject) != person_name(theirs.subject):
        return f"it is of subject '{theirs.subject}', the walk of '{mine.subject}'"
    return different_measures(mine, theirs)
