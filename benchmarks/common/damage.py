"""Seeded damage to the bytes of a file: blind, to tables of text, to XML. Each takes bytes and a generator, returns bytes.

`BLIND`, `TABLE` and `XML` are those that fit a kind of file; `damaged` chooses among them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Final

import numpy as np

Damage = Callable[[bytes, np.random.Generator], bytes]

#: Names as nobody means well with: markup, formulas, other scripts, directions, controls, paths, very long.
HOSTILE_NAMES: Final = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    '=HYPERLINK("http://x.example","y")',
    "+1+cmd|' /C calc'!A0",
    "@SUM(1)",
    "{{ 7*7 }}{% raw %}",
    "$\\frac{1}{0}$",
    "../../etc/passwd",
    "con",
    "股関節 Größe",
    "مفصل\u202egpj.exe",
    "a\u0000b\u0007c\u001b[31m",
    "[bold red]x[/] [/nothing]",
    "%s%n{0}{x!r}",
    "x" * 5000,
    "e\u0301\u200b\ufeff",
    "\U0001f9b5",
)
_NUMBER: Final = re.compile(rb"(?<![\w.])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w.])")
_WORD: Final = re.compile(rb"[A-Za-z_][A-Za-z_0-9]{2,}")
_EXTREMES: Final = (
    *(b"0", b"-1", b"1", b"nan", b"NaN", b"inf", b"-inf", b"1e308", b"-1e308", b"1e-320", b"1e20", b"-1e9", b"2147483648"),
    *(b"4294967296", b"99999999999999999999", b"65536", b"0x10", b"1,5", b"1.2.3", b"--", b"", b"x", b"-1.#IND", b"1e", b"1_0"),
    *("\u0661\u0662".encode(), b"1e5000", b"9" * 5000, b"true", b"1 2", b"1\t2", b"\0"),
)  # fmt: skip
_UNITS: Final = (
    b"mm",
    b"m",
    b"cm",
    b"km",
    b"furlong",
    b"inch",
    b"",
    b"MM",
    b"\xb5m",
    b"deg",
    b"rad",
    b"N",
    b"kN",
    b"Nmm",
)


def _some(rng: np.random.Generator, among: tuple[bytes, ...]) -> bytes:
    return among[int(rng.integers(len(among)))]


def _at(data: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(max(len(data), 1)))


def _replace_match(data: bytes, rng: np.random.Generator, pattern: re.Pattern[bytes], new: bytes, near: bool) -> bytes:
    """Replace one match; `near`: one of the first twenty, where headers have their counts."""
    found = list(pattern.finditer(data[:400_000]))
    if not found:
        return data + new
    one = found[int(rng.integers(min(20, len(found)) if near else len(found)))]
    return data[: one.start()] + new + data[one.end() :]


def _lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")


# -- blind ------------------------------------------------------------------------------------------------------------


def bits(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bits turned."""
    hurt = bytearray(data)
    for at in rng.integers(0, max(len(hurt), 1), int(rng.integers(1, 30))):
        if hurt:
            hurt[at] ^= 1 << int(rng.integers(8))
    return bytes(hurt)


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    """The end is missing."""
    return data[: _at(data, rng)]


def cut_at_line(data: bytes, rng: np.random.Generator) -> bytes:
    """Whole lines are missing at the end."""
    lines = _lines(data)
    return b"\n".join(lines[: int(rng.integers(1, len(lines) + 1))]) + b"\n"


def behead(data: bytes, rng: np.random.Generator) -> bytes:
    """The beginning is missing."""
    return data[int(rng.integers(1, max(2, min(len(data), 2000)))) :]


def repeated_block(data: bytes, rng: np.random.Generator) -> bytes:
    """A piece stands there several times."""
    at, size = _at(data, rng), int(rng.choice([1, 7, 64, 1024, 20_000]))
    return data[:at] + data[at : at + size] * int(rng.integers(2, 30)) + data[at:]


def zeroed(data: bytes, rng: np.random.Generator) -> bytes:
    """A stretch is zeros: a disk that was full."""
    at = _at(data, rng)
    size = min(len(data) - at, int(rng.integers(1, 5000)))
    return data[:at] + bytes(size) + data[at + size :]


def random_block(data: bytes, rng: np.random.Generator) -> bytes:
    """A stretch is noise."""
    at, size = _at(data, rng), int(rng.integers(1, 300))
    return data[:at] + rng.bytes(size) + data[at + size :]


def something_else(data: bytes, rng: np.random.Generator) -> bytes:
    """Another file altogether under this name."""
    choices = (
        b"",
        b"\0" * 4096,
        b"\n" * 50_000,
        rng.bytes(5000),
        b"PAR1" + rng.bytes(200) + b"PAR1",
        zlib.compress(data),
        b"PK\x03\x04" + data[:1000],
        b"%PDF-1.7\n",
        b"\x02P" + rng.bytes(2000),
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        b"<!DOCTYPE html><html><body>Sign in</body></html>",
        b"PathFileType\t4\t(X/Y/Z)\tx.trc\n",
        b"x\nnRows=3\nendheader\ntime\n",
        b"[" * 100_000,
        b"<a>" * 100_000,
        b"1\t" * 200_000,
    )
    return choices[int(rng.integers(len(choices)))]


# -- tables of text ---------------------------------------------------------------------------------------------------


def number(data: bytes, rng: np.random.Generator) -> bytes:
    """One number is another, or none."""
    return _replace_match(data, rng, _NUMBER, _some(rng, _EXTREMES), rng.random() < 0.5)


def encoding(data: bytes, rng: np.random.Generator) -> bytes:
    """Another encoding, or a mark of one."""
    text = data.decode("utf-8", "replace")
    choices: tuple[Callable[[], bytes], ...] = (
        lambda: text.encode("utf-16"),
        lambda: text.encode("utf-16-be"),
        lambda: text.encode("utf-32"),
        lambda: b"\xef\xbb\xbf" + data,
        lambda: b"\xff\xfe" + data,
        lambda: b"\xfe\xff" + data,
        lambda: data.replace(b"e", b"\xe9"),
        lambda: data.replace(b"a", "\uff41".encode()),
        lambda: data.replace(b"1", "\u0661".encode()),
        lambda: data.replace(b"-", "\u2212".encode()),
        lambda: data.replace(b" ", "\u00a0".encode()),
    )
    return choices[int(rng.integers(len(choices)))]()


def line_ends(data: bytes, rng: np.random.Generator) -> bytes:
    """Other ends of lines, everywhere or here and there."""
    new = _some(
        rng, (b"\r\n", b"\r", b"\n\n", b"\x0b", "\u2028".encode(), b"\x85", b"\0\n", b" \n", b"\t\n", b"\x1c\n")
    )
    return data.replace(b"\n", new) if rng.random() < 0.7 else data.replace(b"\n", new, int(rng.integers(1, 20)))


def separators(data: bytes, rng: np.random.Generator) -> bytes:
    """Other marks between cells, other marks in numbers."""
    pairs = (
        (b"\t", b" "),
        (b"\t", b","),
        (b"\t", b";"),
        (b".", b","),
        (b",", b";"),
        (b"\t", b"\t\t"),
        (b",", b"\t"),
        (b",", b'","'),
    )
    old, new = pairs[int(rng.integers(len(pairs)))]
    return data.replace(old, new) if rng.random() < 0.7 else data.replace(old, new, int(rng.integers(1, 50)))


def swapped_lines(data: bytes, rng: np.random.Generator) -> bytes:
    """Two lines change places: time runs back."""
    lines = _lines(data)
    a, b = (int(k) for k in rng.integers(0, len(lines), 2))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def lost_line(data: bytes, rng: np.random.Generator) -> bytes:
    """A line is missing."""
    lines = _lines(data)
    del lines[int(rng.integers(min(len(lines), 12) if rng.random() < 0.5 else len(lines)))]
    return b"\n".join(lines)


def doubled_line(data: bytes, rng: np.random.Generator) -> bytes:
    """A line is there twice."""
    lines = _lines(data)
    at = int(rng.integers(min(len(lines), 12) if rng.random() < 0.5 else len(lines)))
    lines.insert(at, lines[at])
    return b"\n".join(lines)


def doubled_word(data: bytes, rng: np.random.Generator) -> bytes:
    """A label is that of another column."""
    words = list(_WORD.finditer(data[:6000]))
    if len(words) < 2:
        return data
    new = words[int(rng.integers(len(words)))][0]
    return _replace_match(data[:6000], rng, _WORD, new, False) + data[6000:]


def hostile_word(data: bytes, rng: np.random.Generator) -> bytes:
    """A label or value is a name as nobody means well with."""
    new = HOSTILE_NAMES[int(rng.integers(len(HOSTILE_NAMES)))].encode()
    return _replace_match(data[:6000], rng, _WORD, new, False) + data[6000:]


def unit(data: bytes, rng: np.random.Generator) -> bytes:
    """Another unit."""
    return re.sub(
        rb"(?<![A-Za-z])(mm|deg|rad|m|cm|yes|no)(?![A-Za-z])", _some(rng, _UNITS), data, count=int(rng.integers(1, 4))
    )


def wide(data: bytes, rng: np.random.Generator) -> bytes:
    """A line is longer than anybody writes."""
    lines = _lines(data)
    at = int(rng.integers(min(len(lines), 12)))
    lines[at] += _some(rng, (b"\t1", b",1", b" x", b"\tX", b";")) * int(rng.choice([3, 300, 30_000]))
    return b"\n".join(lines)


def column_of(data: bytes, rng: np.random.Generator) -> bytes:
    """One column is a word from top to bottom."""
    lines = _lines(data)
    mark = b"\t" if b"\t" in lines[-2 if len(lines) > 1 else 0] else b","
    column, new = int(rng.integers(0, 12)), _some(rng, _EXTREMES)
    for k in range(min(len(lines), 8), len(lines)):
        cells = lines[k].split(mark)
        if column < len(cells):
            cells[column] = new
            lines[k] = mark.join(cells)
    return b"\n".join(lines)


# -- XML --------------------------------------------------------------------------------------------------------------

_ELEMENT: Final = re.compile(rb"<([A-Za-z_]\w*)(?:\s[^<>]*)?>[^<>]*</\1>")
_TAG: Final = re.compile(rb"</?([A-Za-z_]\w*)")
_TEXT: Final = re.compile(rb"(?<=>)[^<>\s][^<>]*(?=<)")


def element_lost(data: bytes, rng: np.random.Generator) -> bytes:
    """An element is missing."""
    return _replace_match(data, rng, _ELEMENT, b"", False)


def element_doubled(data: bytes, rng: np.random.Generator) -> bytes:
    """An element is there again somewhere else."""
    found = list(_ELEMENT.finditer(data[:400_000]))
    if len(found) < 2:
        return data
    one, other = found[int(rng.integers(len(found)))], found[int(rng.integers(len(found)))]
    return data[: other.end()] + one[0] + data[other.end() :]


def element_text(data: bytes, rng: np.random.Generator) -> bytes:
    """The text of an element is another's, hostile, extreme, or very much."""
    found = _TEXT.findall(data[:400_000]) or [b""]
    new = (
        found[int(rng.integers(len(found)))],
        HOSTILE_NAMES[int(rng.integers(len(HOSTILE_NAMES)))].encode().replace(b"<", b"&lt;"),
        _some(rng, _EXTREMES),
        b"1 " * int(rng.choice([2, 3, 7, 100_000])),
        b"&lol;",
        b"",
    )[int(rng.integers(6))]
    return _replace_match(data, rng, _TEXT, new, False)


def tag(data: bytes, rng: np.random.Generator) -> bytes:
    """A kind of element is called otherwise."""
    found = sorted(set(_TAG.findall(data[:400_000]))) or [b"x"]
    old, new = found[int(rng.integers(len(found)))], found[int(rng.integers(len(found)))]
    new = new if rng.random() < 0.6 else b"SimTK::" + old
    return re.sub(rb"(</?)" + old + rb"(?=[\s>/])", rb"\1" + new, data, count=0 if rng.random() < 0.5 else 2)


def deep(data: bytes, rng: np.random.Generator) -> bytes:
    """Elements in each other, entities in each other."""
    depth = int(rng.choice([50, 99, 101, 5000]))
    at = data.find(b">", len(data) // 3) + 1
    bomb = b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + k, b"&%c;" % (97 + k) * 10) for k in range(9)
    ) + b"]>"  # fmt: skip
    return (data[:at] + b"<x>" * depth + b"</x>" * depth + data[at:], bomb + data, bomb + b"<a>&j;</a>")[
        int(rng.integers(3))
    ]


BLIND: Final[tuple[Damage, ...]] = (bits, cut, behead, repeated_block, zeroed, random_block, something_else)
TABLE: Final[tuple[Damage, ...]] = (
    *BLIND,
    *(number, number, number, encoding, line_ends, separators, swapped_lines, lost_line, doubled_line, doubled_word),
    *(hostile_word, unit, wide, column_of, column_of, cut_at_line),
)
XML: Final[tuple[Damage, ...]] = (
    *BLIND,
    *(number, number, number, number, encoding, line_ends, swapped_lines, lost_line, doubled_line, doubled_word),
    *(
        hostile_word,
        element_lost,
        element_lost,
        element_doubled,
        element_text,
        element_text,
        element_text,
        tag,
        tag,
        deep,
    ),
)


def damaged(data: bytes, fitting: tuple[Damage, ...], rng: np.random.Generator) -> tuple[bytes, str]:
    """Return the bytes after one damage, in one of five cases after two; and its name."""
    chosen = [fitting[int(rng.integers(len(fitting)))]]
    if rng.random() < 0.2:
        chosen.append(fitting[int(rng.integers(len(fitting)))])
    for one in chosen:
        data = one(data, rng)
    return data, "+".join(one.__name__ for one in chosen)
