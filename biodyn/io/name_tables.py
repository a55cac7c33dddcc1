"""Read the names of `library/formats/c3d_names.toml` and compile their patterns once."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from biodyn.library.toml_files import load_table


@cache
def load_name_table() -> dict[str, Any]:
    """Return the table of names from the library; callers must not change it."""
    return load_table("formats/c3d_names")


@cache
def combined_pattern(patterns: tuple[str, ...], ignore_case: bool = False) -> re.Pattern[str]:
    """Return one compiled pattern that matches a whole label if any of `patterns` does."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE if ignore_case else 0)


def keep_letters(text: str) -> str:
    """Return the letters of a text in lower case: 'Foot Strike1' -> 'footstrike'."""
    return "".join(character for character in text.lower() if character.isalpha())


@lru_cache(4096)
def letters_and_digits(text: str) -> str:
    """Return the letters and digits of a text in lower case: 'L_Knee-Width' -> 'lkneewidth'."""
    return "".join(character for character in text.lower() if character.isalnum())
