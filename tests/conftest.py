"""One small simulated session (static trial and walk) that all tests of the whole path share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sessions import Laboratory

from biodyn.simulation import Person, TrialOptions, session


def pytest_sessionstart(session: pytest.Session) -> None:
    """Where several processes will share the tests, compile the kernels once, before they start."""
    if getattr(session.config.option, "numprocesses", None):
        from biodyn.rigid_body import warm_up

        warm_up()


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """Static trial and walk over three plates, 1 mm marker noise."""
    person = Person("Subject01", height_m=1.78, mass_kg=74.0, sex="male")
    static, walk = session(person, TrialOptions(forward="-x", noise_mm=1.0, force_noise_n=0.5, seed=7))
    empty = Laboratory(Path(), {"static": static, "walk": walk})
    return empty.copy(tmp_path_factory.mktemp("laboratory") / "session" / "subject01")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real recordings; tests that need it skip where it is not named."""
    folder = os.environ.get("BIODYN_TEST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("BIODYN_TEST_DATA does not name the folder of real recordings")
    return Path(folder)
