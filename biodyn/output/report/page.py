"""Pages that stand alone: the frame around the sections, and the style and templates that all of them share."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

HOME = "biodyn.output.report"
FRAME, MACROS = "frame.html.j2", "macros.html.j2"


@dataclass(frozen=True)
class Section:
    """A section as a page shows it.

    Attributes:
        name: its anchor. title: its heading. body: what follows the heading.
        link: its word in the navigation, "" for none. css: class in the style sheet, such as "new-page" for print.
        folded: only its title is seen until it is opened.
    """

    name: str
    title: str
    body: Markup
    link: str = ""
    css: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Fact:
    """A number or word with what it is; a `note` is set small beside it."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Frame:
    """What surrounds the sections of a page.

    Attributes:
        title: of the window. heading, line, facts: the head of the page; `outcome` sets the line bold.
        program: version of biodyn that made what is shown. foot: what the last line says of this kind of page.
        up: address and words of the page above, ("", "") for none. style, script: beside what all pages have.
    """

    title: str
    heading: str
    line: str
    facts: Sequence[Fact]
    program: str
    foot: str
    outcome: bool = False
    up: tuple[str, str] = ("", "")
    style: str = ""
    script: str = ""


def framed(frame: Frame, sections: Sequence[Section]) -> str:
    """Return a page: its head, navigation made of the sections, the sections, and the foot."""
    return (
        page_environment()
        .get_template(FRAME)
        .render(
            frame=frame, sections=sections, style=resource("style.css") + frame.style, folding=resource("folding.js")
        )
    )


@cache
def page_environment(*packages: str) -> jinja2.Environment:
    """Templates of the packages, first come first, then those all reports share; every value is escaped."""
    return jinja2.Environment(
        loader=_loader(*packages),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def text_environment(*packages: str) -> jinja2.Environment:
    """The same for plain text: nothing is escaped; filters `bare` and `sentence` set full stops."""
    environment = jinja2.Environment(loader=_loader(*packages), undefined=jinja2.StrictUndefined, autoescape=False)
    environment.filters["bare"] = lambda text: str(text).strip().rstrip(".")
    environment.filters["sentence"] = lambda text: str(text).strip().rstrip(".") + "."
    return environment


@cache
def resource(name: str, *packages: str) -> Markup:
    """A style sheet or script as it is, from the templates of the packages."""
    environment = page_environment(*packages)
    return Markup(_loader(*packages).get_source(environment, name)[0])


def script_json(data: Any) -> Markup:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text))


def _loader(*packages: str) -> jinja2.ChoiceLoader:
    return jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in (*packages, HOME)])
