"""One small simulated session (static trial and walk) that all tests of the whole path share."""

from __future__ import annotations

from support import one_thread  # isort: skip  # noqa: F401  before anything imports numpy

from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from simulator import Person, TrialOptions, session
from support import real
from support.sessions import Laboratory

from biodyn.output.figures.matplotlib_backend import drawing_png
from biodyn.output.figures.trial import TrialView
from biodyn.trial.result import TrialResult
from biodyn.trial.run import run_trial


def pytest_sessionstart(session: pytest.Session) -> None:
    """Where several processes will share the tests, compile the kernels once, before they start."""
    if getattr(session.config.option, "numprocesses", None):
        from biodyn.rigid_body import compile_kernels

        compile_kernels()


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """Static trial and walk over three plates, 1 mm marker noise."""
    person = Person("Subject01", height_m=1.78, mass_kg=74.0, sex="male")
    static, walk = session(person, TrialOptions(forward="-x", noise_mm=1.0, force_noise_n=0.5, seed=7))
    empty = Laboratory(Path(), {"static": static, "walk": walk})
    return empty.copy(tmp_path_factory.mktemp("laboratory") / "session" / "subject01")


@pytest.fixture(scope="session")
def walk_result(laboratory: Laboratory) -> TrialResult:
    """The session's walk, analysed with every setting at its default; not to be changed."""
    return run_trial(laboratory.walk, laboratory.static)


@pytest.fixture(scope="module")
def blank_figures() -> Iterator[None]:
    """For a module that is not about figures of a trial: all are made and named as ever, but their PNGs are blank.

    Drawing is nearly all of the time that a result with its report takes.
    """
    blank = drawing_png(Figure(figsize=(0.5, 0.5)), 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrialView, "figures_png", lambda view: dict.fromkeys(view.figures, blank))
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real recordings; tests that need it skip where it is not named."""
    return real.recordings()
