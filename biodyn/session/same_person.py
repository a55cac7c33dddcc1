"""Whether two files can be recordings of one person, by what is stored in them."""

from __future__ import annotations

from biodyn.recording import FileFacts

_SAME_MEASURE = 0.01  # relative difference of mass, height and leg length stored for one person


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
    if mine.subject and theirs.subject and mine.subject.lower() != theirs.subject.lower():
        return f"it is of subject '{theirs.subject}', the walk of '{mine.subject}'"
    return different_measures(mine, theirs)
