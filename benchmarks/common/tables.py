"""What is printed on the way: Markdown tables, shares, lines that appear at once."""

from __future__ import annotations

from collections.abc import Sequence


def tell(text: str = "") -> None:
    """Print a line now, also into a file: long benchmarks are watched."""
    print(text, flush=True)


def markdown_row(cells: Sequence[object]) -> str:
    """One row of a Markdown table."""
    return f"| {' | '.join(str(cell) for cell in cells)} |"


class Table:
    """A Markdown table that appears row by row."""

    def __init__(self, heads: Sequence[str]) -> None:
        self.width = len(heads)
        tell(markdown_row(heads) + "\n" + "|---" * self.width + "|")

    def row(self, *cells: object) -> None:
        """Print a row; cells that are not given stay empty."""
        tell(markdown_row([*cells, *[""] * (self.width - len(cells))]))


def per_cent(part: float, whole: float) -> float:
    """Return 100 part / whole; NaN of nothing."""
    return 100.0 * part / whole if whole else float("nan")
