"""What a section of a page is. One file with a marked function and its template adds one; every page is a list of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

import jinja2
from markupsafe import Markup

from biodyn.library.registry import Registry
from biodyn.output.report.page import Section, page_environment

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
