"""The whole trial on one page: ground reaction, main angles and moments, with contacts and unmeasured parts."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from biodyn.conventions import SIDE_NAMES, SIDES, STANDARD_GRAVITY_M_S2
from biodyn.output.figures.cycles import unit_words
from biodyn.output.figures.ground import force_column, shade_unmeasured
from biodyn.output.figures.style import INK, LABEL_PT, LIMIT, SIDE_COLORS, UNKNOWN, dress, new_figure, panels, zero_line
from biodyn.variables import variable

_MOMENT = "_moment"


def whole_trial_figure(
    joint_angles: pd.DataFrame,
    joint_torques: pd.DataFrame,
    ground_reaction: pd.DataFrame,
    contacts: pd.DataFrame,
    *,
    force: str,
    angles: Sequence[str],
    moments: Sequence[str],
    mass_kg: float,
) -> Figure:
    """Rows: one force variable, then angles (left) and moments (right) through the trial, both sides.

    `force`, `angles` and `moments` are variables of the gait-cycle table. Coloured bars at the bottom of the force
    panel are the assigned contacts, red ones those not used; grey is time in which a contact was not measured.
    """
    angles = [name for name in angles if any(f"{name}_{side}_deg" in joint_angles for side in SIDES)]
    moments = [name for name in moments if any(_torque(name, side) in joint_torques for side in SIDES)]
    rows = 1 + max(len(angles), len(moments), 0)
    figure = new_figure(9.4, 0.85 + 1.6 * rows)
    axes = panels(figure, rows, 2, down_in=0.54)
    weight_n = mass_kg * STANDARD_GRAVITY_M_S2
    time_s = ground_reaction["time_s"].to_numpy()

    top = axes[0]
    wide = axes[1].get_position()
    axes[1].remove()
    box = top.get_position()
    room = 0.12 / figure.get_figheight()  # for this panel's own time axis, above the titles of the next row
    top.set_position((box.x0, box.y0 + room, wide.x1 - box.x0, box.height - room))
    _row(top, force, "BW", label_x=True)
    shade_unmeasured(top, ground_reaction)
    for side in SIDES:
        values = ground_reaction[force_column(force, side)].to_numpy() / weight_n * variable(force).clinical(side)
        top.plot(time_s, values, color=SIDE_COLORS[side], linewidth=1.2)
    _contact_bars(top, contacts)

    for i, name in enumerate(angles):
        ax = axes[2 + 2 * i]
        _row(ax, name, "deg", label_x=i == len(angles) - 1)
        for side in SIDES:
            column = f"{name}_{side}_deg"
            if column in joint_angles:
                ax.plot(
                    time_s,
                    variable(name).clinical(side) * joint_angles[column].to_numpy(),
                    color=SIDE_COLORS[side],
                    linewidth=1.1,
                )
    for i, name in enumerate(moments):
        ax = axes[3 + 2 * i]
        _row(ax, name, "Nm/kg", label_x=i == len(moments) - 1)
        shade_unmeasured(ax, ground_reaction)
        for side in SIDES:
            column = _torque(name, side)
            if column in joint_torques:
                values = variable(name).clinical(side) / mass_kg * joint_torques[column].to_numpy()
                ax.plot(time_s, values, color=SIDE_COLORS[side], linewidth=1.1)
    used = {0, *(2 + 2 * i for i in range(len(angles))), *(3 + 2 * i for i in range(len(moments)))}
    for i, ax in enumerate(axes):
        if i in used and len(time_s) > 1:
            ax.set_xlim(time_s[0], time_s[-1])
        elif i > 1 and i not in used:
            ax.set_axis_off()
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=SIDE_COLORS[side], linewidth=1.8, label=SIDE_NAMES[side]) for side in SIDES
    ]
    handles.append(Line2D([], [], color=LIMIT, linewidth=4, label="contact not used"))
    handles.append(Patch(color=UNKNOWN, label="a foot was on the floor outside the plates"))
    figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize=LABEL_PT, labelcolor=INK)
    return figure


def _torque(name: str, side: str) -> str:
    return f"{name.removesuffix(_MOMENT)}_{side}_Nm"


def _row(ax: Axes, name: str, unit: str, *, label_x: bool) -> None:
    shown = variable(name)
    dress(ax, f"{shown.title} ({shown.positive} +)", unit_words(unit), "time (s)" if label_x else "")
    zero_line(ax)


def _contact_bars(ax: Axes, contacts: pd.DataFrame) -> None:
    for contact in contacts.to_dict("records"):
        assigned = str(contact["decision"]) == "assigned"
        color = SIDE_COLORS.get(str(contact["side"]), LIMIT) if assigned else LIMIT
        start, end = float(contact["start_s"]), float(contact["end_s"])
        ax.plot(
            [start, end],
            [0.02, 0.02],
            transform=ax.get_xaxis_transform(),
            color=color,
            linewidth=4,
            solid_capstyle="butt",
            clip_on=False,
        )
        ax.text(
            0.5 * (start + end),
            0.06,
            f"plate {contact['plate']}",
            transform=ax.get_xaxis_transform(),
            fontsize=6.5,
            color=color,
            ha="center",
            va="bottom",
        )
