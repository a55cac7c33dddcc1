"""Self-contained pages: head, sections and foot, and the style and templates that all pages share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

import jinja2
from markupsafe import Markup

from biodyn.conventions import CYCLE_POINTS
from biodyn.library.registry import Registry
from biodyn.library.tables import segment_title
from biodyn.library.toml_files import load_table
from biodyn.variables import Norms

HOME = "biodyn.output.report"


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Attributes:
        name: anchor. title: heading. body: content below the heading.
        link: entry in the navigation, "" for none. css: class in the style sheet, such as "new-page" for print.
        folded: only the title is visible until the section is opened.
    """

    name: str
    title: str
    body: Markup
    link: str = ""
    css: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Fact:
    """A labelled value with an optional `note` in small print."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Frame:
    """Head and foot of a page.

    Attributes:
        title: of the window. heading, line, facts: head of the page; `outcome` sets the line bold.
        program: version of biodyn that made the result. foot: last line of the page.
        up: address and title of the parent page, ("", "") for none. style, script: in addition to the common ones.
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


def render_page(frame: Frame, sections: Sequence[Section]) -> str:
    """Return a page: head, navigation, sections and foot."""
    template = page_environment().get_template("frame.html.j2")
    style = load_resource("style.css") + frame.style
    return template.render(frame=frame, sections=sections, style=style, folding=load_resource("folding.js"))


def render_section(
    name: str,
    title: str,
    template: str,
    *,
    link: str | None = None,
    css: str = "",
    folded: bool = False,
    packages: tuple[str, ...] = (),
    **values: object,
) -> Section:
    """Return a section of a page without a registry; `template` is filled with `values`, `link` is the title by default.

    packages: packages with additional templates.
    """
    body = Markup(page_environment(*packages).from_string(template).render(values))
    return Section(name, title, body, title if link is None else link, css, folded)


@cache
def page_environment(*packages: str) -> jinja2.Environment:
    """Return the templates of the packages in order, then the shared templates; all values are escaped."""
    return jinja2.Environment(
        loader=_template_loader(*packages),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def text_environment(*packages: str) -> jinja2.Environment:
    """Return the templates for plain text, without escaping; filters `bare` and `sentence` remove and set full stops."""
    environment = jinja2.Environment(
        loader=_template_loader(*packages), undefined=jinja2.StrictUndefined, autoescape=False
    )
    environment.filters["segment_title"] = segment_title
    environment.filters["bare"] = lambda text: str(text).strip().rstrip(".")
    environment.filters["sentence"] = lambda text: str(text).strip().rstrip(".") + "."
    return environment


@cache
def load_resource(name: str, *packages: str) -> Markup:
    """Return a style sheet, script or template source unchanged, from the templates of the packages."""
    environment = page_environment(*packages)
    return Markup(_template_loader(*packages).get_source(environment, name)[0])


def script_json(data: Any) -> Markup:
    """Return JSON that cannot terminate its script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text))


def _template_loader(*packages: str) -> jinja2.ChoiceLoader:
    return jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in (*packages, HOME)])


#: Values for the template of a section. "name", "title", "link", "css" and "folded" override its attributes;
#: "figures" adds drawings.
Data = Mapping[str, Any]
_MACROS = '{% from "macros.html.j2" import lamp, state, picture, pictures, table, by_side with context %}'


class Page(Protocol):
    """Source of the values of sections."""

    def context(self) -> Data:
        """Return the values that all templates of the page may use; "figures" holds the drawings by name."""


Of = TypeVar("Of", bound=Page)
Source = Callable[[Of], Data | Sequence[Data] | None]


#: A registered section, its template, and the function that returns its values: None: omitted; several: one section each.
Reportlet = tuple[Section, str, Source[Of]]


class Sections(Registry[Reportlet[Of]], Generic[Of]):
    """The sections of one kind of page, defined in `package`; `templates`: packages with additional templates and macros.

    prefix: beginning of the names of the template files of these sections.
    """

    def __init__(self, package: str, templates: tuple[str, ...] = (), macros: str = "", prefix: str = "") -> None:
        super().__init__(package, "section")
        self._templates, self._macros, self._prefix = templates, _MACROS + macros, prefix

    def section(
        self,
        name: str,
        *,
        place: float,
        template: str = "",
        title: str = "",
        link: str = "",
        css: str = "",
        folded: bool = False,
    ) -> Callable[[Source[Of]], Source[Of]]:
        """Return a decorator that registers a section: the function returns the values for its template.

        Parameters: `place` in the order of the page; `template` of the content (Jinja, with the macros `lamp`, `state`,
        `picture`, `table`, and on the page of a trial `pictures` and `by_side`), by default the file `<prefix>NAME.html.j2`;
        for the others see `Section`. On the page of a trial all sections but the verdict, the scene, the parameters and the
        standard page are `folded`.
        """

        def register(data: Source[Of]) -> Source[Of]:
            source = template or str(load_resource(f"{self._prefix}{name}.html.j2", *self._templates))
            section = Section(name, title, Markup(), link, css, folded)
            self.add(name, (section, self._macros + source, data), place)
            return data

        return register

    def fill(self, page: Of, only: Collection[str] | None = None) -> list[Section]:
        """Return the filled sections of a page in order; with `only`, those with these names."""
        reportlets = [reportlet for name, reportlet in self.items() if only is None or name in only]
        return [section for reportlet in reportlets for section in self._render_reportlet(reportlet, page)]

    def _render_reportlet(self, reportlet: Reportlet[Of], page: Of) -> Iterator[Section]:
        section, template, source = reportlet
        values = source(page)
        if values is None:
            return
        context = page.context()
        for data in [values] if isinstance(values, Mapping) else values:
            figures = {**context["figures"], **data.get("figures", {})}
            body = _compile_template(template, self._templates).render({**context, **data, "figures": figures})
            overrides = {key: data[key] for key in ("name", "title", "link", "css", "folded") if key in data}
            yield replace(section, body=Markup(body), **overrides)


@cache
def _compile_template(template: str, packages: tuple[str, ...]) -> jinja2.Template:
    return page_environment(*packages).from_string(template)


#: Template of the methods of a trial analysed with a body model of the library.
METHODS = "methods.txt.j2"


@dataclass(frozen=True)
class Methods:
    """Paragraphs (heading, text) with numbered citations like [1, 2], and the references in order of their numbers."""

    paragraphs: tuple[tuple[str, str], ...]
    references: tuple[str, ...]


def methods_text(
    record: Mapping[str, Any],
    template: str = METHODS,
    packages: tuple[str, ...] = (),
    sources: Mapping[str, str] | None = None,
    norms: Sequence[Norms] = (),
    **context: Any,
) -> Methods:
    """Write the methods of an analysis from its record (`run.json`).

    Parameters: `template` of the `packages`, with `context` in addition to the record; `sources`: references by citation key
    that override the library; `norms`: the norms that are shown.
    """
    references = dict(load_table("report/references")["reference"])
    references |= {kind: entry["citation"] for kind, entry in record["model"]["citations"].items()}
    references |= {group.name: group.citation for group in norms} | dict(sources or {})
    cited: list[str] = []

    def number_citations(match: re.Match[str]) -> str:
        keys = [key.strip() for key in match[1].split(",")]
        cited.extend(references[key] for key in keys if references[key] not in cited)
        return "[" + ", ".join(str(cited.index(references[key]) + 1) for key in keys) + "]"

    text = (
        text_environment(*packages)
        .get_template(template)
        .render(record=record, norms=norms, constants=_methods_constants(), **context)
    )
    paragraphs = []
    for part in text.split("## ")[1:]:
        heading, _, body = part.partition("\n")
        numbered = re.sub(r"\[\[([^\[\]]+)\]\]", number_citations, " ".join(body.split()))
        paragraphs.append((heading.strip(), numbered))
    return Methods(tuple(paragraphs), tuple(cited))


def _methods_constants() -> dict[str, float]:
    """Return the constants of the program that are given in the methods text."""
    from biodyn.estimation import coordinate_estimate, noise_model

    return {
        "cycle_points": CYCLE_POINTS,
        "moment_sd_nm": noise_model.MOMENT_SD_NM,
        "marker_sd_m": coordinate_estimate.COORDINATE_MARKER_SD_M,
        "coordinate_sd_rad": coordinate_estimate.COORDINATE_SD_RAD,
        "coordinate_sd_m": coordinate_estimate.COORDINATE_SD_M,
        "mass_sd_share": coordinate_estimate.MASS_SD_SHARE,
        "centre_sd_m": coordinate_estimate.CENTRE_SD_M,
    }
