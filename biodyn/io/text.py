"""Bytes of files decoded into clean Unicode: no surrogates, no control or format characters, composed (NFC), no blanks at
the ends. The rest of the program only ever sees such text."""

from __future__ import annotations

import re
import unicodedata

# Kana, kanji and their full-width company: two and more of them, not joined to Latin letters, are a Japanese word.
_JAPANESE = re.compile("[\u3005-\u3007\u3040-\u30ff\u4e00-\u9fff\uff00-\uffef]")
_JAPANESE_WORD = re.compile(f"(?<![A-Za-z]){_JAPANESE.pattern}{{2,}}(?![A-Za-z])")
_SINGLE_BYTE = ("cp1252", "latin-1")
_BLANK_CATEGORIES = ("Zs", "Zl", "Zp")
# Controls, formats (right-to-left marks, joiners, byte order marks), surrogates.
_INVISIBLE_CATEGORIES = ("Cc", "Cf", "Cs")


def clean_text(raw: bytes | str) -> str:
    """Return text from a file as clean Unicode.

    Bytes are UTF-8 where they can be, else Shift-JIS where that makes Japanese words, else Windows-1252. A `str` may
    carry undecodable bytes as surrogates (PEP 383), as C++ libraries hand them over. It ends at the first NUL.
    """
    if isinstance(raw, str):
        if raw.isascii() and raw.isprintable():
            return raw.strip()
        raw = raw.encode("utf-8", "surrogateescape" if _only_escapes(raw) else "replace")
    ended = raw.lstrip(b"\0 ").partition(b"\0")[0]
    return _visible(_decoded(ended))


def _only_escapes(text: str) -> bool:
    """True where every surrogate stands for one undecodable byte."""
    return all("\udc80" <= character <= "\udcff" for character in text if "\ud800" <= character <= "\udfff")


def _decoded(raw: bytes) -> str:
    if raw.isascii():
        return raw.decode("ascii")
    for encoding in ("utf-8", "shift_jis", *_SINGLE_BYTE):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding != "shift_jis" or _is_japanese(text):
            return text
    raise AssertionError("latin-1 decodes every byte")


def _is_japanese(text: str) -> bool:
    """True where all but ASCII is in Japanese words; two Latin-1 letters too can be the bytes of one kanji."""
    return bool(_JAPANESE_WORD.search(text)) and not _JAPANESE.search(_JAPANESE_WORD.sub("", text))


def _visible(text: str) -> str:
    """Without control and format characters, every kind of blank a blank, none at the ends, composed."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(" " if _is_blank(character) else character for character in text)
        text = "".join(c for c in text if unicodedata.category(c) not in _INVISIBLE_CATEGORIES)
        text = unicodedata.normalize("NFC", text)
    return text.strip()


def _is_blank(character: str) -> bool:
    return character in "\t\n\r\v\f" or unicodedata.category(character) in _BLANK_CATEGORIES
