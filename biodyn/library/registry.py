"""Registries, for which every module of a package is imported once and registers its entries."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from threading import get_ident
from typing import Generic, TypeVar

from biodyn.errors import BiodynError
from biodyn.library.toml_files import suggest_name

Entry = TypeVar("Entry")


class Registry(Generic[Entry], Mapping[str, Entry]):
    """Named entries that the modules of a package register when they are imported, sorted by the number `place`.

    Args: `package` with the modules, which are imported on first use; `kind` of the entries, for messages; `fault` raised for an
    unknown name.
    """

    def __init__(self, package: str, kind: str, fault: type[BiodynError] = BiodynError) -> None:
        self.package, self.kind, self._fault = package, kind, fault
        self._entries: dict[str, tuple[float, Entry]] = {}
        self._complete = False
        self._searching: set[int] = set()  # identifiers of the threads that are importing the modules

    def add(self, name: str, entry: Entry, place: float = 0.0) -> None:
        """Add an entry; ValueError if the name exists. Entries of the same place are sorted by name."""
        if name in self._entries:
            raise ValueError(f"two {self.kind}s are called '{name}'")
        self._entries[name] = (place, entry)

    def register(self, name: str, place: float = 0.0) -> Callable[[Entry], Entry]:
        """Return a decorator that registers an entry."""

        def add_entry(entry: Entry) -> Entry:
            self.add(name, entry, place)
            return entry

        return add_entry

    def lookup(self, name: str) -> Entry:
        """Return the entry of the given name; raise the registry's fault with the nearest known name."""
        if name not in self:
            raise self._fault(f"There is no {self.kind} '{name}'.", suggest_name(name, self))
        return self[name]

    def __getitem__(self, name: str) -> Entry:
        return self._all_entries()[name][1]

    def __iter__(self) -> Iterator[str]:
        entries = self._all_entries()
        return iter(sorted(entries, key=lambda name: (entries[name][0], name)))

    def __len__(self) -> int:
        return len(self._all_entries())

    def __contains__(self, name: object) -> bool:
        return name in self._all_entries()

    def _all_entries(self) -> dict[str, tuple[float, Entry]]:
        """Return all entries after importing the modules; while these are being imported, the entries registered so far."""
        thread = get_ident()
        if not self._complete and thread not in self._searching:
            self._searching.add(thread)
            try:
                path = importlib.import_module(self.package).__path__
                for module in sorted(info.name for info in pkgutil.iter_modules(path)):
                    importlib.import_module(f"{self.package}.{module}")
            finally:
                self._searching.discard(thread)
            self._complete = True  # set only now, so that a module that cannot be imported raises an error each time
        return self._entries
