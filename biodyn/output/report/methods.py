"""The methods paragraph of a report, written from the settings that ran, with numbered sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from biodyn.library.load import load_table
from biodyn.output.report.page import text_environment
from biodyn.variables import usual_norms

_CITE = re.compile(r"\[\[([^\[\]]+)\]\]")


@dataclass(frozen=True)
class Methods:
    """Paragraphs (heading, text) with numbered citations like [1, 2], and the sources in order of their numbers."""

    paragraphs: tuple[tuple[str, str], ...]
    references: tuple[str, ...]


def methods(
    record: Mapping[str, Any],
    template: str = "methods.txt.j2",
    packages: tuple[str, ...] = (),
    sources: Mapping[str, str] | None = None,
    **context: Any,
) -> Methods:
    """Describe what was done in a run, from its `run.json` record.

    Parameters: `template` of the `packages` that writes the text, with `context` besides the record; `sources` that it
    cites by key over the library's.
    """
    band, line = usual_norms()
    known = dict(load_table("report/references")["reference"])
    known |= {kind: entry["citation"] for kind, entry in record["model"]["citations"].items()}
    known |= {band.name: band.citation, line.name: line.citation, **(sources or {})}
    order: list[str] = []

    def number(match: re.Match[str]) -> str:
        keys = [key.strip() for key in match[1].split(",")]
        order.extend(known[key] for key in keys if known[key] not in order)
        return "[" + ", ".join(str(order.index(known[key]) + 1) for key in keys) + "]"

    text = text_environment(*packages).get_template(template).render(record=record, band=band, line=line, **context)
    paragraphs = []
    for part in text.split("## ")[1:]:
        heading, _, body = part.partition("\n")
        paragraphs.append((heading.strip(), _CITE.sub(number, " ".join(body.split()))))
    return Methods(tuple(paragraphs), tuple(order))
