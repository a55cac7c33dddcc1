"""The documentation tells the truth: pages have their place, and links, named files, commands and functions exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

import biodyn
from biodyn.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_gallery" not in page.parts)
_TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.S)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
_NAMED_FILE = re.compile(r"\b((?:benchmarks|pipelines|sample_data|docs|tests)/[\w/.-]+\.(?:py|md|c3d|toml))\b")
_NAMED_SCRIPT = re.compile(r"`(\w+\.py)\b")
_SCRIPTS = {path.name for folder in ("benchmarks", "biodyn", "docs", "tests") for path in (ROOT / folder).rglob("*.py")}
# As a terminal takes it: an indented line, or words in backquotes.
_COMMAND = re.compile(r"(?:^ {4,}|`)biodyn ([a-z]+)\b([^`\n#]*)", re.M)
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def test_every_page_has_one_place_in_the_navigation() -> None:
    entries = []
    for tree in _TOCTREE.findall((DOCS / "index.md").read_text(encoding="utf-8")):
        entries += [line for line in tree.splitlines() if line and not line.startswith(":")]
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in [*PAGES, *NOTEBOOKS]} - {"index"}
    assert sorted(entries) == sorted({*pages, "_gallery/index"})


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in _LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)) if ":" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [name for name in _NAMED_FILE.findall(text) if not (ROOT / name).exists()]
    missing += set(_NAMED_SCRIPT.findall(text)) - _SCRIPTS
    assert not missing


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_commands_and_their_options_exist(page: Path) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    unknown = []
    for name, rest in _COMMAND.findall(page.read_text(encoding="utf-8")):
        if name not in commands:
            unknown.append(name)
            continue
        known = {
            option for parameter in commands[name].params for option in (*parameter.opts, *parameter.secondary_opts)
        }
        # a command of several words names the options of the last
        for inner in getattr(commands[name], "commands", {}).values():
            known |= {option for parameter in inner.params for option in parameter.opts}
        unknown += [f"{name} {option}" for option in _OPTION.findall(rest) if option not in known | {"--help", "-h"}]
    assert not unknown


def test_every_public_name_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "biodyn.md").read_text(encoding="utf-8")
    assert [name for name in biodyn.__all__ if name != "__version__" and f":: biodyn.{name}" not in page] == []
