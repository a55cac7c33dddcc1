"""What a result shows of itself in Python and in a notebook: figures by name or by variable, and a short page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, overload

from markupsafe import Markup, escape

from biodyn.conventions import SIDES
from biodyn.errors import ResultError
from biodyn.output.figures.curves import CycleCurves, cycle_figure, cycle_panel
from biodyn.output.figures.svg import svg
from biodyn.output.tables.lazy import CLINICAL, Signs, TableAttributes, require_signs
from biodyn.variables import Norms, choose_norms, is_known, load_norms, variable
from biodyn.variables.meaning import nearest_variable
from biodyn.variables.norm_choice import walker_of

if TYPE_CHECKING:
    import pandas as pd

    from biodyn.output.figures.description import Figure
    from biodyn.output.figures.matplotlib_backend import Axes, ShownFigure
    from biodyn.output.report.view import TrialView

#: The small grid of a notebook: motion and moments of the leg in the sagittal plane.
_SHOWN = ("hip_flexion", "knee_angle", "ankle_angle", "hip_flexion_moment", "knee_angle_moment", "ankle_angle_moment")
_LISTED = 6  # names in a hint


class VariableNames(tuple[str, ...]):
    """Names of variables; each is an attribute too, which is itself."""

    def __getattr__(self, name: str) -> str:
        if name not in self:
            raise AttributeError(f"there is no variable '{name}'. {nearest_variable(name, self)}")
        return name

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def only_known(norms: Sequence[Norms], signs: Signs) -> tuple[Norms, ...]:
    """Norms without the curves that have no one sign for both sides, where signs are those of the coordinates."""
    if signs == CLINICAL:
        return tuple(norms)
    return tuple(
        replace(own, curves={name: curve for name, curve in own.curves.items() if not variable(name).mirrored})
        for own in norms
    )


class ShownResult(TableAttributes):
    """A result with a view: `plot` for people who write Python, a short page for a notebook."""

    @property
    def view(self) -> TrialView:
        """Record, tables and arrays of the result."""
        raise NotImplementedError

    @property
    def variables(self) -> VariableNames:
        """Names of the variables of the gait cycles; each is an attribute too, for tab completion: `variables.knee_angle`."""
        return VariableNames(self.view.values.curves)

    @overload
    def plot(
        self, *names: str, norms: str | None = ..., band: bool = ..., signs: Signs = ..., ax: None = ...
    ) -> ShownFigure: ...
    @overload
    def plot(self, *names: str, norms: str | None = ..., band: bool = ..., signs: Signs = ..., ax: Axes) -> Axes: ...
    def plot(
        self,
        *names: str,
        norms: str | None = "auto",
        band: bool = True,
        signs: Signs = CLINICAL,
        ax: Axes | None = None,
    ) -> ShownFigure | Axes:
        """Return a matplotlib Figure: one of the report's by its name, or the gait cycles of variables.

        Parameters:
            names: "joint_torques", or variables of the table `gait_cycles`, a panel each: "knee_angle", "hip_flexion_moment".
            norms: norms behind variables: a name or TOML file, "auto" (those of the report) or None.
            band: one standard deviation of the input errors around the mean, where it was computed.
            signs: of variables: "clinical" as in the report, the same for both sides, or "coordinates" as in the tables.
                In those, variables whose sign is towards one side of the walker have no norms.
            ax: matplotlib Axes to draw one variable into; they are returned, and `ax.legend()` shows what is in them.

        Raises ResultError for a name that there is not.
        """
        from biodyn.output.figures.matplotlib_backend import draw

        require_signs(signs)
        if len(names) == 1 and names[0] in self.view.figures:
            if ax is not None or signs != CLINICAL:
                raise ResultError(
                    f"'{names[0]}' is a figure of the report: it has its own axes and signs.",
                    f"Variables take ax and signs: {', '.join(self.variables[:_LISTED])}, ...",
                )
            return draw(self.view.figures[names[0]])
        figure = self._cycles(names, norms, band, signs)
        if ax is None:
            return draw(figure)
        if len(names) != 1:
            raise ResultError(f"Axes take one variable, not {len(names)}.", "Draw each into axes of its own.")
        from biodyn.output.figures.matplotlib_backend import draw_into

        return draw_into(ax, figure)

    def cycles(self, *names: str, side: str | None = None, signs: Signs = CLINICAL) -> pd.DataFrame:
        """Return the gait cycles of variables as a tidy table, in the signs of the figures.

        Columns: cycle, side, percent, variable, value, unit; a row a point of a cycle, NaN where it is not valid. `attrs`:
        `units` and what is `positive`, by variable, and `signs`.

        Parameters: `names` of variables, none for all; `side` "r" or "l", None for both; `signs`: see `plot`.
        Raises ResultError for a name that there is not.
        """
        table = self.table("gait_cycles", signs)
        known = list(dict.fromkeys(table["variable"].astype(str)))
        for name in names:
            if name not in known:
                raise ResultError(f"There are no cycles of a variable '{name}'.", nearest_variable(name, known))
        if side is not None and side not in SIDES:
            raise ResultError(f"There is no side '{side}'.", f"There are {' and '.join(SIDES)}.")
        wanted = table["variable"].isin(names or known) & (table["side"].isin(SIDES if side is None else (side,)))
        found = table[wanted].reset_index(drop=True)
        others = set(known) - set(names or known)
        # new ones: with an older pandas the rows share those of the whole table
        for key in ("units", "positive"):
            found.attrs[key] = {name: words for name, words in found.attrs[key].items() if name not in others}
        return found

    def curves_in(self, signs: Signs) -> Mapping[str, Mapping[str, CycleCurves]]:
        """Cycles by variable and side, in these signs."""
        clinical = self.view.values.curves
        if signs == CLINICAL:
            return clinical
        return {
            name: {
                side: replace(own, values=own.values * variable(name).clinical(side))  # either sign is its own inverse
                for side, own in sides.items()
            }
            for name, sides in clinical.items()
        }

    def _cycles(self, names: tuple[str, ...], norms: str | None, band: bool, signs: Signs = CLINICAL) -> Figure:
        values = self.view.values
        known = [*self.view.figures, *values.curves]
        for name in names or ("",):
            if name not in values.curves:
                if name in self.view.figures:
                    raise ResultError(
                        f"'{name}' is a figure of the report, and drawn alone.",
                        f"Beside others stand variables: {', '.join(self.variables[:_LISTED])}, ...",
                    )
                raise ResultError(
                    f"There is no figure '{name}', and no variable of that name.", nearest_variable(str(name), known)
                )
        behind = only_known(self.norms_behind(norms), signs)
        title = ", ".join(variable(name).title for name in names)
        errors = values.bands if band else {}
        figure = cycle_figure(title, values.curves, names, values.foot_off_percent, behind, errors)
        if signs == CLINICAL:
            return figure
        kept = self.curves_in(signs)
        panels = [
            cycle_panel(variable(n).as_kept(), kept[n], values.foot_off_percent, behind, panel.x.label, errors.get(n))
            for n, panel in zip(names, figure.panels, strict=True)
            if panel is not None
        ]
        return replace(figure, panels=tuple(panels))

    def norms_behind(self, name: str | None) -> tuple[Norms, ...]:
        """Those of the report ("auto"), none, or those of a name, at the speed of this walk where they know it."""
        values = self.view.values
        if name is None or name == "none":
            return ()
        if not isinstance(name, str):
            raise ResultError(f"norms is {name!r}, and no name.", 'Give "auto", None, or norms by name or file.')
        if name == "auto":
            return values.norms
        chosen = choose_norms(name, walker_of(self.view.record, values.speed_m_s)).norms
        return chosen or (load_norms(name),)

    def _lines(self) -> list[str]:
        """The verdict and what decided it, in a few lines."""
        record = self.view.record
        subject = record.get("subject", {})
        lines = [f"{record.get('input', {}).get('file', 'a walk')}: {record.get('verdict') or 'no verdict'}"]
        mass, height = subject.get("mass_kg"), subject.get("height_m")
        if mass and height:
            lines.append(f"{mass:.1f} kg, {height:.2f} m, {record.get('activity', {}).get('kind', '')}".rstrip(", "))
        deciding = [check for check in record.get("checks") or () if check["status"] in ("fail", "warn")]
        lines += [f"{check['status']}: {check['title']}: {check['text']}" for check in deciding[:3]]
        return lines

    def _repr_html_(self) -> str:
        first, *others = self._lines()
        shown = tuple(name for name in _SHOWN if is_known(name) and name in self.view.values.curves)
        figure = svg(self._cycles(shown, "auto", True)) if shown else Markup()
        rows = "".join(f"<br>{escape(line)}" for line in others)
        return f'<div style="max-width:60em"><p><b>{escape(first)}</b>{rows}</p>{figure}</div>'
