"""Memory of the large equations: nobody gets what another one still uses, and what is too large is given back."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.estimation import memory as module
from biodyn.estimation.banded import Factor, Normal
from biodyn.estimation.memory import Memory, borrowed


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_kept", [])


def test_two_at_a_time_have_memories_of_their_own_and_the_next_one_takes_over() -> None:
    with borrowed() as first, borrowed() as second:
        first.array((3,))[:] = 1.0
        second.array((3,))[:] = 2.0
        assert first.array((3,)).tolist() == [1.0, 1.0, 1.0]
    with borrowed() as again, borrowed() as further:
        assert again in (first, second)
        assert further is not again


def test_a_memory_is_kept_where_something_went_wrong_and_given_back_where_it_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(np.linalg.LinAlgError), borrowed() as failed:
        raise np.linalg.LinAlgError
    with borrowed() as same:
        assert same is failed
        monkeypatch.setattr(module, "LARGEST_KEPT", 799)
        same.array((10, 10))
    with borrowed() as other:
        assert other is not same


def test_a_smaller_array_lies_in_the_memory_of_a_larger_one() -> None:
    memory = Memory()
    large = memory.array((4, 5))
    assert np.shares_memory(memory.array((2, 5)), large)
    assert memory.nbytes == 8 * 20


def test_equations_do_not_depend_on_what_the_memory_held() -> None:
    """Whatever stands there from another system: the solution is the same to the last bit."""
    rng, frames, n, reach = np.random.default_rng(3), 40, 5, 2
    rows, rest = rng.normal(size=(frames - reach, 7, reach + 1, n)), rng.normal(size=(frames - reach, 7))
    found = []
    for before in (0.0, np.nan, 1e300):
        memory = Memory()
        memory.array((100_000,))[:] = before
        normal = Normal.empty(frames, reach, n, memory)
        normal.add_wide(0, rows, rest)
        normal.diagonals[:, 0] += 1.0
        found.append(Factor(normal).solve(normal.g))
    assert np.isfinite(found[0]).all()
    assert all(np.array_equal(found[0], other) for other in found[1:])
