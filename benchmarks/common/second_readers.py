"""Other readers of text tables, spreadsheets and models: a dozen lines each, or pandas, and nothing of the program's own.

Each takes the path of a file and what the program read of it, and returns None where it cannot read the file itself or the
program said that it is not what it seems, "" where both read the same, else the difference.
"""

from __future__ import annotations

import math
import re
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd

from biodyn.io.opensim.external_loads import ExternalForces
from biodyn.io.opensim.storage import read_storage
from biodyn.recording import Recording
from biodyn.rigid_body import from_osim

_SAME = 1e-6
#: Findings that say that numbers, counts or units are not what the file's words alone say.
TOLD = {
    "recording-repaired",
    "unit-corrected",
    "columns-not-read",
    "marker-labels-duplicate",
}


def frames_of(path: Path, found: Recording) -> str | None:
    """TRC by its tabs: frames, rate, and every coordinate of the labels that stand there once."""
    if _told(found):
        return None
    try:
        lines = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        head = dict(zip((c.strip() for c in lines[1]), (c.strip() for c in lines[2]), strict=True))
        labels = [cell.strip() for cell in lines[3][2:]]
        count = sum(bool(cell.strip()) for cell in lines[4]) // 3
        if any(labels[i] for i in range(len(labels)) if i % 3) or not lines[4][2].strip().upper().startswith("X"):
            return None  # labels and axes stand over other columns
        rows = [[float(cell) if cell.strip() else math.nan for cell in line[: 2 + 3 * count]] for line in lines[5:]]
        values = np.array([row + [math.nan] * (2 + 3 * count - len(row)) for row in rows])
        scale = {"mm": 1e-3, "m": 1.0, "cm": 1e-2}[head["Units"]]
        rate, frames = float(head["DataRate"]), int(head["NumFrames"])
    except (ValueError, IndexError, KeyError, UnicodeDecodeError):
        return None
    markers = found.motion.markers
    if markers is None:
        return "no markers"
    if (frames, rate) != (markers.frame_count, markers.rate_hz):
        return f"{markers.frame_count} frames at {markers.rate_hz} Hz, the file says {frames} at {rate}"
    for label in markers.labels:
        if labels.count(label) == 1:
            at = 2 + labels.index(label)
            mine, other = markers.positions[:, markers.labels.index(label)], scale * values[:, at : at + 3]
            if difference := _different(mine, other):
                return f"{label}: {difference}"
    return ""


def coordinates_of(path: Path, found: Recording) -> str | None:
    """MOT, STO by pandas: names and numbers of the whole table."""
    del found
    try:
        text = path.read_text(encoding="utf-8")
        head, _, body = text.partition("endheader\n")
        count = next((int(w.partition("=")[2]) for w in head.split() if w.lower().startswith("nrows=")), None)
        first = body.partition("\n")[0]
        mark = "\t" if "\t" in first and "\t\t" not in first else r"\s+"  # doubled marks are one
        frame = pd.read_csv(StringIO(body), sep=mark, dtype=np.float64, index_col=False)
    except (ValueError, UnicodeDecodeError, pd.errors.ParserError):
        return None
    table = read_storage(path)
    if frame.shape[0] != len(table.time_s):
        return f"{len(table.time_s)} rows, pandas {frame.shape[0]}"
    if count not in (None, len(table.time_s)) and not getattr(table, "notes", ()):
        return f"{len(table.time_s)} rows, the header says {count}"
    names = [str(c).strip() for c in frame.columns]
    names = [str(c).split("/")[-2] if str(c).endswith("/value") else c for c in names]
    for name in set(table.names) - table.unclear:
        if names.count(name) == 1 and (
            d := _different(table.column(name), frame.iloc[:, names.index(name)].to_numpy())
        ):
            return f"{name}: {d}"
    return ""


def _as_written(path: Path) -> str:
    """The text of a file with its own ends of lines."""
    with path.open(errors="replace", newline="") as stream:
        return stream.read()


def numbers_of(path: Path, found: Recording) -> str | None:
    """CSV and Parquet by pandas: every coordinate of a marker in metres."""
    if _told(found):
        return None
    try:
        frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype=np.float64)
    except Exception:  # whatever stops pandas
        return None
    markers = found.motion.markers
    if markers is None:
        return "no markers"
    if len(frame) and not isinstance(frame.index, pd.RangeIndex):
        return None  # more cells than names: pandas takes the first for names of rows
    if path.suffix == ".csv" and re.search("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|\r(?!\n)", _as_written(path)):
        return None  # ends of lines that pandas does not know
    if len(frame) != markers.frame_count:
        return f"{markers.frame_count} frames, pandas {len(frame)}"
    for label in markers.labels:
        names = [f"{label}_{axis}" for axis in "XYZ"]
        if any(list(frame.columns).count(name) != 1 for name in names):
            continue
        mine = markers.positions[:, markers.labels.index(label)]
        if difference := _different(mine, frame[names].to_numpy(float)):
            return f"{label}: {difference}"
    return ""


def model_of(path: Path, found: None) -> str | None:
    """OSIM by the standard library: the mass of all bodies, the number of coordinates."""
    del found
    try:
        root = ET.parse(path).getroot()
        model = root.find("Model")
        if model is None:
            return None
        masses = {str(b.get("name")): float(b.findtext("mass") or 0.0) for b in model.iter("Body")}
    except (ET.ParseError, ValueError, UnicodeDecodeError, LookupError):
        return None
    mine, other = from_osim(path).multibody.total_mass_kg, sum(m for n, m in masses.items() if n != "ground")
    return "" if math.isclose(mine, other, rel_tol=1e-6, abs_tol=1e-9) else f"mass {mine:g} kg, in the file {other:g}"


def loads_of(path: Path, found: ExternalForces) -> str | None:
    """External loads by the standard library: bodies and the first column of their forces."""
    try:
        root = ET.parse(path).getroot()
        wanted = [
            (one.findtext("applied_to_body", "").strip(), one.findtext("force_identifier", "").strip())
            for one in root.findall("ExternalLoads/objects/ExternalForce")
            or root.findall("ExternalLoads/ExternalForce")
            if one.findtext("isDisabled", "").strip().lower() in ("", "false", "0")
            and one.findtext("appliesForce", "").strip().lower() in ("", "true", "1")
        ]
    except (ET.ParseError, ValueError, LookupError):
        return None
    mine = [(one.body, (one.force or ("",))[0]) for one in found.loads]
    if len(mine) != len(wanted):
        return f"{len(mine)} loads, in the file {len(wanted)}"
    for (body, column), (other, identifier) in zip(mine, wanted, strict=True):
        if body != other or not column.startswith(identifier):
            return f"{column} on {body}, in the file {identifier} on {other}"
    return ""


def _told(found: Recording) -> bool:
    return bool(TOLD & {finding.code for finding in found.diagnostics})


def _different(mine: np.ndarray, other: np.ndarray) -> str:
    """Where both are known, the same to six digits; what is not known to one is not known to the other, or nowhere near."""
    mine, other = np.asarray(mine, float), np.asarray(other, float)
    if mine.shape != other.shape:
        return f"{mine.shape} instead of {other.shape}"
    known = np.isfinite(mine)
    with np.errstate(all="ignore"):
        far = known & ~np.isclose(mine, other, rtol=_SAME, atol=1e-9)
    return (
        f"{int(far.sum())} numbers differ, the first {mine[far][0]:g}, other reader {other[far][0]:g}"
        if far.any()
        else ""
    )
