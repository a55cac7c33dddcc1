"""What is said of a second reading that differs."""

import pytest

from biodyn.io.formats.c3d._second_reading import _percent


@pytest.mark.parametrize(
    ("share", "said"), [(1.0, "100"), (0.997, "100"), (0.34, "34"), (0.012, "1.2"), (0.0004, "0.04")]
)
def test_a_share_is_a_plain_number_of_percent(share: float, said: str) -> None:
    assert _percent(share) == said
