"""What a result shows of itself in Python and in a notebook: figures by name or by variable, and a short page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from biodyn.errors import ResultError
from biodyn.library.load import nearest
from biodyn.output.figures.cycles import cycle_figure
from biodyn.output.figures.svg import svg
from biodyn.variables import Norms, choose_norms, is_known, load_norms, variable
from biodyn.variables.norm_record import walker_of

if TYPE_CHECKING:
    from biodyn.output.figures.description import Figure
    from biodyn.output.figures.matplotlib_backend import ShownFigure
    from biodyn.output.report.view import TrialView

#: The small grid of a notebook: motion and moments of the leg in the sagittal plane.
_SHOWN = ("hip_flexion", "knee_angle", "ankle_angle", "hip_flexion_moment", "knee_angle_moment", "ankle_angle_moment")


class ShownResult:
    """A result with a view: `plot` for people who write Python, a short page for a notebook."""

    @property
    def view(self) -> TrialView:
        """Record, tables and arrays of the result."""
        raise NotImplementedError

    def plot(self, *names: str, norms: str | None = "auto", band: bool = True) -> ShownFigure:
        """Return a matplotlib Figure: one of the report's by its name, or the gait cycles of variables.

        Parameters:
            names: "joint_torques", or variables of the table `gait_cycles`, a panel each: "knee_angle", "hip_flexion_moment".
            norms: norms behind variables: a name or TOML file, "auto" (those of the report) or None.
            band: one standard deviation of the input errors around the mean, where it was computed.

        Raises ResultError for a name that there is not.
        """
        from biodyn.output.figures.matplotlib_backend import draw

        if len(names) == 1 and names[0] in self.view.figures:
            return draw(self.view.figures[names[0]])
        return draw(self._cycles(names, norms, band))

    def _cycles(self, names: tuple[str, ...], norms: str | None, band: bool) -> Figure:
        values = self.view.values
        known = [*self.view.figures, *values.curves]
        for name in names or ("",):
            if name not in values.curves:
                several = " beside others" if name in self.view.figures else ""
                raise ResultError(
                    f"There is no figure '{name}'{several}, and no variable of that name.", nearest(name, known)
                )
        behind = self._norms(norms)
        title = ", ".join(variable(name).title for name in names)
        errors = values.bands if band else {}
        return cycle_figure(title, values.curves, names, values.foot_off_percent, behind, errors)

    def _norms(self, name: str | None) -> tuple[Norms, ...]:
        """Those of the report ("auto"), none, or those of a name, at the speed of this walk where they know it."""
        values = self.view.values
        if name is None or name == "none":
            return ()
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
