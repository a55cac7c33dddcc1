"""Does a settings file, study.toml or own table ever end as a fault of the program? `python benchmarks/mutated_tables.py`.

A seeded corpus: valid files with typos, wrong types, missing and doubled lines, numbers out of range, deep nesting, odd
encodings, NULs, byte order marks, cut off anywhere. Each goes through the command line itself: `biodyn check` for what is
refused early, and, where that accepts it, `biodyn run` of a simulated walk; studies through `biodyn study --dry-run`.
Prints how many were refused (exit code 2), accepted (0, 1), ended as a fault of the program (70), or took too long.
"""

from __future__ import annotations

import random
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import FrameType

from common import Record, Stopwatch, parser_of, write_session
from simulator import Person, TrialOptions, session
from typer.testing import CliRunner

from biodyn.cli import app
from biodyn.library.settings_section import Section
from biodyn.settings import Settings

LIBRARY = files("biodyn.library")
LIMIT_S = 60
QUICK = "[output]\nfigures = false\nreport = false\n[uncertainty]\ncompute = {bands}\n"


@dataclass(frozen=True)
class Kind:
    """A kind of file: its valid text, and the settings that name it ("" for a settings file or study.toml itself)."""

    name: str
    text: str
    settings: str = ""


def kinds() -> tuple[Kind, ...]:
    """Valid files of every kind, as their users write them."""

    def table(name: str) -> str:
        return (LIBRARY / f"{name}.toml").read_text(encoding="utf-8")

    return (
        Kind("settings", settings_text()),
        Kind("study.toml", STUDY),
        Kind("marker set", table("body/markersets/plug_in_gait_lower"), 'model.marker_set = "own.toml"'),
        Kind("renaming marker set", RENAMING, 'model.marker_set = "own.toml"'),
        Kind("anthropometry", table("body/anthropometry/de_leva_1996"), 'model.anthropometry = "own.toml"'),
        Kind("skeleton", table("body/skeletons/full_body"), 'model.skeleton = "own.toml"'),
        Kind("lower skeleton", table("body/skeletons/lower_limb"), 'model.skeleton = "own.toml"'),
        Kind("hip centre", HIP_CENTRE, 'model.hip_centre = "own.toml"'),
        Kind("uncertainty", table("uncertainty/magnitudes"), 'uncertainty.magnitudes = "own.toml"'),
    )


HIP_CENTRE = """title = "Mine"
x = { PD = -0.24, constant = -0.0099 }
y = { PW = -0.30, constant = -0.0109 }
z = { PW = 0.33, constant = 0.0073 }
"""
RENAMING = """extends = "plug_in_gait_full"
[rename]
"Left_Hip" = "LASI"
[[marker]]
labels = ["{S}KIN"]
landmark = "knee_medial_{s}"
body = "femur_{s}"
weight = 2.0
"""
STUDY = """name = "mine"
root = "."
include = ["**/*.c3d"]
exclude = []
[settings.signals]
cutoff_hz = 8.0
[subjects.Subject01]
mass_kg = 74.0
height_m = 1.78
group = "adults"
settings = { contacts = { threshold_n = 25.0 } }
[trials."subject01/walk.c3d"]
condition = "comfortable"
static = "subject01/static.c3d"
[running]
workers = 1
time_limit_s = 100.0
[output]
reports = "warn"
[analysis]
alpha = 0.05
tests = "auto"
[[analysis.parameters]]
name = "peak_knee"
variable = "knee_angle"
operation = "max"
window = { of = "stance", start = 0, end = 50 }
"""


def settings_text() -> str:
    """Every setting with its default, but the quick ones of `QUICK`."""
    lines = []
    for section, model in Settings():
        if section == "output" or not isinstance(model, Section):
            continue
        lines.append(f"[{section}]")
        for entry, value in model:
            if value is not None and value != {} and (section, entry) != ("uncertainty", "compute"):
                lines.append(f"{entry} = {toml(value)}")
    return "\n".join(lines) + "\n"


def toml(value: object) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {toml(item)}' for key, item in value.items()) + " }"
    return repr(value)


# -- mutations ------------------------------------------------------------------------------------------------------

VALUES = (
    *("1e20", "-1e20", "1e308", "1e-300", "nan", "inf", "-inf", "0", "-1", "1", "2.5", "9" * 40, "0x7fffffffffffffff"),
    *("true", '"6"', '""', '"a"', '"\\u0000"', '"a\\u0000b.toml"', '"..\\\\..\\\\x.toml"', '"no_such.toml"', '"auto"'),
    *("[]", "[[]]", "{}", "[1, 2]", '["a"]', "[nan, nan, nan]", "{ a = 1 }", "1979-05-27", "[0.0, 0.0, 0.0]", '"{x}"'),
    *('"' + "x" * 3000 + '"', '"."', '"own.toml"', '"/"', '"' + "x" * 300 + '.toml"', '"~nobody/x.toml"'),
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz_"


def typo(text: str, rng: random.Random) -> bytes:
    """One letter of a key or a word is wrong."""
    words = list(re.finditer(r"[A-Za-z_]{3,}", without_comments(text)))
    word = rng.choice(words)
    at = rng.randrange(word.start(), word.end())
    new = rng.choice(("", text[at] * 2, rng.choice(_LETTERS)))
    return (text[:at] + new + text[at + 1 :]).encode()


def without_comments(text: str) -> str:
    """The text with comments blanked, of the same length."""
    return re.sub(r"#.*", lambda found: " " * len(found[0]), text)


def other_value(text: str, rng: random.Random) -> bytes:
    """The value of one key is something else."""
    keys = list(re.finditer(r"(?<==) ?([^\n,{}\[\]#]+|\[[^\n\[\]]*\])", without_comments(text)))
    key = rng.choice(keys)
    return (text[: key.start()] + " " + rng.choice(VALUES) + " " + text[key.end() :]).encode()


def lost_line(text: str, rng: random.Random) -> bytes:
    """A line is not there."""
    lines = text.splitlines(keepends=True)
    del lines[rng.choice([i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")])]
    return "".join(lines).encode()


def doubled_line(text: str, rng: random.Random) -> bytes:
    """A line is there twice, perhaps somewhere else."""
    lines = text.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines)), rng.choice([line for line in lines if line.strip()]))
    return "".join(lines).encode()


def new_line(text: str, rng: random.Random) -> bytes:
    """Something nobody knows."""
    lines = text.splitlines(keepends=True)
    added = rng.choice(
        ("wieght = 1\n", "[[marker]]\n", "[signals]\n", 'extends = "own.toml"\n', 'extends = "x"\n', "a.b.c = 1\n")
    )
    lines.insert(rng.randrange(len(lines) + 1), added)
    return "".join(lines).encode()


def cut_off(text: str, rng: random.Random) -> bytes:
    """The file ends in the middle."""
    return text.encode()[: rng.randrange(len(text))]


def odd_bytes(text: str, rng: random.Random) -> bytes:
    """Another encoding, or bytes that are no text."""
    data = text.encode()
    at = rng.randrange(len(data))
    return rng.choice(
        (
            b"\xef\xbb\xbf" + data,
            text.encode("utf-16"),
            ("# M\u00fcller\n" + text).encode("latin-1"),
            data[:at] + b"\x00" + data[at:],
            data[:at] + rng.randbytes(3) + data[at:],
            data.replace(b"\n", b"\r\n"),
            b"",
            rng.randbytes(200),
            b"\x00" * 100,
            b"\n" * 1000,
        )
    )


def nested(text: str, rng: random.Random) -> bytes:
    """Lists or tables in each other, deeper than anybody reads."""
    depth = rng.choice((40, 200, 3000))
    return rng.choice(
        (
            text + "\ndeep = " + "[" * depth + "]" * depth + "\n",
            "deep = " + "{ a = " * depth + "1" + " }" * depth + "\n" + text,
            ".".join("a" * depth) + " = 1\n" + text,
            f"[{'.'.join('a' * depth)}]\nb = 1\n" + text,
        )
    ).encode()


MUTATIONS: tuple[Callable[[str, random.Random], bytes], ...] = (
    *(typo, typo, typo, other_value, other_value, other_value, other_value),
    *(lost_line, doubled_line, new_line, cut_off, odd_bytes, nested),
)


# -- running --------------------------------------------------------------------------------------------------------


class Late(Exception):
    """The time limit passed."""


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise `Late` inside the block after so many seconds."""

    def late(_: int, __: FrameType | None) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def recordings(folder: Path) -> Path:
    """Write a small simulated session; returns its walk."""
    person = Person("Subject01", height_m=1.78, mass_kg=74.0, sex="male")
    static, walk = session(person, TrialOptions(forward="-x", noise_mm=1.0, force_noise_n=0.5, strides=1.6, seed=7))
    place = folder / "subject01"
    place.mkdir(parents=True)
    return write_session(place, static, walk)[0]


def code_of(*arguments: object) -> tuple[int, str]:
    """Exit code of the command line, 70 for what it would call its own fault, -1 for too late; and what it says."""
    try:
        with time_limit(LIMIT_S):
            result = CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})
    except Late:
        return -1, "too late"
    if isinstance(result.exception, Late):
        return -1, "too late"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return 70, f"{type(result.exception).__name__}: {result.exception}"
    return result.exit_code, result.output


def outcome(kind: Kind, data: bytes, walk: Path, place: Path, whole: bool = True) -> tuple[int, str]:
    """Put the file where its user would have it and run; `whole`: analyse the walk where nothing is refused before."""
    if kind.name == "study.toml":
        file = walk.parents[1] / "study.toml"
        file.write_bytes(data)
        return code_of("study", file, "--dry-run")
    settings = place / "settings.toml"
    if kind.settings:
        section, _, entry = kind.settings.partition(".")
        (place / "own.toml").write_bytes(data)
        # the bands read the table of uncertainties
        quick = QUICK.format(bands=str(section == "uncertainty").lower())
        settings.write_text(
            quick + (entry if section == "uncertainty" else f"[{section}]\n{entry}") + "\n", encoding="utf-8"
        )
    else:
        settings.write_bytes(data)
    code, said = code_of("check", walk, "--settings", settings)
    if code in (0, 1) and whole:
        out = place / "out"
        code, said = code_of("run", walk, "--settings", settings, "--out", out)
        shutil.rmtree(out, ignore_errors=True)
    return code, said


def corpus(count: int, seed: int) -> Iterator[tuple[Kind, str, bytes]]:
    """Yield (kind, name of the mutation, bytes), every kind in turn; the unchanged files first."""
    rng = random.Random(seed)
    there = kinds()
    for kind in there:
        yield kind, "unchanged", kind.text.encode()
    for i in range(count):
        kind = there[i % len(there)]
        mutation = rng.choice(MUTATIONS)
        yield kind, mutation.__name__, mutation(kind.text, rng)


def main() -> int:
    """Run the corpus and print the counts; 1 where anything ended as a fault of the program or too late."""
    parser = parser_of(__doc__, count=270, seed=1)
    parser.add_argument("--early", action="store_true", help="no whole analyses of what is accepted")
    chosen = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    faults = []
    record, watch = Record("mutated_tables", vars(chosen)), Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        walk = recordings(place / "session")
        for number, (kind, mutation, data) in enumerate(corpus(chosen.count, chosen.seed)):
            code, said = outcome(kind, data, walk, place, not chosen.early)
            what = {2: "refused", 0: "accepted", 1: "accepted", -1: "too late"}.get(code, "fault")
            counts[kind.name, what] += 1
            lines = [line for line in said.splitlines() if line.startswith("biodyn: ")]
            if what in ("fault", "too late") or (what == "refused" and len(lines) != 1):
                faults.append(f"{number} {kind.name}, {mutation}: {code} {said.strip()[:300]}")
            if mutation == "unchanged" and what != "accepted":
                faults.append(f"unchanged {kind.name}: {said.strip()[:300]}")
    outcomes = ("refused", "accepted", "fault", "too late")
    print(f"{'kind':<22}" + "".join(f"{name:>10}" for name in outcomes))
    for kind in kinds():
        print(f"{kind.name:<22}" + "".join(f"{counts[kind.name, name]:>10}" for name in outcomes))
    total = [sum(n for (_, what), n in counts.items() if what == name) for name in outcomes]
    print(f"{'all':<22}" + "".join(f"{n:>10}" for n in total) + f"   ({watch.seconds:.0f} s)")
    print("\n".join(faults) or "Nothing ended as a fault of the program, nothing took too long.")
    for name, number in zip(outcomes, total, strict=True):
        record.add(name, number, "files")
    record.add("ended otherwise than they should", len(faults), "files")
    record.add("whole run", watch.seconds)
    record.close()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
