"""What a second reader says of files, for callers that have something to do before they ask.

A file is read here and by its format's library; the recording is there when the first of them has ended. Who reads within
`SecondOpinions.awaited` gets it then, without what the second says, and asks for that later; others wait for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TypeAlias

from biodyn.diagnostics import Diagnostic

#: Waits for a second reader and returns what it says; InputFileError where it says that the file could not be read.
Opinion: TypeAlias = Callable[[], Sequence[Diagnostic]]


class SecondOpinions:
    """Second readings that go on beside what is done with the first ones; none goes on when the `with` block ends."""

    def __init__(self) -> None:
        self._asked: dict[Path, Opinion] = {}
        self._readers = ExitStack()

    def __enter__(self) -> SecondOpinions:
        return self

    def __exit__(self, *_: object) -> None:
        self._readers.close()

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Nobody waits for a second reader that begins in the block."""
        before = _awaited.set(self)
        try:
            yield
        finally:
            _awaited.reset(before)

    def add(self, readers: ExitStack, opinions: Mapping[Path, Opinion]) -> None:
        """Take over second readers, which `readers` ends, and what they are asked for each file."""
        self._readers.push(readers)
        self._asked.update({path: cache(ask) for path, ask in opinions.items()})

    def of(self, path: Path) -> tuple[Diagnostic, ...]:
        """Wait for what the second reader says of a file; nothing of a file that was not read in `awaited`.

        Raises InputFileError where it says that the file could not be read.
        """
        return tuple(self._asked[path]()) if path in self._asked else ()


_awaited: ContextVar[SecondOpinions | None] = ContextVar("second opinions", default=None)


def awaited_opinions() -> SecondOpinions | None:
    """Those that somebody asks for later, None where a reader has to wait for them itself."""
    return _awaited.get()
