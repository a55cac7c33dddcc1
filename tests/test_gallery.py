"""Every example of the gallery is short. The documentation build runs them and fails if one fails."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

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
