"""The points of docs/report_standards.md, and the words of a place in a page."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

_TABLE = Path(__file__).parents[2] / "docs" / "report_standards.md"


@dataclass(frozen=True)
class Point:
    """A row: its number, the letters of its sources, the page, the section ("head": above all sections), words seen there."""

    number: int
    sources: frozenset[str]
    page: str
    place: str
    words: str

    def seen_in(self, page: str) -> str:
        """What is read in the place of a page, labels of pictures too."""
        if self.place == "head":
            found = re.search(r"<header.*?</header>", page, re.S)
        else:
            found = re.search(rf'<section id="{self.place}".*?</section>', page, re.S)
        assert found is not None, self.place
        labels = " ".join(re.findall(r'aria-label="(.*?)"', found[0]))
        words = re.sub(r"<(script|style).*?</\1>", " ", found[0], flags=re.S)
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", words) + " " + labels).split())


def points() -> list[Point]:
    """Every row of the table."""
    found = []
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0].isdigit():
            page, _, place = cells[3].partition(": ")
            found.append(Point(int(cells[0]), frozenset(cells[2].split(", ")), page, place, cells[4].strip("`")))
    return found
