"""The ground: forces over time and over stance, and where the feet stood on the plates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon

from biodyn.conventions import SIDE_NAMES, SIDES, STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.output.figures.cycles import CycleCurves, cycle_panel
from biodyn.output.figures.style import (
    INK,
    LABEL_PT,
    LIMIT,
    MUTED,
    SIDE_COLORS,
    TICK_PT,
    UNKNOWN,
    dress,
    new_figure,
    note,
    panel_size_in,
    panels,
    zero_line,
)
from biodyn.variables import PERCENT, variable

_MARGIN_M = 0.15


def force_column(name: str, side: str) -> str:
    """Column of the ground-reaction table that holds a variable, e.g. the side's vertical force."""
    stem, _, axis = name.rpartition("_")
    return f"{stem}_{side}_{axis}_N"


def measured_stances(events: pd.DataFrame, ground_reaction: pd.DataFrame, side: str) -> Iterator[tuple[float, float]]:
    """Yield (strike, off) in s of the stances of a side whose ground reaction is known from beginning to end."""
    own = events[events["side"].astype(str) == side].sort_values("time_s")
    times, kinds = own["time_s"].to_numpy(), own["event"].astype(str).to_numpy()
    frame_s = ground_reaction["time_s"].to_numpy()
    measured = ground_reaction[f"measured_{side}"].to_numpy(dtype=bool)
    loaded = np.isfinite(ground_reaction[f"centre_of_pressure_{side}_x_m"].to_numpy())
    for i in range(len(own) - 1):
        if (kinds[i], kinds[i + 1]) != ("foot_strike", "foot_off"):
            continue
        rows = (frame_s >= times[i]) & (frame_s <= times[i + 1])
        # Known and loaded for nearly all of it: a stance beside the plates is known to be none of theirs only by name.
        if rows.any() and measured[rows].all() and loaded[rows].mean() > 0.8:
            yield float(times[i]), float(times[i + 1])


def stance_curves(
    events: pd.DataFrame, ground_reaction: pd.DataFrame, names: Sequence[str], weight_n: float
) -> dict[str, dict[str, CycleCurves]]:
    """Ground forces over 0-100 % of each measured stance, in body weights and with the signs people are shown."""
    time_s = ground_reaction["time_s"].to_numpy()
    found: dict[str, dict[str, CycleCurves]] = {}
    for side in SIDES:
        stances = list(measured_stances(events, ground_reaction, side))
        for name in names:
            force = ground_reaction[force_column(name, side)].to_numpy() / weight_n * variable(name).clinical(side)
            rows = [np.interp(np.linspace(a, b, len(PERCENT)), time_s, force) for a, b in stances]
            found.setdefault(name, {})[side] = CycleCurves(np.array(rows).reshape(-1, len(PERCENT)), "BW")
    return found


def ground_reaction_figure(
    ground_reaction: pd.DataFrame, events: pd.DataFrame, names: Sequence[str], mass_kg: float
) -> Figure:
    """Force on each foot through the trial (top) and over each measured stance (bottom), in body weights."""
    weight_n = mass_kg * STANDARD_GRAVITY_M_S2
    figure = new_figure(9.4, 4.9)
    axes = panels(figure, 2, len(names))
    stances = stance_curves(events, ground_reaction, names, weight_n)
    for column, name in enumerate(names):
        shown = variable(name)
        shown = replace(shown, title=f"{shown.title}, stance")
        _force_through_time(axes[column], ground_reaction, name, weight_n)
        cycle_panel(axes[column + len(names)], shown, stances[name], {}, None, None, xlabel="stance (%)")
    handles = [Line2D([], [], color=SIDE_COLORS[side], linewidth=1.8, label=SIDE_NAMES[side]) for side in SIDES]
    handles.append(Line2D([], [], color=UNKNOWN, linewidth=6, label="a foot was on the floor outside the plates"))
    figure.legend(handles=handles, loc="lower center", ncols=3, frameon=False, fontsize=LABEL_PT, labelcolor=INK)
    return figure


def shade_unmeasured(ax: Axes, ground_reaction: pd.DataFrame, sides: Sequence[str] = SIDES) -> None:
    """Grey where the ground reaction on one of the sides is unknown."""
    time_s = ground_reaction["time_s"].to_numpy()
    known = np.logical_and.reduce([ground_reaction[f"measured_{side}"].to_numpy(dtype=bool) for side in sides])
    ax.fill_between(
        time_s,
        0.0,
        1.0,
        where=~known,
        transform=ax.get_xaxis_transform(),
        color=UNKNOWN,
        linewidth=0,
        zorder=0,
        step="mid",
    )


def _force_through_time(ax: Axes, ground_reaction: pd.DataFrame, name: str, weight_n: float) -> None:
    shown = variable(name)
    positive = f"{shown.positive} +"
    dress(ax, f"{shown.title}, trial", f"body weights, {positive}", "time (s)")
    time_s = ground_reaction["time_s"].to_numpy()
    shade_unmeasured(ax, ground_reaction)
    zero_line(ax)
    for side in SIDES:
        force = ground_reaction[force_column(name, side)].to_numpy() / weight_n * shown.clinical(side)
        ax.plot(time_s, force, color=SIDE_COLORS[side], linewidth=1.2)
    if len(time_s) > 1:
        ax.set_xlim(time_s[0], time_s[-1])


def centre_of_pressure_figure(
    plates: Mapping[int, FloatArray],
    ground_reaction: pd.DataFrame,
    contacts: pd.DataFrame,
    foot_outlines: FloatArray,
) -> Figure:
    """The plates from above, the foot outlines at mid-contact and the paths of the centre of pressure.

    Args:
        plates: corners (4, 3) m in World by plate number.
        contacts: table of contacts.
        foot_outlines: (contacts, 2, K, 3) m in World, outline of the right and the left sole at the middle of each contact.
    """
    corners = np.concatenate([*plates.values()]) if plates else np.zeros((1, 3))
    low, high = corners.min(axis=0) - _MARGIN_M, corners.max(axis=0) + _MARGIN_M
    across, along = high[2] - low[2], high[0] - low[0]
    width = 9.4
    height = float(np.clip((width - 0.9) * across / along + 1.25, 2.8, 4.6))
    figure = new_figure(width, height)
    (ax,) = panels(figure, 1, 1)
    dress(ax, "Centre of pressure (top view)", "to the left (m)", "forward, direction of World X (m)")
    ax.grid(True, axis="x", color="#eef0f2", linewidth=0.6)
    for number, plate in plates.items():
        ax.add_patch(
            Polygon(seen_from_above(plate), closed=True, facecolor="#f4f6f8", edgecolor="#9aa5b1", linewidth=1.0)
        )
        x, y = seen_from_above(plate).min(axis=0)
        ax.text(x + 0.015, y + 0.015, f"plate {number}", fontsize=TICK_PT, color=MUTED, ha="left", va="bottom")
    time_s = ground_reaction["time_s"].to_numpy()
    for i, contact in enumerate(contacts.to_dict("records")):
        side, assigned = str(contact["side"]), str(contact["decision"]) == "assigned"
        color = SIDE_COLORS.get(side, LIMIT) if assigned else LIMIT
        for k, sole_side in enumerate(SIDES):
            if side in SIDES and sole_side != side:
                continue
            outline = seen_from_above(foot_outlines[i, k]) if i < len(foot_outlines) else np.full((1, 2), np.nan)
            if np.isfinite(outline).all() and _near(outline, low, high):
                style = "-" if assigned else "--"
                ax.add_patch(
                    Polygon(
                        outline, closed=True, fill=False, edgecolor=color, linewidth=1.0, linestyle=style, alpha=0.8
                    )
                )
        if assigned and side in SIDES:
            rows = (time_s >= contact["start_s"]) & (time_s <= contact["end_s"])
            path = ground_reaction.loc[rows, [f"centre_of_pressure_{side}_{axis}_m" for axis in "xyz"]].to_numpy()
            above = seen_from_above(path)
            ax.plot(above[:, 0], above[:, 1], color=color, linewidth=1.6)
            start = above[np.isfinite(above).all(axis=1)][:1]
            ax.plot(start[:, 0], start[:, 1], "o", color=color, markersize=3.5)
    # The same scale both ways: widen the direction that has room.
    panel_width, panel_height = panel_size_in(ax)
    per_inch = max(along / panel_width, across / panel_height)
    middle = 0.5 * (low + high)
    ax.set_xlim(middle[0] - 0.5 * per_inch * panel_width, middle[0] + 0.5 * per_inch * panel_width)
    ax.set_ylim(-middle[2] - 0.5 * per_inch * panel_height, -middle[2] + 0.5 * per_inch * panel_height)
    ax.set_aspect("equal")
    if not plates:
        note(ax, "no plate")
    handles = [
        Line2D(
            [],
            [],
            color=SIDE_COLORS[s],
            linewidth=1.6,
            marker="o",
            markersize=3.5,
            label=f"{SIDE_NAMES[s]} (dot: strike)",
        )
        for s in SIDES
    ]
    handles.append(
        Line2D([], [], color=LIMIT, linewidth=1.0, linestyle="--", label="foot outline of a contact that was not used")
    )
    figure.legend(handles=handles, loc="lower center", ncols=3, frameon=False, fontsize=LABEL_PT, labelcolor=INK)
    return figure


def seen_from_above(p_W: FloatArray) -> FloatArray:
    """World points (..., 3) as (..., 2): forward to the right of the page, left upwards."""
    return np.stack([p_W[..., 0], -p_W[..., 2]], axis=-1)


def _near(outline: FloatArray, low: FloatArray, high: FloatArray) -> bool:
    x, y = outline.mean(axis=0)
    return bool(low[0] <= x <= high[0] and -high[2] <= y <= -low[2])
