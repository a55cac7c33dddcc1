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
    yield _checks
    yield _letters
    yield _kernels


def _lists() -> None:
    from biodyn.output.figures.trial import FIGURES
    from biodyn.output.report.trial_page import SECTIONS
    from biodyn.output.tables import TABLES

    for registry in (TABLES, FIGURES, SECTIONS):
        len(registry)


def _checks() -> None:
    """What the record names: checks, methods."""
    from biodyn.checks.registry import checks
    from biodyn.model.from_library.hip_centre import HIP_METHODS
    from biodyn.processing.signals.smoothing import SMOOTHING

    checks()
    for registry in (HIP_METHODS, SMOOTHING):
        len(registry)


def _letters() -> None:
    """Fonts and the library that paints: a figure of one curve."""
    import numpy as np

    from biodyn.output.figures.description import Axis, Figure, Line, Panel
    from biodyn.output.figures.painter import painted

    ends = np.array([0.0, 1.0])
    painted(Figure("a", (Panel("a", Axis("a"), Axis("a"), (Line(ends, ends, "right", 1.0),)),)))


def _kernels() -> None:
    """Those of tables and pages; the analysis, which may run in another process, compiles what is not compiled yet."""
    from biodyn.rigid_body.compilation import load_compiled

    load_compiled("energies", "inverse", "poses", "text")


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
