"""Convert ground forces of a table to force plates: force, point and free moment, or the six components of a plate.

A table of forces with their points does not contain the edges of the plates. The plate that is created is a rectangle around
the centre of pressure at its height and is marked accordingly (`ForcePlate.outlined` is False): its edges must not be used. Its
channels are the wrench about the centre of the rectangle, so no force or moment depends on the rectangle. For six components, a
column map specifies the plate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.file_access import COPY_AGAIN, EXPORT_AGAIN
from biodyn.io.format import LARGEST_NUMBER
from biodyn.io.opensim.storage import Storage, uniform_rate_hz
from biodyn.io.tables.column_roles import ForceColumns, PlateColumns, measured_plates
from biodyn.recording import ForcePlate

#: Larger than any free moment of a foot, Nm.
LARGEST_FREE_NM = 200.0


def free_moment(
    force: FloatArray, moment: FloatArray, pressure: FloatArray, loaded: BoolArray, up: int
) -> tuple[FloatArray, FloatArray | None, bool]:
    """Return the free moment (T,) N m about the axis `up`, the reference point (3,) m of the stored moments, and whether it is
    known.

    The point is None if it is the centre of pressure or unknown; if unknown, the free moment is 0.

    force, pressure: (T, 3) in N and m. moment: (T, 3) as stored, N m or N mm.

    On a floor perpendicular to the axis `up` (0, 1, 2) only the free moment acts at the centre of pressure. The horizontal part
    of the stored moment determines its fixed reference point and its unit; if no point explains it, the reference is the centre
    of pressure or unknown. Only the rows `loaded` (T,) are used.
    """
    units = (1.0, 1e-3)  # N m, N mm
    # Largest residual RMS of the horizontal moments, Nm (centres of pressure are rounded to millimetres), and its share of the
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

    def fit_reference_point(unit: float) -> tuple[float, FloatArray]:
        """Return the RMS of the residual horizontal moment, Nm, and the best reference point (m)."""
        wanted = lever - unit * M[:, across].ravel()
        about: FloatArray = np.linalg.lstsq(level, wanted, rcond=None)[0].astype(np.float64)
        return float(np.sqrt(np.mean((level @ about - wanted) ** 2))), about

    enough = max(across_nm, across_share * fit_reference_point(0.0)[0])
    (residual, about), unit = min(((fit_reference_point(unit), unit) for unit in units), key=lambda fit: fit[0][0])
    if residual <= enough:
        whole = unit * moment - np.cross(pressure - about, force)
        return whole[:, up], about, True
    unit = next(unit for unit in units if np.abs(unit * M[:, up]).max() < LARGEST_FREE_NM or unit == units[-1])
    if float(np.sqrt(np.mean((unit * M[:, across]) ** 2))) <= across_nm:
        return unit * moment[:, up], None, True
    return np.zeros(len(force)), None, False


def load_threshold_n(size: FloatArray) -> float:
    """Return the force, N, above which a plate counts as loaded: a tenth of the largest of the magnitudes `size` (T,), N."""
    least_n = 5.0
    loaded_share = 0.1  # share of the largest force
    return max(least_n, loaded_share * float(np.nan_to_num(size).max(initial=0.0)))


def missing_load_rows(force: FloatArray, point: FloatArray, least_n: float) -> BoolArray:
    """Return (T,) whether a row between two loaded rows lacks a force or its point of application.

    force: (T, 3) N. point: (T, 3), NaN if missing. Without load many programs write no point, and some no force: such rows
    before and after a stance are unloaded.
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


def missing_rows_note(force: str, file: str, unknown: BoolArray) -> Diagnostic:
    """Return the warning on the rows, marked in `unknown` (T,), in which a loaded force has no value or point of application."""
    count = int(unknown.sum())
    return Diagnostic(
        "forces-incomplete",
        "warning",
        f"{count} rows of {force} in '{file}' within loaded periods have no force or no point of application. The force is "
        "treated as unknown in these rows.",
        value=float(count),
        hint=EXPORT_AGAIN,
    )


#: Margin around the path of the centre of pressure, m: about the extent of a foot beyond it.
MARGIN_M = 0.10
_LARGEST_M = 25.0


def plates_of_forces(
    table: Storage,
    forces: Sequence[ForceColumns],
    frame_count: int,
    frame_hz: float,
    start_s: float,
    positions: FloatArray | None = None,
    measured: Sequence[PlateColumns] = (),
) -> tuple[tuple[ForcePlate, ...], int, int, tuple[Diagnostic, ...]]:
    """Return a plate for each force and each `measured` plate, with an integer number of samples per frame.

    Also returned are the frames [first, stop) covered by the forces, and notes.

    frame_count, frame_hz: frame count and rate of the motion. start_s: time of its first frame on the clock of the table.
    positions: (T, M, 3) m of its markers in the frame of the forces, which are above the plates; None = the forces point up.
    Wrenches are interpolated linearly between rows. Raises InputFileError if table and motion do not overlap.
    """
    first, stop = _covered_frames(table, frame_count, frame_hz, start_s)
    rate_hz, row_s = _row_times(table.time_s)
    per_frame = max(1, round(rate_hz / frame_hz))
    at = start_s + first / frame_hz + np.arange((stop - first) * per_frame) / (per_frame * frame_hz)
    notes: list[Diagnostic] = []
    plates: list[ForcePlate] = []
    middle = None if positions is None else np.nanmedian(positions[first:stop].reshape(-1, 3), axis=0)
    if positions is not None:
        _require_one_vertical(table, forces, positions[first:stop])
    for number, columns in enumerate(forces, start=1):
        wrench, loaded, millimetres, about = _wrench_of_force(table, columns)
        if not loaded.any():
            notes.append(_never_loaded_note(table, columns))
            continue
        if millimetres:
            notes.append(_millimetre_note(table, columns))
        if about is not None:
            notes.append(_other_reference_note(table, columns, about))
        unknown = np.asarray(np.isnan(wrench).any(axis=1))
        if unknown.any():
            notes.append(missing_rows_note(_force_name(columns), table.path.name, unknown))
        sampled = np.column_stack([np.interp(at, row_s, column) for column in wrench.T])
        corners = _plate_rectangle(wrench[loaded], _median_point(table, columns, loaded, millimetres), middle)
        plates.append(
            ForcePlate(
                number=number,
                type=2,  # six channels: force, moment
                corners=corners,
                origin=np.zeros(3),
                channels=_plate_channels(sampled, corners),
                rate_hz=per_frame * frame_hz,
                channel_labels=tuple(columns.columns),
                outlined=False,
                side=columns.side,
            )
        )
    plates += measured_plates(table, measured, at, per_frame * frame_hz, len(forces) + 1)
    if stop - first < frame_count:
        notes.append(
            _uncovered_frames_note(
                table, frame_count, (start_s + first / frame_hz, start_s + (stop - 1) / frame_hz), stop - first
            )
        )
    return tuple(plates), first, stop, tuple(notes)


def _covered_frames(table: Storage, frame_count: int, rate_hz: float, start_s: float) -> tuple[int, int]:
    """Return the frames [first, stop) of the motion between the first and last row of the table."""
    times = table.time_s
    if len(times) < 2:
        raise InputFileError(f"'{table.path.name}' has only one row of forces.")
    least_overlap_s = 0.2
    slack = max(float(np.median(np.diff(times))), 1e-4)
    end_s = start_s + (frame_count - 1) / rate_hz
    with np.errstate(over="ignore"):  # damaged times
        begin, end = (np.array([times[0] - slack, times[-1] + slack]) - start_s) * rate_hz
    first = int(np.ceil(np.clip(begin - 1e-6, 0.0, frame_count)))
    stop = int(np.floor(np.clip(end + 1e-6, -1.0, frame_count - 1))) + 1
    if stop - first < max(2.0, min(least_overlap_s * rate_hz, frame_count)):
        raise InputFileError(
            f"The forces of '{table.path.name}' cover {times[0]:.3f} to {times[-1]:.3f} s, but the motion {start_s:.3f} to "
            f"{end_s:.3f} s: they do not overlap.",
            "Give the forces of this recording (--forces FILE) with the same time axis.",
        )
    return first, stop


def _row_times(times: FloatArray) -> tuple[float, FloatArray]:
    """Return the rate of the rows, Hz, and their times (T,) s, made uniform if the stored times are uniform up to rounding."""
    even_hz = uniform_rate_hz(times)
    if even_hz is None:
        return (len(times) - 1) / float(times[-1] - times[0]), times
    return even_hz, times[0] + np.arange(len(times)) / even_hz


def _require_one_vertical(table: Storage, forces: Sequence[ForceColumns], positions: FloatArray) -> None:
    """Raise InputFileError if the main force axis differs from the long axis of the body; positions (T, M, 3) m."""
    # largest distance of a plate from the laboratory origin
    # A standing or walking body is longest along the direction of the force. A body longer than this along another axis, and
    # shorter than this share along the force, is stored in other axes.
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
            f"The forces of '{table.path.name}' act along {'XYZ'[along]}, but the body is {spans[upright]:.2f} m long along "
            f"{'XYZ'[upright]} and {spans[along]:.2f} m along {'XYZ'[along]}: markers and forces have different axes.",
            "Export both in the same laboratory axes.",
        )


def _wrench_of_force(table: Storage, columns: ForceColumns) -> tuple[FloatArray, BoolArray, bool, FloatArray | None]:
    """Return the wrench (T, 6), loaded rows (T,), whether points were in mm, and the reference point (3,) m of stored moments.

    The wrench is the moment about the origin, N m, and the force, N. The reference point is None if it is the point of
    application of the force.
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
            f"'{table.path.name}' is damaged: {columns.force[0]} ... contains numbers up to {largest:.1e}.", COPY_AGAIN
        )
    size = np.linalg.norm(force, axis=1)
    least_n = load_threshold_n(size)
    unknown = missing_load_rows(measured, point, least_n)
    known = np.asarray(np.isfinite(point).all(axis=1))
    loaded = (size > least_n) & known
    placed = np.where(known[:, None], point, 0.0)
    force = np.where(known[:, None], force, 0.0)  # a force without a point is treated as missing
    millimetres = bool(loaded.any() and np.median(np.abs(placed[loaded]).max(axis=1)) > _LARGEST_M)
    scale = 1e-3 if millimetres else 1.0
    free, about = _moment_at_point(force, scale * moment, scale * placed, np.asarray(loaded))
    wrench = np.hstack([free + scale * np.cross(placed, force), force])
    wrench[unknown] = np.nan
    return wrench, np.asarray(loaded), millimetres, about


def _moment_at_point(
    force: FloatArray, moment: FloatArray, point: FloatArray, loaded: BoolArray
) -> tuple[FloatArray, FloatArray | None]:
    """Return the moment (T, 3) about the point of application of the force, and the reference point (3,) m of the stored
    moment.

    The reference point is None if it is the point of application. On a floor no horizontal moment acts at this point; a stored
    one is about a plate sensor or the laboratory origin. A constant point is not a centre of pressure: the whole moment about
    it is then used.
    """
    across_nm = 5.0  # RMS: more than the horizontal part of a free moment of 30 Nm on a ramp of ten degrees
    moves_m = 0.001  # RMS, m: a centre of pressure moves more, also in quiet standing
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


def _median_point(table: Storage, columns: ForceColumns, loaded: BoolArray, millimetres: bool) -> FloatArray:
    """Return the median (3,) m of the points of application of a force while it loads the plate."""
    point = np.column_stack([table.column(name) for name in columns.point])[loaded]
    middle: FloatArray = np.median(point, axis=0) * (1e-3 if millimetres else 1.0)
    return middle


def _plate_rectangle(wrench: FloatArray, level: FloatArray, middle: FloatArray | None) -> FloatArray:
    """Return the corners (4, 3) m of a rectangle around the centre of pressure of loaded wrenches (n, 6), in C3D order.

    Up is the axis along which most force acts, pointing to the side of the markers' centre `middle` (3,) m if given, else along
    the force.
    """
    force = wrench[:, 3:]
    axis = int(np.argmax(np.abs(force).sum(axis=0)))
    up = np.zeros(3)
    above = force[:, axis].sum() if middle is None else middle[axis] - level[axis]
    up[axis] = 1.0 if above >= 0.0 else -1.0
    about = wrench[:, :3] - np.cross(level, force)
    pressing = force @ up
    pressing = np.where(pressing == 0.0, np.inf, pressing)  # a force without a vertical part does not determine a point
    pressure = level + np.cross(up, about) / pressing[:, None]
    x, y = np.roll(np.eye(3), -axis - 1, axis=0)[:2] if up[axis] < 0 else np.roll(np.eye(3), -axis - 1, axis=0)[1::-1]
    low = np.array([np.percentile(pressure @ side, 1.0) - MARGIN_M for side in (x, y)])
    high = np.array([np.percentile(pressure @ side, 99.0) + MARGIN_M for side in (x, y)])
    height = level[axis] * np.eye(3)[axis]
    return np.array(
        [height + a * x + b * y for a, b in ((high[0], high[1]), (low[0], high[1]), low, (high[0], low[1]))]
    )


def _plate_channels(wrench: FloatArray, corners: FloatArray) -> FloatArray:
    """Return force and moment (T, 6) in the axes of the rectangle, about its centre."""
    x, y = corners[0] - corners[1], corners[0] - corners[3]
    R = np.column_stack([x / np.linalg.norm(x), y / np.linalg.norm(y), np.cross(x, y) / np.linalg.norm(np.cross(x, y))])
    force = wrench[:, 3:]
    return np.hstack([force @ R, (wrench[:, :3] - np.cross(corners.mean(axis=0), force)) @ R])


# -- notes -------------------------------------------------------------------------------------------------------------


def _force_name(columns: ForceColumns) -> str:
    return f"{columns.force[0]} ..."


def _never_loaded_note(table: Storage, columns: ForceColumns) -> Diagnostic:
    text = f"The force {_force_name(columns)} of '{table.path.name}' is zero throughout and is ignored."
    return Diagnostic("forces-incomplete", "info", text)


def _millimetre_note(table: Storage, columns: ForceColumns) -> Diagnostic:
    return Diagnostic(
        "unit-corrected",
        "info",
        f"The points of {_force_name(columns)} in '{table.path.name}' exceed {_LARGEST_M:g} m; they are read as mm, and "
        f"moments as N mm.",
        limit=_LARGEST_M,
        unit="m",
    )


def _other_reference_note(table: Storage, columns: ForceColumns, about: FloatArray) -> Diagnostic:
    """Return the note on moments about another point: usual for the laboratory origin, else a possible error."""
    at_origin_m = 0.01  # centres of pressure are rounded to millimetres
    at_origin = float(np.linalg.norm(about)) < at_origin_m
    place = "the laboratory origin" if at_origin else f"({', '.join(f'{value:.2f}' for value in about + 0.0)}) m"
    return Diagnostic(
        "forces-incomplete",
        "info" if at_origin else "warning",
        f"The moments of {_force_name(columns)} in '{table.path.name}' are not about the point of application of the force "
        f"but about "
        f"{place}. Only their free moment is used.",
        hint="If this is wrong, remove the moment columns from the table.",
    )


def _uncovered_frames_note(
    table: Storage, frame_count: int, covered_s: tuple[float, float], covered: int
) -> Diagnostic:
    return Diagnostic(
        "forces-incomplete",
        "warning",
        f"'{table.path.name}' covers {covered_s[0]:.3f} to {covered_s[1]:.3f} s; the other {frame_count - covered} of "
        f"{frame_count} frames of the motion are not analysed.",
        value=float(frame_count - covered),
    )
