"""Whether two files can be recordings of one person, by what is stored in them, then by what their names say."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from biodyn.io.labels import STRANGERS
from biodyn.recording import FileFacts
from biodyn.session.path_names import Neighbours
from biodyn.session.path_names import difference as path_difference
from biodyn.session.words import plain_text, tokens, vocabulary

_ROLE_KINDS = ("static", "activity", "other", "empty")
_SAME_MEASURE = 0.01  # relative difference of mass, height and leg length stored for one person


@dataclass(frozen=True)
class Kinship:
    """Whether a file can be of a walk's person and day.

    Attributes:
        strange: why it cannot, "" if it can. same_name: both store one subject name.
        doubt: what in its name may speak of somebody else.
    """

    strange: str
    same_name: bool
    doubt: str = ""


def kinship(walk: FileFacts, other: FileFacts, neighbours: Neighbours | None) -> Kinship:
    """Return what stored names, measures and the names of files and folders say of a walk and another file.

    `neighbours`: the files around both; None where they are known to be one person's by more than names of files and
    folders, which then cannot speak against it. A shared subject name outweighs the names of files, but for the day's.
    """
    strange = different_person(walk, other)
    name = person_name(walk.subject)
    same_name = bool(name) and name == person_name(other.subject)
    if strange or neighbours is None:
        return Kinship(strange, same_name)
    named = path_difference(walk.path, other.path, neighbours)
    if same_name:
        return Kinship(named.day, same_name)
    return Kinship(named.day or named.person, same_name, named.doubt)


def without_role_words(stored: str) -> str:
    """Return a stored subject name without words for the kind of trial around it: 'X_static' and 'X_dynamic 2' are X.

    The whole name where it is nothing but such words.
    """
    text = plain_text(stored).strip()
    found = list(tokens(text))
    if all(token.kind in (*_ROLE_KINDS, "counter") for token in found):
        return text
    while found[-1].kind in _ROLE_KINDS or (found[-1].kind == "counter" and found[-2].kind in _ROLE_KINDS):
        found.pop()
    while found[0].kind in _ROLE_KINDS:
        found.pop(0)
    whole = found[0].start == tokens(text)[0].start and found[-1].end == tokens(text)[-1].end
    return text if whole else text[found[0].start : found[-1].end]


def person_name(stored: str) -> str:
    """Return what two stored names of one person share: letters and digits in lower case, without role words.

    Nothing for a name that names nobody: a template's, a device's.
    """
    whole, name = (_letters_and_digits(text) for text in (stored, without_role_words(stored)))
    return "" if vocabulary()["nobody"].intersection((whole, name)) else name


def _letters_and_digits(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


@lru_cache(256)
def bare_labels(labels: frozenset[str]) -> frozenset[str]:
    """Return labels without a start that nearly all share, up to '_': 'Anna_static_LASI' and 'Anna_walk_LASI' are one."""
    while len(labels) > 1:
        starts = Counter(label.partition("_")[0] for label in labels if "_" in label)
        start, count = starts.most_common(1)[0] if starts else ("", 0)
        if not start or len(labels) - count > STRANGERS * len(labels):
            break
        rest = frozenset(label.removeprefix(f"{start}_") for label in labels) - {""}
        if len(rest) < len(labels) - 1:  # what stands behind it tells the labels no longer apart
            break
        labels = rest
    return labels


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
    names = person_name(mine.subject), person_name(theirs.subject)
    if all(names) and names[0] != names[1]:
        return f"it is of subject '{theirs.subject}', the walk of '{mine.subject}'"
    return different_measures(mine, theirs)
