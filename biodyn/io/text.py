"""Bytes of files decoded into clean Unicode: no surrogates, no control or format characters, composed (NFC), no blanks at
the ends. The rest of the program only ever sees such text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from biodyn.library.load import load_table

# Kana, kanji and their full-width company: two and more of them, not joined to Latin letters, are a Japanese word.
_JAPANESE = re.compile("[\u3005-\u3007\u3040-\u30ff\u4e00-\u9fff\uff00-\uffef]")
_JAPANESE_WORD = re.compile(f"(?<![A-Za-z]){_JAPANESE.pattern}{{2,}}(?![A-Za-z])")
_SINGLE_BYTE = ("cp1252", "latin-1")
# Encodings of East Asian texts that the texts of a list decide between, and the fewest that must show known words.
_EAST_ASIAN = ("utf-8", "shift_jis", "gbk")
_LEAST_KNOWN, _MOSTLY_KNOWN = 2, 0.5
_BLANK_CATEGORIES = ("Zs", "Zl", "Zp")
# Controls, formats (right-to-left marks, joiners, byte order marks), surrogates.
_INVISIBLE_CATEGORIES = ("Cc", "Cf", "Cs")


def clean_text(raw: bytes | str) -> str:
    """Return text from a file as clean Unicode.

    Bytes are UTF-8 where they can be, else Shift-JIS where that makes Japanese words, else Windows-1252. A `str` may
    carry undecodable bytes as surrogates (PEP 383), as C++ libraries hand them over. It ends at the first NUL. A text
    that is longer than any label keeps its beginning and its end.
    """
    longest, kept_end = 200, 60  # C3D labels have 127 characters at most; regular expressions stay quick
    text = _clean(raw)
    return text if len(text) <= longest else f"{text[: longest - kept_end - 3]}...{text[-kept_end:]}"


def _clean(raw: bytes | str) -> str:
    if isinstance(raw, str):
        if raw.isascii() and raw.isprintable():
            return raw.strip()
        raw = raw.encode("utf-8", "surrogateescape" if _only_escapes(raw) else "replace")
    ended = raw.lstrip(b"\0 ").partition(b"\0")[0]
    return _visible(_decoded(ended))


def clean_texts(raws: Sequence[bytes]) -> tuple[str, ...]:
    """Return the texts of one list as clean Unicode: one encoding, where all of them together tell it.

    Shift-JIS or GBK if at least half of the texts that are not ASCII then hold known words of labels; else each text alone
    (`clean_text`).
    """
    together = _east_asian(raws)
    return tuple(_visible(text) for text in together) if together else tuple(clean_text(raw) for raw in raws)


def _east_asian(raws: Sequence[bytes]) -> list[str] | None:
    """Return texts in the East Asian encoding in which at least half of those that are not ASCII hold words of markers."""
    ended = [raw.lstrip(b"\0 ").partition(b"\0")[0] for raw in raws]
    if sum(not raw.isascii() for raw in ended) < _LEAST_KNOWN:
        return None
    for encoding in _EAST_ASIAN:
        try:
            texts = [raw.decode(encoding) for raw in ended]
        except UnicodeDecodeError:
            continue
        foreign = [text for text in texts if not text.isascii()]
        known = sum(any(c in _known_characters() for c in text) for text in foreign)
        if known >= max(_LEAST_KNOWN, _MOSTLY_KNOWN * len(foreign)):
            return texts
    return None


@cache
def _known_characters() -> frozenset[str]:
    """Characters of the East Asian words that labels are made of."""
    return frozenset("".join(load_table("body/label_words")["writing"]))


def _only_escapes(text: str) -> bool:
    """Return whether every surrogate encodes one undecodable byte."""
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
    """Return whether all but ASCII is in Japanese words; two Latin-1 letters too can be the bytes of one kanji."""
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
