"""The documentation tells the truth: every page has one place in the navigation, links and named files exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_gallery" not in page.parts)
_TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.S)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
_NAMED_FILE = re.compile(r"\b((?:benchmarks|pipelines|sample_data|docs)/[\w/.-]+\.(?:py|md|c3d|toml))\b")


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
    assert not missing
