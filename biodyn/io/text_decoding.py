"""Decode bytes of files to clean Unicode: no surrogates, no control or format characters, composed (NFC), no blanks at the
ends. All texts from files are decoded here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from biodyn.library.toml_files import load_table

# Kana, kanji and full-width characters: two or more of them, not joined to Latin letters, are a Japanese word.
_JAPANESE = re.compile("[\u3005-\u3007\u3040-\u30ff\u4e00-\u9fff\uff00-\uffef]")
_JAPANESE_WORD = re.compile(f"(?<![A-Za-z]){_JAPANESE.pattern}{{2,}}(?![A-Za-z])")
_SINGLE_BYTE = ("cp1252", "latin-1")
# Candidate encodings of East Asian texts, and the smallest share of texts that must contain known words.
_EAST_ASIAN = ("utf-8", "shift_jis", "gbk")
_LEAST_KNOWN, _MOSTLY_KNOWN = 2, 0.5
_BLANK_CATEGORIES = ("Zs", "Zl", "Zp")
# Unicode categories: control, format (right-to-left marks, joiners, byte order marks), surrogate.
_INVISIBLE_CATEGORIES = ("Cc", "Cf", "Cs")


def clean_text(raw: bytes | str) -> str:
    """Return a text from a file as clean Unicode.

    Bytes are decoded as UTF-8 if valid, else as Shift-JIS if this gives Japanese words, else as Windows-1252. A `str` may
    contain undecodable bytes as surrogates (PEP 383), as from C++ libraries. The text ends at the first NUL. A text longer
    than any label is shortened to its start and end.
    """
    longest, kept_end = 200, 60  # C3D labels have at most 127 characters; keeps regular expressions fast
    text = _clean_full_text(raw)
    return text if len(text) <= longest else f"{text[: longest - kept_end - 3]}...{text[-kept_end:]}"


def _clean_full_text(raw: bytes | str) -> str:
    text = raw if isinstance(raw, str) else raw.decode("latin-1")
    if text.isascii() and text.isprintable():
        return text.strip()
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogateescape" if _has_only_escaped_bytes(raw) else "replace")
    ended = raw.lstrip(b"\0 ").partition(b"\0")[0]
    return _visible_text(_decode_bytes(ended))


def clean_texts(raws: Sequence[bytes]) -> tuple[str, ...]:
    """Return the texts of one list as clean Unicode, in one encoding if the texts together determine it.

    The encoding is Shift-JIS or GBK if at least half of the texts that are not ASCII then contain known words of labels; else
    each text is decoded separately (`clean_text`).
    """
    together = _decode_east_asian(raws)
    return tuple(_visible_text(text) for text in together) if together else tuple(clean_text(raw) for raw in raws)


def _decode_east_asian(raws: Sequence[bytes]) -> list[str] | None:
    """Decode texts in the East Asian encoding in which at least half of the texts that are not ASCII contain marker words; else
    None."""
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
    """Return the characters of the East Asian words used in labels."""
    return frozenset("".join(load_table("body/label_words")["writing"]))


def _has_only_escaped_bytes(text: str) -> bool:
    """Return whether every surrogate in a text encodes one undecodable byte (PEP 383)."""
    return all("\udc80" <= character <= "\udcff" for character in text if "\ud800" <= character <= "\udfff")


def _decode_bytes(raw: bytes) -> str:
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
    """Return whether all characters outside ASCII are in Japanese words; two Latin-1 letters may also be the bytes of one
    kanji."""
    return bool(_JAPANESE_WORD.search(text)) and not _JAPANESE.search(_JAPANESE_WORD.sub("", text))


def _visible_text(text: str) -> str:
    """Return a text without control and format characters, with plain blanks, none at the ends, composed (NFC)."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(" " if _is_blank(character) else character for character in text)
        text = "".join(c for c in text if unicodedata.category(c) not in _INVISIBLE_CATEGORIES)
        text = unicodedata.normalize("NFC", text)
    return text.strip()


def _is_blank(character: str) -> bool:
    return character in "\t\n\r\v\f" or unicodedata.category(character) in _BLANK_CATEGORIES
