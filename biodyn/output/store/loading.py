"""Load what a result is written with, before there is one to write: libraries, norms, templates, lists that grow by a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module


def pieces() -> Iterator[Callable[[], object]]:
    """Yield what to call, one after the other: each takes a moment only."""
    for library in ("numpy", "pandas", "scipy.interpolate", "numba", "matplotlib.backend_bases", "jinja2"):
        yield lambda name=library: import_module(name)  # type: ignore[misc]
    yield lambda: import_module("biodyn.output.store.view")
    yield lambda: import_module("biodyn.output.figures.painter")
    yield _lists
    yield _norms
    yield _templates


def _lists() -> None:
    from biodyn.output.figures.trial import FIGURES
    from biodyn.output.report.trial_page import SECTIONS
    from biodyn.output.tables import TABLES

    for registry in (TABLES, FIGURES, SECTIONS):
        len(registry)


def _norms() -> None:
    from biodyn.variables.norms import load_norm_set, tried_norms

    for name in tried_norms():
        load_norm_set(name)


def _templates() -> None:
    from biodyn.output.report.methods import METHODS
    from biodyn.output.report.page import FRAME, MACROS, page_environment, text_environment
    from biodyn.output.report.trial_page import SECTIONS

    SECTIONS.compile()
    for name in (FRAME, MACROS):
        page_environment().get_template(name)
    text_environment().get_template(METHODS)
