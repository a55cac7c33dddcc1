"""Ground forces of a table become force plates of the walk's frames: force, point and free moment, or a plate's six components.

A table of forces with their points does not say where a plate begins and ends. The plate made of it is a rectangle around the
centre of pressure at its level, and is marked as such (`ForcePlate.outlined` is False): its edge must not be used. Its channels
hold the wrench itself, about the middle of that rectangle, so no force or moment depends on it. Where there are six components, a
column map tells the plate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN, EXPORT_AGAIN
from biodyn.io.format import LARGEST_NUMBER
from biodyn.io.opensim.storage import Storage, even_rate_hz
from biodyn.io.tables.columns import ForceColumns, PlateColumns, measured_plates
from biodyn.recording import ForcePlate

#: No foot twists a plate like that, Nm.
LARGEST_FREE_NM = 200.0


def free_moment(
    force: FloatArray, moment: FloatArray, pressure: FloatArray, loaded: BoolArray, up: int
) -> tuple[FloatArray, FloatArray | None, bool]:
    """Return the free moment (T,) N m about the axis `up`, the point (3,) m of the stored moments, and whether it is known.

    The point is None if it is the centre of pressure, or not known; the free moment is then 0.

    force, pressure: (T, 3) N, m. moment: (T, 3) as stored, N m or N mm.

    On a floor across the axis `up` (0, 1, 2) no moment acts at the centre of pressure but the free one. The horizontal part of
    the stored one determines the one fixed point it is about, and its unit; where none explains it, it is about the centre of
    pressure or not known. Only the rows `loaded` (T,) are used.
    """
    units = (1.0, 1e-3)  # N m, N mm
    # Largest residual RMS of the horizontal moments (centres of pressure are written to the millimetre), and as a share of the
    # residual without stored moments.
    across_nm, across_share = 2.0, 0.1
    across = [axis for axis in range(3) if axis != up]
    F, p, M = force[loaded], pressure[loaded], moment[loaded]
    if not len(F):
        return np.zeros(len(force)), None, True
    # stored = free + (p - about) x F, and about x F = -[F]x about
    rows = np.zeros((len(F), 3, 3))
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        rows[:, a, b], rows[:, a, c] = F[:, c], -F[:, b]
    level = rows[:, across].reshape(-1, 3)
    lever = np.cross(p, F)[:, across].ravel()

    def fitted(unit: float) -> tuple[float, FloatArray]:
        """Return the residual horizontal moment, RMS Nm, and the best point."""
        wanted = lever - unit * M[:, across].ravel()
        about: FloatArray = np.linalg.lstsq(level, wanted, rcond=None)[0].astype(np.float64)
        return float(np.sqrt(np.mean((level @ about - wanted) ** 2))), about

    enough = max(across_nm, across_share * fitted(0.0)[0])
    (residual, about), unit = min(((fitted(unit), unit) for unit in units), key=lambda fit: fit[0][0])
    if residual <= enough:
        whole = unit * moment - np.cross(pressure - about, force)
        return whole[:, up], about, True
    unit = next(unit for unit in units if np.abs(unit * M[:, up]).max() < LARGEST_FREE_NM or unit == units[-1])
    if float(np.sqrt(np.mean((unit * M[:, across]) ** 2))) <= across_nm:
        return unit * moment[:, up], None, True
    return np.zeros(len(force)), None, False


def least_load_n(size: FloatArray) -> float:
    """Return the force above which a plate is loaded: a tenth of its largest of (T,) forces N, NaN if not known."""
    least_n = 5.0
    loaded_share = 0.1  # of the largest force
    return max(least_n, loaded_share * float(np.nan_to_num(size).max(initial=0.0)))


def unknown_rows(force: FloatArray, point: FloatArray, least_n: float) -> BoolArray:
    """Return the rows (T,) without a force, or with one that acts nowhere, between two rows that are loaded.

    force (T, 3) N; point (T, 3), NaN where the table has none. At rest many programs write no point, and some no force: such
    rows before and after a stance are without load.
    """
    size = np.linalg.norm(force, axis=1)
    known = np.isfinite(size) & (np.isfinite(point).all(axis=1) | ~(size > least_n))
    loaded = known & (np.nan_to_num(size) > least_n)
    if known.all() or not loaded.any():
        return np.zeros(len(size), dtype=np.bool_)
    rows = np.arange(len(size))
    before = np.maximum.accumulate(np.where(known, rows, -1))
    behind = np.minimum.accumulate(np.where(known, rows, len(rows))[::-1])[::-1]
    inside = (before >= 0) & (behind < len(rows))
    return ~known & inside & loaded[np.clip(before, 0, None)] & loaded[np.clip(behind, None, len(rows) - 1)]


def unknown_note(force: str, file: str, unknown: BoolArray) -> Diagnostic:
    """Return the note on unknown rows (T,) of a force of a file."""
    count = int(unknown.sum())
    return Diagnostic(
        "forces-incomplete",
        "warning",
        f"{count} rows of {force} in '{file}' within loaded periods have no force or no point of application. The force is "
        "treated as unknown in these rows.",
        value=float(count),
        hint=EXPORT_AGAIN,
    )


#: Around the path of the centre of pressure: about what a foot reaches beyond it.
MARGIN_M = 0.10
_LARGEST_M = 25.0


def frame_forces(
    table: Storage,
    forces: Sequence[ForceColumns],
    frame_count: int,
    frame_hz: float,
    start_s: float,
    positions: FloatArray | None = None,
    measured: Sequence[PlateColumns] = (),
) -> tuple[tuple[ForcePlate, ...], int, int, tuple[Diagnostic, ...]]:
    """Return a plate for each of the forces and each of the `measured` plates, at a whole number of samples to a frame.

    Then the walk's frames [first, stop) that the forces cover, and the notes on what was decided.

    `frame_count`, `frame_hz`: of the motion; `start_s`: time of its first frame by the clock of the table; `positions` (T, M, 3)
    m of its markers in the frame of the forces, which stand above the plates; None = the forces point up. Between rows
    wrenches are interpolated linearly. Raises InputFileError where table and motion do not overlap.
    """
    first, stop = _covered(table, frame_count, frame_hz, start_s)
    rate_hz, row_s = _row_times(table.time_s)
    per_frame = max(1, round(rate_hz / frame_hz))
    at = start_s + first / frame_hz + np.arange((stop - first) * per_frame) / (per_frame * frame_hz)
    notes: list[Diagnostic] = []
    plates: list[ForcePlate] = []
    middle = None if positions is None else np.nanmedian(positions[first:stop].reshape(-1, 3), axis=0)
    if positions is not None:
        _require_one_vertical(table, forces, positions[first:stop])
    for number, columns in enumerate(forces, start=1):
        wrench, loaded, millimetres, about = _wrench(table, columns)
        if not loaded.any():
            notes.append(_never_loaded(table, columns))
            continue
        if millimetres:
            notes.append(_in_millimetres(table, columns))
        if about is not None:
            notes.append(_moved(table, columns, about))
        unknown = np.asarray(np.isnan(wrench).any(axis=1))
        if unknown.any():
            notes.append(unknown_note(_name(columns), table.path.name, unknown))
        sampled = np.column_stack([np.interp(at, row_s, column) for column in wrench.T])
        corners = _rectangle(wrench[loaded], _level(table, columns, loaded, millimetres), middle)
        plates.append(
            ForcePlate(
                number=number,
                type=2,  # six channels: force, moment
                corners=corners,
                origin=np.zeros(3),
                channels=_channels(sampled, corners),
                rate_hz=per_frame * frame_hz,
                channel_labels=tuple(columns.columns),
                outlined=False,
                side=columns.side,
            )
        )
    plates += measured_plates(table, measured, at, per_frame * frame_hz, len(forces) + 1)
    if stop - first < frame_count:
        notes.append(
            _shortened(table, frame_count, (start_s + first / frame_hz, start_s + (stop - 1) / frame_hz), stop - first)
        )
    return tuple(plates), first, stop, tuple(notes)


def _covered(table: Storage, frame_count: int, rate_hz: float, start_s: float) -> tuple[int, int]:
    """Return the motion's frames [first, stop) between the table's first and last row."""
    times = table.time_s
    if len(times) < 2:
        raise InputFileError(f"'{table.path.name}' holds one row of forces: no motion.")
    least_overlap_s = 0.2
    slack = max(float(np.median(np.diff(times))), 1e-4)
    end_s = start_s + (frame_count - 1) / rate_hz
    with np.errstate(over="ignore"):  # a damaged time
        begin, end = (np.array([times[0] - slack, times[-1] + slack]) - start_s) * rate_hz
    first = int(np.ceil(np.clip(begin - 1e-6, 0.0, frame_count)))
    stop = int(np.floor(np.clip(end + 1e-6, -1.0, frame_count - 1))) + 1
    if stop - first < max(2.0, min(least_overlap_s * rate_hz, frame_count)):
        raise InputFileError(
            f"The forces of '{table.path.name}' are of {times[0]:.3f} to {times[-1]:.3f} s, the motion is of {start_s:.3f} to "
            f"{end_s:.3f} s: they do not belong together.",
            "Give the forces of this recording (--forces FILE), on the same clock.",
        )
    return first, stop


def _row_times(times: FloatArray) -> tuple[float, FloatArray]:
    """Return the rows per second, and the times (T,) of the rows: uniform if the stored times are uniform but for rounding."""
    even_hz = even_rate_hz(times)
    if even_hz is None:
        return (len(times) - 1) / float(times[-1] - times[0]), times
    return even_hz, times[0] + np.arange(len(times)) / even_hz


def _require_one_vertical(table: Storage, forces: Sequence[ForceColumns], positions: FloatArray) -> None:
    """Raise InputFileError where the forces push along another axis than the long axis of the body (T, M, 3) m."""
    # largest distance of a plate from the laboratory's origin
    # Who stands or walks is long along the direction of the force: a body that is so long along another axis, and along that of
    # the force no more than this share, is stored in other axes.
    upright_m, upright_share = 0.9, 0.5
    pushed = np.zeros(3)
    for columns in forces:
        pushed += np.nansum(np.abs(np.column_stack([table.column(name) for name in columns.force])), axis=0)
    seen = positions[np.isfinite(positions[..., 0]).any(axis=1)]
    if not (len(seen) and np.isfinite(pushed).all() and pushed.any()):
        return
    spans = np.median(np.nanmax(seen, axis=1) - np.nanmin(seen, axis=1), axis=0)
    along, upright = int(np.argmax(pushed)), int(np.argmax(spans))
    if spans[upright] > upright_m and spans[along] < upright_share * spans[upright]:
        raise InputFileError(
            f"The forces of '{table.path.name}' push along {'XYZ'[along]}, and the body is {spans[upright]:.2f} m long along "
            f"{'XYZ'[upright]} and {spans[along]:.2f} m along {'XYZ'[along]}: markers and forces are in different axes.",
            "Export both in the same axes of the laboratory.",
        )


def _wrench(table: Storage, columns: ForceColumns) -> tuple[FloatArray, BoolArray, bool, FloatArray | None]:
    """(T, 6) moment about the origin and force, N m and N; the rows in which it is loaded; whether points were in millimetres.

    Last the point (3,) m that the stored moments are about, where that is clearly not the one where the force acts.
    """
    force, point = (np.column_stack([table.column(name) for name in names]) for names in (columns.force, columns.point))
    moment = (
        np.column_stack([table.column(name) for name in columns.moment]) if columns.moment else np.zeros_like(force)
    )
    measured = force
    force, moment = np.nan_to_num(force), np.nan_to_num(moment)
    largest = float(max(np.abs(values[np.isfinite(values)]).max(initial=0.0) for values in (force, point, moment)))
    if largest > LARGEST_NUMBER:
        raise InputFileError(
            f"'{table.path.name}' is damaged: {columns.force[0]} ... holds numbers up to {largest:.1e}.", COPY_AGAIN
        )
    size = np.linalg.norm(force, axis=1)
    least_n = least_load_n(size)
    unknown = unknown_rows(measured, point, least_n)
    known = np.asarray(np.isfinite(point).all(axis=1))
    loaded = (size > least_n) & known
    placed = np.where(known[:, None], point, 0.0)
    force = np.where(known[:, None], force, 0.0)  # a force that acts nowhere is none
    millimetres = bool(loaded.any() and np.median(np.abs(placed[loaded]).max(axis=1)) > _LARGEST_M)
    scale = 1e-3 if millimetres else 1.0
    free, about = _free(force, scale * moment, scale * placed, np.asarray(loaded))
    wrench = np.hstack([free + scale * np.cross(placed, force), force])
    wrench[unknown] = np.nan
    return wrench, np.asarray(loaded), millimetres, about


def _free(
    force: FloatArray, moment: FloatArray, point: FloatArray, loaded: BoolArray
) -> tuple[FloatArray, FloatArray | None]:
    """The moment (T, 3) about the point where the force acts, and the point that the stored one is about where it is another.

    On a floor no moment acts across it where the force does; one that does is about a plate's sensor or the laboratory's origin.
    A constant point is not a centre of pressure: the force is then given there with its whole moment.
    """
    across_nm = 5.0  # RMS across the floor: more than a free moment of 30 Nm has on a ramp of ten degrees
    moves_m = 0.001  # RMS: a centre of pressure, also in quiet standing
    if not loaded.any():
        return moment, None
    up = int(np.argmax(np.abs(force).sum(axis=0)))
    across = np.delete(moment[loaded], up, axis=1)
    moves = point[loaded] - point[loaded].mean(axis=0)
    if float(np.sqrt(np.mean(across**2))) < across_nm or float(np.sqrt(np.mean(np.sum(moves**2, axis=1)))) < moves_m:
        return moment, None
    vertical, about, _ = free_moment(force, moment, point, loaded, up)
    if about is None:
        return moment, None
    free = np.zeros_like(moment)
    free[:, up] = vertical
    return free, about


def _level(table: Storage, columns: ForceColumns, loaded: BoolArray, millimetres: bool) -> FloatArray:
    """(3,) m median of the points where the force acts."""
    point = np.column_stack([table.column(name) for name in columns.point])[loaded]
    middle: FloatArray = np.median(point, axis=0) * (1e-3 if millimetres else 1.0)
    return middle


def _rectangle(wrench: FloatArray, level: FloatArray, middle: FloatArray | None) -> FloatArray:
    """Return corners (4, 3) m around the centre of pressure of (n, 6) loaded wrenches, in the order of the C3D format.

    Up is the axis along which most force acts, to the side of the floor where `middle` (3,), the markers', is; else as the force.
    """
    force = wrench[:, 3:]
    axis = int(np.argmax(np.abs(force).sum(axis=0)))
    up = np.zeros(3)
    above = force[:, axis].sum() if middle is None else middle[axis] - level[axis]
    up[axis] = 1.0 if above >= 0.0 else -1.0
    about = wrench[:, :3] - np.cross(level, force)
    pressing = force @ up
    pressing = np.where(pressing == 0.0, np.inf, pressing)  # what only pushes sideways tells no place
    pressure = level + np.cross(up, about) / pressing[:, None]
    x, y = np.roll(np.eye(3), -axis - 1, axis=0)[:2] if up[axis] < 0 else np.roll(np.eye(3), -axis - 1, axis=0)[1::-1]
    low = np.array([np.percentile(pressure @ side, 1.0) - MARGIN_M for side in (x, y)])
    high = np.array([np.percentile(pressure @ side, 99.0) + MARGIN_M for side in (x, y)])
    height = level[axis] * np.eye(3)[axis]
    return np.array(
        [height + a * x + b * y for a, b in ((high[0], high[1]), (low[0], high[1]), low, (high[0], low[1]))]
    )


def _channels(wrench: FloatArray, corners: FloatArray) -> FloatArray:
    """(T, 6) force and moment in the rectangle's own axes, about its middle."""
    x, y = corners[0] - corners[1], corners[0] - corners[3]
    R = np.column_stack([x / np.linalg.norm(x), y / np.linalg.norm(y), np.cross(x, y) / np.linalg.norm(np.cross(x, y))])
    force = wrench[:, 3:]
    return np.hstack([force @ R, (wrench[:, :3] - np.cross(corners.mean(axis=0), force)) @ R])


# -- notes -------------------------------------------------------------------------------------------------------------


def _name(columns: ForceColumns) -> str:
    return f"{columns.force[0]} ..."


def _never_loaded(table: Storage, columns: ForceColumns) -> Diagnostic:
    text = f"The force {_name(columns)} of '{table.path.name}' is zero throughout and ignored."
    return Diagnostic("forces-incomplete", "info", text)


def _in_millimetres(table: Storage, columns: ForceColumns) -> Diagnostic:
    return Diagnostic(
        "unit-corrected",
        "info",
        f"The points of {_name(columns)} in '{table.path.name}' exceed {_LARGEST_M:g}: read as mm, moments as N mm.",
        limit=_LARGEST_M,
        unit="m",
    )


def _moved(table: Storage, columns: ForceColumns, about: FloatArray) -> Diagnostic:
    """Return the note on moments about another point: intended for the laboratory's origin, else a possible error."""
    at_origin_m = 0.01  # centres of pressure are written to the millimetre
    at_origin = float(np.linalg.norm(about)) < at_origin_m
    place = "the laboratory's origin" if at_origin else f"({', '.join(f'{value:.2f}' for value in about + 0.0)}) m"
    return Diagnostic(
        "forces-incomplete",
        "info" if at_origin else "warning",
        f"The moments of {_name(columns)} in '{table.path.name}' are not about the point where the force acts, but about "
        f"{place}: their free moment is taken.",
        hint="Where that is not so, leave the columns of the moments out.",
    )


def _shortened(table: Storage, frame_count: int, covered_s: tuple[float, float], covered: int) -> Diagnostic:
    return Diagnostic(
        "forces-incomplete",
        "warning",
        f"'{table.path.name}' holds forces from {covered_s[0]:.3f} to {covered_s[1]:.3f} s: the other "
        f"{frame_count - covered} of {frame_count} frames of the motion are left out.",
        value=float(frame_count - covered),
    )
