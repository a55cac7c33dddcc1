"""How Sphinx makes the site of this folder, without a network: `python -m sphinx -W --keep-going docs build/site`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
_ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT), str(_ROOT / "docs"), str(_ROOT / "benchmarks")]

from sphinx.application import Sphinx  # noqa: E402

import biodyn  # noqa: E402

project = "biodyn"
author = copyright = "the biodyn developers"
version = release = biodyn.__version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
# Scripts of the gallery become pages in _gallery; made tables (settings, landmarks) are pages already.
exclude_patterns = ["gallery"]
html_theme = "furo"
html_title = f"biodyn {version}"
html_copy_source = False
# Indented commands are not Python code.
highlight_language = "none"
# Shapes such as (T, nq) stand where other projects write types, and nq is a name in several classes.
suppress_warnings = ["ref.python"]
# In docstrings a single backquote is code.
default_role = "code"

myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True

autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
napoleon_use_ivar = True


sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "_gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("gallery_figures.named_figure",),
    "reset_modules": (),
    "capture_repr": (),
    "notebook_extensions": set(),
    "download_all_examples": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "plot_gallery": "True",
}


def _plain(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """A docstring is plain text with `code` in it: `*`, `_` and `|` are signs of formulas and names, no markup."""
    for number, line in enumerate(lines):
        parts = line.split("`")
        for even in range(0, len(parts), 2):
            for sign in "*_|":
                parts[even] = parts[even].replace(sign, "\\" + sign)
        lines[number] = "`".join(parts)


def setup(app: Sphinx) -> None:
    """Docstrings pass here before Napoleon reads their sections."""
    app.connect("autodoc-process-docstring", _plain, priority=100)
