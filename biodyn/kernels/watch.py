"""Tell a person who waits that kernels are being compiled, at the moment when that begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Say = Callable[[str], None]
COMPILING = "Compiling the kernels of this command; they are kept for later runs."
COMPILING_AGAIN = "Compiling the kernels."


class _Watch:
    """Says each sentence once."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._said: set[str] = set()

    def tell(self, sentence: str) -> None:
        if sentence and sentence not in self._said:
            self._said.add(sentence)
            self._say(sentence)


_WATCH: ContextVar[_Watch | None] = ContextVar("compilation", default=None)


@contextmanager
def watched(say: Say) -> Iterator[None]:
    """Within this block `say` hears, in one sentence each, that kernels are compiled and where they cannot be kept."""
    before = _WATCH.set(_Watch(say))
    try:
        yield
    finally:
        _WATCH.reset(before)


def tell(sentence: str) -> None:
    """Say a sentence to whoever watches; an empty one is nothing to say."""
    watch = _WATCH.get()
    if watch is not None:
        watch.tell(sentence)
