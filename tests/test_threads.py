"""Libraries of linear algebra use one thread during an analysis; a container's limit of processor time counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from biodyn import run_trial, threads
from biodyn.errors import BiodynError
from biodyn.threads import ONE_THREAD, limit_to_one_thread, processor_count


@pytest.mark.parametrize(
    ("files", "worth"),
    [
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "max 100000"}, math.inf),
        ({"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, math.inf),
        ({}, math.inf),
    ],
)
def test_a_limit_of_processor_time_counts_as_fewer_processors(
    files: dict[str, str], worth: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert threads._processor_time_limit(tmp_path) == worth
    free = processor_count()
    monkeypatch.setattr(threads, "_processor_time_limit", lambda: worth)
    assert processor_count() == min(free, worth)


_SAMPLE = Path(__file__).parents[1] / "sample_data" / "subject01" / "walk01.c3d"


def threads_of_linear_algebra() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture
def of_two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process whose user has said nothing, with two threads of linear algebra."""
    for name in ONE_THREAD:
        monkeypatch.delenv(name, raising=False)
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("of_two_threads")
def test_an_analysis_that_python_calls_takes_one_thread_of_linear_algebra() -> None:
    during: list[set[int]] = []
    run_trial(_SAMPLE, progress=lambda step: during.append(threads_of_linear_algebra()))
    assert len(during) > 3
    assert all(one == {1} for one in during)
    assert threads_of_linear_algebra() == {2}


@pytest.mark.usefixtures("of_two_threads")
def test_an_analysis_that_fails_gives_the_threads_back(tmp_path: Path) -> None:
    with pytest.raises(BiodynError):
        run_trial(tmp_path / "none.c3d")
    assert threads_of_linear_algebra() == {2}


@pytest.mark.usefixtures("of_two_threads")
def test_what_the_user_says_of_threads_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with limit_to_one_thread():
        assert threads_of_linear_algebra() == {2}
