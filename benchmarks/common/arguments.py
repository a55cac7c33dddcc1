"""The arguments that benchmarks have in common, under one name each."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

# name -> how argparse takes it; a benchmark gives its own defaults
_KNOWN: dict[str, dict[str, Any]] = {
    "count": {"type": int, "help": "how many cases"},
    "seed": {"type": int, "help": "first seed of everything random"},
    "seeds": {"type": int, "help": "recordings of each of the people, each with its own noise, skin and gaps"},
    "only": {"type": str, "help": "cases whose name contains this"},
}


def parser_of(
    doc: str | None, *, people: Iterable[str] = (), folders: bool = False, **defaults: int | str
) -> argparse.ArgumentParser:
    """Return a parser with the module's docstring as help and the usual arguments.

    Parameters:
        people: names of groups of simulated people, the default first: --people.
        folders: folders of recordings may be named; `recordings_at_hand` where none is.
        defaults: of --count, --seed, --seeds and --only; those not named are not offered.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    groups = list(people)
    if groups:
        parser.add_argument("--people", choices=groups, default=groups[0], help="a group of simulated people")
    if folders:
        from pathlib import Path

        parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="folders of recordings")
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", default=default, **_KNOWN[name])
    return parser


def ask(doc: str | None, **wanted: Any) -> argparse.Namespace:
    """Parse the command line of a benchmark that has the usual arguments only."""
    return parser_of(doc, **wanted).parse_args()
