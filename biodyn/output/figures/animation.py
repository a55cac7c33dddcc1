"""Stick figures in motion as a GIF: the recorded body and replays of it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Final

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure as Drawing
from PIL import Image

from biodyn.conventions import FloatArray
from biodyn.output.figures.description import Axis, Figure, Key, Panel
from biodyn.output.figures.matplotlib_backend import draw
from biodyn.output.figures.style import INK, POINTS_A_PIXEL, TEXT, color
from biodyn.rigid_body import Multibody, body_poses

_DPI: Final = 72
_COLORS: Final = 32  # of the palette: flat drawings need no more, and the file stays small
# Colour, width and opacity of the motions, in their order.
_STYLES: Final = (("muted", 6.0, 0.55), ("limit", 2.4, 1.0), ("x", 1.8, 1.0))
_MIN_BONE_M: Final = 0.01  # shorter "bones" are the links of one joint


def stick_figure(mb: Multibody, q: FloatArray) -> FloatArray:
    """Return the bones (T, S, 2, 3) m in World of configurations (T, nq): joint centre to joint centre.

    A last segment is drawn twice as far as its centre of mass.
    """
    R, p = body_poses(mb, q)
    neutral = body_poses(mb, mb.neutral()[None])[1][0]
    bones = []
    for i in range(1, len(mb.bodies)):
        if np.linalg.norm(neutral[i] - neutral[mb.parents[i]]) > _MIN_BONE_M:
            bones.append(np.stack([p[:, mb.parents[i]], p[:, i]], axis=1))
    for i, body in enumerate(mb.bodies):
        if not (mb.parents == i).any():
            bones.append(np.stack([p[:, i], p[:, i] + 2.0 * R[:, i] @ body.com_m], axis=1))
    return np.stack(bones, axis=1)


def replay_gif(
    mb: Multibody, configurations: Mapping[str, FloatArray], time_s: FloatArray, *, frames_s: float, slowdown: float
) -> bytes:
    """Return a GIF of several motions over each other, seen from the right and from the front.

    Args:
        configurations: (T, nq) by name, the recorded one first; NaN rows are not drawn.
        time_s: (T,) s.
        frames_s: time between drawn frames, s. slowdown: how many times slower than real.
    """
    every = max(round(frames_s / float(time_s[1] - time_s[0])), 1)
    rows = np.arange(0, len(time_s), every)
    sticks = {name: stick_figure(mb, q[rows]) for name, q in configurations.items()}
    first = next(iter(sticks.values()))
    low = np.nanmin(first, axis=(0, 1, 2))
    high = np.nanmax(first, axis=(0, 1, 2))
    span = high[1] - low[1]
    middle = np.nanmean(first, axis=(1, 2))  # the view walks along
    figure = _stage(tuple(sticks), (-0.55 * span, 0.55 * span), (low[1] - 0.05 * span, high[1] + 0.05 * span))
    figure.set_dpi(_DPI)
    drawn = []
    for ax, (across, sign) in zip(figure.axes, ((0, 1.0), (2, -1.0)), strict=True):
        for stick, (name, width, alpha) in zip(sticks.values(), _STYLES, strict=False):
            lines = LineCollection(
                [], colors=color(name), linewidths=width * POINTS_A_PIXEL, alpha=alpha, capstyle="round", animated=True
            )
            ax.add_collection(lines)
            drawn.append((lines, stick, across, sign))
    clock = figure.text(0.98, 0.98, "", ha="right", va="top", fontsize=TEXT * POINTS_A_PIXEL, color=INK, animated=True)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    empty = canvas.copy_from_bbox(figure.bbox)  # axes and legend are drawn once, only what moves again
    pictures = []
    for k, row in enumerate(rows):
        for lines, stick, across, sign in drawn:
            flat = np.stack([sign * (stick[k, ..., across] - middle[k, across]), stick[k, ..., 1]], axis=-1)
            lines.set_segments(list(flat) if np.isfinite(flat).all() else [])
        clock.set_text(f"{time_s[row]:.2f} s, {slowdown:g} x slower")
        canvas.restore_region(empty)
        for artist in (*(lines for lines, *_ in drawn), clock):
            figure.draw_artist(artist)
        picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        pictures.append(picture.quantize(_COLORS, dither=Image.Dither.NONE))
    stream = io.BytesIO()
    duration_ms = max(round(1000.0 * slowdown * every * float(time_s[1] - time_s[0])), 20)
    pictures[0].save(
        stream, format="GIF", save_all=True, append_images=pictures[1:], duration=duration_ms, loop=0, optimize=True
    )
    return stream.getvalue()


def _stage(motions: tuple[str, ...], across: tuple[float, float], up: tuple[float, float]) -> Drawing:
    """Both views without the bodies."""
    x, y = Axis(limits=across, ticks=()), Axis("height (m)", limits=up, grid=True)
    panels = tuple(Panel(title, x, y, equal=True) for title in ("from the right", "from the front"))
    keys = tuple(Key(name, style[0], width=style[1]) for name, style in zip(motions, _STYLES, strict=False))
    return draw(Figure("Recorded and replayed motion", panels, keys, 2, height=380.0, width=800.0))
