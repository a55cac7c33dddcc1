"""docs/extending.md tells the truth: its files, put where it says and nowhere else, do what it shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"<!-- (file|append|see|shows)(?:: (\S+))? -->\n```\w*\n(.*?)```", re.S)
# What design allows each thing to touch: files that are new, files that get a row more.
_TOUCHED = {
    "1": (1, 0), "2": (1, 1), "3": (1, 0), "4": (1, 0), "5a": (1, 0), "5b": (1, 0), "5c": (1, 0), "6": (1, 0),
    "7": (1, 0), "8": (0, 0),
}  # fmt: skip
# Runs every script in the same process, each by itself; what it printed comes back by name.
_DRIVER = """
import contextlib, io, json, sys
shown = {}
for name, script in json.load(sys.stdin).items():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(script, name, "exec"), {"__name__": "__main__"})
    shown[name] = out.getvalue()
print(json.dumps(shown))
"""


@dataclass
class Example:
    """One section of the page: files by path, rows appended by path, a script, and what it prints."""

    files: dict[str, str] = field(default_factory=dict)
    appended: dict[str, str] = field(default_factory=dict)
    script: str = ""
    shows: str = ""


def read_examples() -> dict[str, Example]:
    examples = {}
    for section in (ROOT / "docs" / "extending.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        title = section.split("\n", 1)[0]
        one = Example()
        for kind, path, text in _BLOCK.findall(section):
            if kind == "file":
                one.files[path] = text
            elif kind == "append":
                one.appended[path] = text
            elif kind == "see":
                one.script = text
            else:
                one.shows = text
        number = re.match(r"(\d\w?)\. ", title)
        examples[number[1] if number else title] = one
    return examples


EXAMPLES = read_examples()


def test_the_page_has_the_examples_of_the_design() -> None:
    assert {name: (len(one.files), len(one.appended)) for name, one in EXAMPLES.items()} == _TOUCHED
    assert all(one.script and one.shows for one in EXAMPLES.values())


def test_examples_touch_what_they_say() -> None:
    """New files are new, in the folder of their kind or anywhere; rows go into a table that is there."""
    for one in EXAMPLES.values():
        assert [path for path in one.files if (ROOT / path).exists()] == []
        assert [path for path in one.appended if not (ROOT / path).is_file()] == []
        assert [path for path in one.files if path.startswith("biodyn/") and not (ROOT / path).parent.is_dir()] == []


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each script prints in a copy of the program that holds the files of all examples."""
    place = tmp_path_factory.mktemp("extended")
    shutil.copytree(ROOT / "biodyn", place / "biodyn", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "sample_data", place / "sample_data")
    for one in EXAMPLES.values():
        for path, text in one.files.items():
            (place / path).write_text(text, encoding="utf-8")
        for path, text in one.appended.items():
            with (place / path).open("a", encoding="utf-8") as stream:
                stream.write(text)
    scripts = {name: one.script for name, one in EXAMPLES.items()}
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER],
        input=json.dumps(scripts),
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return shown


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_does_what_it_shows(printed: dict[str, str], name: str) -> None:
    assert printed[name] == EXAMPLES[name].shows
