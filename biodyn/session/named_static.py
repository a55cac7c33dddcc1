"""Whether a static trial that was named is of the walk's person.

One that is found by itself is never somebody else's (`statics`); a named one may be.
"""

from __future__ import annotations

from biodyn.diagnostics import Diagnostic
from biodyn.io import read_facts
from biodyn.recording import Recording
from biodyn.recording.stillness import glimpse_of
from biodyn.session.same_person import kinship
from biodyn.session.static_choice import body_difference_m
from biodyn.session.statics import most_apart_m


def another_person(walk: Recording, static: Recording) -> Diagnostic | None:
    """Return a warning where a named static trial looks like another person's than the walk, else None.

    Judged as a search does: marker distances within segments, and the stored name and measures. Where the distances agree
    as one person's do, a name that was typed otherwise says nothing. Raises InputFileError where a file's header has
    become unreadable meanwhile.
    """
    kin = kinship(read_facts(walk.path), read_facts(static.path), None)
    body = body_difference_m(walk.markers, glimpse_of(static.markers).quiet_markers())
    limit = most_apart_m(kin.same_name, bool(kin.strange))
    agrees = not kin.strange if body is None else body <= limit
    if agrees:
        return None
    seen = [kin.strange] if kin.strange else []
    if body is not None:
        seen.insert(0, f"its marker distances within segments differ from the walk's by {1000 * body:.0f} mm (median)")
    return Diagnostic(
        "static-other-person",
        "warning",
        f"'{static.path.name}' was named as the static trial, but looks like another person's: {', and '.join(seen)}.",
        value=body,
        limit=None if body is None else limit,
        unit="" if body is None else "m",
        hint="Name this person's own static trial, of the same day; without --static it is looked for beside the walk.",
    )
