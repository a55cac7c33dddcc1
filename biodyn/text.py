"""Texts that can be printed anywhere: names of files need not be Unicode, and labels may hold anything."""

from __future__ import annotations

import re
import unicodedata

# Marks that turn the direction of what follows: they make a name look like another one.
_TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_HARMLESS = re.compile(r"[ -~]*")


def printable(text: str, keep: str = "") -> str:
    r"""Return the text on one line and in clean Unicode; what cannot be shown is written as an escape.

    Bytes of a file name that are no UTF-8 become ``\xfc``, control characters ``\n`` or ``\x07``, marks of writing
    direction and lone surrogates ``\u202e``. All else is untouched. `keep`: control characters that stay.
    """
    if _HARMLESS.fullmatch(text):
        return text
    return "".join(c if c in keep else _shown(c) for c in text)


def _shown(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name, as Python hands it over (PEP 383)
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code <= 0xDFFF or character in _TURNING or character in "\u2028\u2029":
        return f"\\u{code:04x}"
    if unicodedata.category(character) == "Cc":
        return character.encode("unicode_escape").decode("ascii")
    return character
