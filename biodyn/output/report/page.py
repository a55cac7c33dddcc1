"""Pages that stand alone: the environment of their templates, and the style and scripts that all of them share."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

HOME = "biodyn.output.report"


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
