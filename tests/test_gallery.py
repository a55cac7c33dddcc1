"""The gallery tells the truth: every example is short, runs on the sample data and draws its figure."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest
from matplotlib.figure import Figure

GALLERY = sorted((Path(__file__).parents[1] / "docs" / "gallery").glob("*.py"))


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_examples_of_the_gallery_are_short(path: Path) -> None:
    """Ten lines that do something, beside the imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    lines = {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and not isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert len(lines) - 1 <= 10  # the docstring is a statement too


@pytest.mark.slow
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_examples_of_the_gallery_draw_a_figure(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    figure = runpy.run_path(str(path))["figure"]
    assert isinstance(figure, Figure)
    assert any(ax.has_data() for ax in figure.axes)
