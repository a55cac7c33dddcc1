"""Pages that stand alone: the frame around the sections, and the style and templates that all of them share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

import jinja2
from markupsafe import Markup

from biodyn.library.load import load_table
from biodyn.library.registry import Registry
from biodyn.variables import Norms

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


#: What a section's template is filled with. "name", "title", "link", "css" and "folded" replace what the section is marked with;
#: "figures" adds drawings to those of the page.
Data = Mapping[str, Any]
_MACROS = '{% from "macros.html.j2" import lamp, state, picture, pictures, by_side with context %}'


class Page(Protocol):
    """What sections are made of."""

    def context(self) -> Data:
        """What every template of the page may use; "figures" holds its drawings by name."""


Of = TypeVar("Of", bound=Page)
Source = Callable[[Of], Data | Sequence[Data] | None]


@dataclass(frozen=True)
class Reportlet(Generic[Of]):
    """How a section is made: `data` of a page fills `template`; None: not shown; several: a section each."""

    section: Section
    template: str
    data: Source[Of]

    def sections(self, page: Of, templates: tuple[str, ...]) -> Iterator[Section]:
        """Yield the sections of this kind that a page has; `templates`: packages whose templates may be imported."""
        found = self.data(page)
        if found is None:
            return
        context, own = page.context(), self.section
        for data in [found] if isinstance(found, Mapping) else found:
            figures = {**context["figures"], **data.get("figures", {})}
            body = _compiled(self.template, templates).render({**context, **data, "figures": figures})
            yield Section(
                data.get("name", own.name),
                data.get("title", own.title),
                Markup(body),
                data.get("link", own.link),
                data.get("css", own.css),
                data.get("folded", own.folded),
            )


class Sections(Registry[Reportlet[Of]], Generic[Of]):
    """The sections of one kind of page, found in `package`; `templates`: packages with macros of their own."""

    def __init__(self, package: str, templates: tuple[str, ...] = (), macros: str = "") -> None:
        super().__init__(package, "section")
        self._templates, self._macros = templates, _MACROS + macros

    def section(
        self,
        name: str,
        *,
        place: float,
        template: str,
        title: str = "",
        link: str = "",
        css: str = "",
        folded: bool = False,
    ) -> Callable[[Source[Of]], Source[Of]]:
        """Return a decorator that adds a section: the function returns what its template is filled with.

        Parameters: `place` in the order of the page; `template` of what follows the heading (Jinja, with the macros
        `lamp`, `state`, `picture` and, on a trial's page, `pictures`); the others see `Section`. On a trial's page all but
        the verdict, the scene, the parameters and the standard page are `folded`.
        """

        def add(data: Source[Of]) -> Source[Of]:
            own = Section(name, title, Markup(), link, css, folded)
            self.add(name, Reportlet(own, self._macros + template, data), place)
            return data

        return add

    def compile(self) -> None:
        """Compile all templates, which otherwise are when they are first filled."""
        for reportlet in self.values():
            _compiled(reportlet.template, self._templates)

    def of(self, page: Of, only: Collection[str] | None = None) -> list[Section]:
        """Return the sections that a page shows, or `only` some of them by name, in their order."""
        wanted = [reportlet for name, reportlet in self.items() if only is None or name in only]
        return [section for reportlet in wanted for section in reportlet.sections(page, self._templates)]


@cache
def _compiled(template: str, packages: tuple[str, ...]) -> jinja2.Template:
    return page_environment(*packages).from_string(template)


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
