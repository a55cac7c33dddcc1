"""Whether the words of a command ask for one walk that another process can analyse, told before a library reads them.

Loading what reads them takes as long as all that could be saved. So the options are named here a second time (a test holds
them against the commands), and words that are not understood count as a mistake: whoever reads them next says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True)
class Words:
    """What a command takes: options with a value, those of them whose value is a number, options without one."""

    valued: frozenset[str]
    numbers: frozenset[str]
    flags: frozenset[str]
    takes_walk: bool


#: Options of the commands that analyse one walk.
COMMANDS: Final[Mapping[str, Words]] = {
    "run": Words(
        valued=frozenset(
            ("--static", "--static-frames", "--mass", "--height", "--settings", "--preset", "--set", "--out", "--vary")
            + ("--model", "--forces", "--ik-setup", "--scale-setup", "--head")
        ),
        numbers=frozenset(("--mass", "--height")),
        flags=frozenset(("--force", "--quiet", "-q", "--json", "--pdf", "--open", "--timings")),
        takes_walk=True,
    ),
    "demo": Words(frozenset(("--out",)), frozenset(), frozenset(("--force", "--open")), takes_walk=False),
}
# With these this process analyses.
_ANOTHER_WAY: Final = frozenset(("--model", "--ik-setup", "--scale-setup", "--vary"))


def ask_for_one_walk(words: Sequence[str]) -> bool:
    """Whether the words of a call, after `biodyn`, are those of a command with one walk that is there."""
    known = COMMANDS.get(words[0]) if words else None
    if known is None:
        return False
    walks = []
    for option, value in _read(words[1:], known):
        if option is None:
            walks.append(Path(value))
        elif option in _ANOTHER_WAY or not _is_right(option, value, known):
            return False
    if not known.takes_walk:
        return not walks
    return len(walks) == 1 and _is_there(walks[0])


def _read(words: Sequence[str], known: Words) -> Iterator[tuple[str | None, str]]:
    """Each option with its value, "" where it has none, and each other word with None."""
    left = iter(words)
    for word in left:
        name, equals, value = word.partition("=")
        if word == "--":
            yield from ((None, rest) for rest in left)
        elif not word.startswith("-") or word == "-":
            yield None, word
        elif name in known.valued:
            yield name, value if equals else next(left, "")
        else:
            yield word, ""


def _is_there(walk: Path) -> bool:
    with suppress(OSError):  # a name that is too long, a folder that may not be looked into: whoever reads it says so
        return walk.is_file()
    return False


def _is_right(option: str, value: str, known: Words) -> bool:
    if option in known.numbers:
        with suppress(ValueError):
            float(value)
            return True
        return False
    return bool(value) if option in known.valued else option in known.flags
