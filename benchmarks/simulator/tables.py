"""The simulator's own TOML files, which lie next to this module."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load_data(name: str) -> dict[str, Any]:
    """Return a TOML file of the simulator by its name without suffix."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
