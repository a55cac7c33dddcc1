"""The methods paragraph of a report, written from the settings that ran, with numbered sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jinja2

from biodyn.model.library import load_table
from biodyn.plots.display import default_norms

_CITE = re.compile(r"\[\[([^\[\]]+)\]\]")


@dataclass(frozen=True)
class Methods:
    """Paragraphs (heading, text) with numbered citations like [1, 2], and the sources in order of their numbers."""

    paragraphs: tuple[tuple[str, str], ...]
    references: tuple[str, ...]


def methods(record: Mapping[str, Any]) -> Methods:
    """Describe what was done in a run, from its `run.json` record."""
    band, line = default_norms()
    sources = dict(load_table("references")["reference"])
    sources |= {kind: entry["citation"] for kind, entry in record["model"]["citations"].items()}
    sources |= {band.name: band.citation, line.name: line.citation}
    order: list[str] = []

    def number(match: re.Match[str]) -> str:
        keys = [key.strip() for key in match[1].split(",")]
        order.extend(sources[key] for key in keys if sources[key] not in order)
        return "[" + ", ".join(str(order.index(sources[key]) + 1) for key in keys) + "]"

    text = _template().render(record=record, band=band, line=line)
    paragraphs = []
    for part in text.split("## ")[1:]:
        heading, _, body = part.partition("\n")
        paragraphs.append((heading.strip(), _CITE.sub(number, " ".join(body.split()))))
    return Methods(tuple(paragraphs), tuple(order))


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("biodyn.report"), undefined=jinja2.StrictUndefined, autoescape=False
    )
    environment.filters["bare"] = lambda text: str(text).strip().rstrip(".")
    environment.filters["sentence"] = lambda text: str(text).strip().rstrip(".") + "."
    return environment.get_template("methods.txt.j2")
