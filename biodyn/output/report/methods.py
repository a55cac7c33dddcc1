"""The methods paragraph of a report, written from the settings that ran, with numbered sources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from biodyn.library.load import load_table
from biodyn.output.report.page import text_environment
from biodyn.variables import Norms

#: The template of a trial on the person's own body.
METHODS = "methods.txt.j2"
_CITE = re.compile(r"\[\[([^\[\]]+)\]\]")


@dataclass(frozen=True)
class Methods:
    """Paragraphs (heading, text) with numbered citations like [1, 2], and the sources in order of their numbers."""

    paragraphs: tuple[tuple[str, str], ...]
    references: tuple[str, ...]


def methods(
    record: Mapping[str, Any],
    template: str = METHODS,
    packages: tuple[str, ...] = (),
    sources: Mapping[str, str] | None = None,
    beside: Sequence[Norms] = (),
    **context: Any,
) -> Methods:
    """Describe what was done in a run, from its `run.json` record.

    Parameters: `template` of the `packages` that writes the text, with `context` besides the record; `sources` that it
    cites by key over the library's; `beside`: the norms that are shown.
    """
    known = dict(load_table("report/references")["reference"])
    known |= {kind: entry["citation"] for kind, entry in record["model"]["citations"].items()}
    known |= {norms.name: norms.citation for norms in beside} | dict(sources or {})
    order: list[str] = []

    def number(match: re.Match[str]) -> str:
        keys = [key.strip() for key in match[1].split(",")]
        order.extend(known[key] for key in keys if known[key] not in order)
        return "[" + ", ".join(str(order.index(known[key]) + 1) for key in keys) + "]"

    text = text_environment(*packages).get_template(template).render(record=record, norms=beside, **context)
    paragraphs = []
    for part in text.split("## ")[1:]:
        heading, _, body = part.partition("\n")
        paragraphs.append((heading.strip(), _CITE.sub(number, " ".join(body.split()))))
    return Methods(tuple(paragraphs), tuple(order))
