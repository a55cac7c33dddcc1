"""Lists that grow by a file: every module of a package is imported once, and what it registers is in the list."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from threading import get_ident
from typing import Generic, TypeVar

from biodyn.errors import BiodynError
from biodyn.library.load import nearest

Entry = TypeVar("Entry")


class Registry(Generic[Entry], Mapping[str, Entry]):
    """Entries by name, in the order of their places.

    Parameters: `package` whose modules hold the entries, imported when the list is first asked for; `kind` of the entries,
    as messages call them; `fault` raised for an unknown name.
    """

    def __init__(self, package: str, kind: str, fault: type[BiodynError] = BiodynError) -> None:
        self.package, self.kind, self._fault = package, kind, fault
        self._entries: dict[str, tuple[float, Entry]] = {}
        self._complete = False
        self._searching: set[int] = set()  # threads that import the modules just now

    def add(self, name: str, entry: Entry, place: float = 0.0) -> None:
        """Add an entry; ValueError where the name is taken. Entries of one place stand in the order of their names."""
        if name in self._entries:
            raise ValueError(f"two {self.kind}s are called '{name}'")
        self._entries[name] = (place, entry)

    def register(self, name: str, place: float = 0.0) -> Callable[[Entry], Entry]:
        """Return a decorator that adds what it decorates."""

        def add(entry: Entry) -> Entry:
            self.add(name, entry, place)
            return entry

        return add

    def named(self, name: str) -> Entry:
        """Return the entry of a name that a user chose; raises the registry's fault with the nearest known name."""
        if name not in self:
            raise self._fault(f"There is no {self.kind} '{name}'.", nearest(name, self))
        return self[name]

    def __getitem__(self, name: str) -> Entry:
        return self._discovered()[name][1]

    def __iter__(self) -> Iterator[str]:
        found = self._discovered()
        return iter(sorted(found, key=lambda name: (found[name][0], name)))

    def __len__(self) -> int:
        return len(self._discovered())

    def __contains__(self, name: object) -> bool:
        return name in self._discovered()

    def _discovered(self) -> dict[str, tuple[float, Entry]]:
        """All entries; while their modules are imported, a module that asks is given those there are so far."""
        thread = get_ident()
        if not self._complete and thread not in self._searching:
            self._searching.add(thread)
            try:
                path = importlib.import_module(self.package).__path__
                for module in sorted(found.name for found in pkgutil.iter_modules(path)):
                    importlib.import_module(f"{self.package}.{module}")
            finally:
                self._searching.discard(thread)
            self._complete = True  # only now: a module that cannot be imported is told again, never left out
        return self._entries
