"""Figures of a forward replay: drift, feedback torques, convergence of the integrators."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure as Drawing
from PIL import Image

from biodyn.conventions import FloatArray
from biodyn.output.figures.curves import labels_below, time_axis
from biodyn.output.figures.description import Axis, Figure, Key, Line, Panel, Points, Rule
from biodyn.output.figures.matplotlib_backend import draw
from biodyn.output.figures.style import DASHED, DOTTED, INK, POINTS_A_PIXEL, TEXT, color
from biodyn.rigid_body import Multibody, body_poses
from biodyn.variables import coordinate_title
from biodyn.verification.replay import Convergence, OpenLoop

_METHOD_NAMES = {"euler": "semi-implicit Euler", "rk4": "Runge-Kutta 4", "solve_ivp": "adaptive (DOP853)"}


def drift_figure(cases: Mapping[str, OpenLoop], rate_hz: float, angle_deg: float) -> Figure:
    """Median and largest joint error of all windows against the time since their start, logarithmic."""
    keys = (
        Key("median window", "x", width=2.6),
        Key("worst window", "y", width=2.0),
        Key(f"{angle_deg:g} degrees", "limit", width=1.2, dash=DASHED),
        Key("every replay within the limit", "muted", width=1.2, dash=DOTTED),
    )
    panels = tuple(_drift_panel(case, replayed, rate_hz, angle_deg) for case, replayed in cases.items())
    return Figure("Drift without feedback", panels, keys, len(cases), height=258.0)


def _drift_panel(case: str, found: OpenLoop, rate_hz: float, angle_deg: float) -> Panel:
    part = found.deviation
    time_s = np.arange(part.joint_rad.shape[1]) / rate_hz
    error = np.degrees(np.where(np.isnan(part.joint_rad), np.inf, part.joint_rad))
    inside = np.where(part.inside, error, np.nan)
    median, worst = (np.full(len(time_s), np.nan) for _ in range(2))
    for k in np.flatnonzero(part.inside.any(axis=0)):
        median[k], worst[k] = np.median(inside[part.inside[:, k], k]), np.max(inside[part.inside[:, k], k])
    low = np.nanmin(np.append(_finite(median[1:]), angle_deg))
    return Panel(
        case,
        time_axis(time_s, "time since start of the window (s)"),
        Axis("joint angle error, degrees", limits=(max(low, 1e-12) / 3.0, 180.0), log=True, grid=True),
        (
            Rule(angle_deg, "y", "limit", 1.3, DASHED),
            Rule(found.prediction_horizon_s, "x", "muted", 1.2, DOTTED),
            Line(time_s[1:], _finite(worst[1:]), "y", 2.0),
            Line(time_s[1:], _finite(median[1:]), "x", 2.6),
        ),
    )


def feedback_figure(table: pd.DataFrame) -> Figure:
    """Recorded torque and the feedback that tracking needed, for the coordinates with the largest torques."""
    peaks = table.assign(size=table["recorded_Nm"].abs()).groupby("coordinate", observed=True)["size"].max()
    names = list(peaks.sort_values(ascending=False).index[:6])
    panels = []
    for name, label in zip(names, labels_below("time (s)", len(names)), strict=True):
        rows = table[table["coordinate"] == name]
        time_s = rows["time_s"].to_numpy(dtype=np.float64)
        feedback = rows["feedback_Nm"].to_numpy(dtype=np.float64)
        panels.append(
            Panel(
                coordinate_title(str(name)),
                time_axis(time_s, label),
                Axis("Nm, as in the tables", holds=(0.0,), grid=True),
                (
                    Line(time_s, rows["recorded_Nm"].to_numpy(dtype=np.float64), "muted", 1.9),
                    Line(time_s, feedback, "limit", 1.9),
                ),
                corner=f"feedback ≤ {np.nanmax(np.abs(feedback)):.2g} Nm",
            )
        )
    keys = (Key("recorded", "muted", width=1.9), Key("feedback", "limit", width=1.9))
    return Figure("Tracked replay", tuple(panels), keys)


def convergence_figure(cases: Sequence[Convergence]) -> Figure:
    """Error at the end of a short window against the work, both logarithmic."""
    layers: list[Line | Points] = []
    keys = []
    work = np.concatenate([np.asarray(case.evaluations, dtype=np.float64) for case in cases])
    for case, axis in zip(cases, ("x", "y", "z"), strict=True):
        evaluations, error = (np.asarray(values, dtype=np.float64) for values in (case.evaluations, case.error))
        order = f", order {case.order:.1f}" if np.isfinite(case.order) else ""
        layers += [Line(evaluations, error, axis, 1.9), Points(evaluations, error, axis)]
        keys.append(Key(f"{_METHOD_NAMES[case.method]}{order}", axis, width=1.9, point=True))
    panel = Panel(
        "Convergence",
        Axis("evaluations of the equations of motion a window", limits=(work.min() / 1.3, work.max() * 1.3), log=True),
        Axis("error, rad or m", log=True, grid=True),
        tuple(layers),
    )
    return Figure("Convergence of the integrators", (panel,), tuple(keys), 1, height=258.0, width=600.0)


def _finite(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values) & (values > 0.0), values, np.nan)


# Colour, width and opacity of the motions, in their order.
_STYLES: Final = (("muted", 6.0, 0.55), ("limit", 2.4, 1.0), ("x", 1.8, 1.0))


def stick_figure(mb: Multibody, q: FloatArray, min_bone_m: float = 0.01) -> FloatArray:
    """Return the bones (T, S, 2, 3) m in World of configurations (T, nq): joint centre to joint centre.

    A last segment is drawn twice as far as its centre of mass.
    """
    R, p = body_poses(mb, q)
    neutral = body_poses(mb, mb.neutral()[None])[1][0]
    bones = []
    for i in range(1, len(mb.bodies)):
        if np.linalg.norm(neutral[i] - neutral[mb.parents[i]]) > min_bone_m:  # shorter links belong to one joint
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
    figure.set_dpi(72)
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
        pictures.append(picture.quantize(32, dither=Image.Dither.NONE))
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
