"""Which pictures the gallery shows: what an example calls `figure`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def named_figure(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Keep the example's `figure`, and return the lines that show it; biodyn draws without pyplot, which is asked else."""
    figure = block_vars["example_globals"].get("figure")
    if block[0] != "code" or not isinstance(figure, Figure):
        return ""
    path = Path(next(block_vars["image_path_iterator"]))
    figure.savefig(path, dpi=120)
    return str(figure_rst([str(path)], gallery_conf["src_dir"]))
