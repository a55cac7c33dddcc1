"""A file more in a package whose modules are a list, for as long as a test needs it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from biodyn.library.registry import Registry


@contextmanager
def added_file(registry: Registry[Any], folder: Path, name: str, content: str) -> Iterator[None]:
    """Write a module into a folder that counts as part of the registry's package, and let the list be made anew."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(content, encoding="utf-8")
    package = importlib.import_module(registry.package)
    known = dict(registry.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(package, "__path__", [*package.__path__, str(folder)])
        patch.setattr(registry, "_entries", dict(registry._entries))
        patch.setattr(registry, "_complete", False)
        try:
            yield
        finally:
            sys.modules.pop(f"{registry.package}.{name}", None)
            if hasattr(package, name):
                delattr(package, name)
    assert dict(registry.items()) == known
