"""Write TRC files of marker trajectories."""

from __future__ import annotations

import math
from pathlib import Path

from biodyn.errors import BiodynError
from biodyn.io.text_decoding import clean_text
from biodyn.recording import Markers


def write_trc(path: str | Path, markers: Markers, *, first_frame: int = 1) -> None:
    """Write marker trajectories in millimetres; cells of what was not seen stay empty. An existing file is replaced.

    Raises BiodynError for labels that the format cannot hold.
    """
    for label in markers.labels:
        if label != clean_text(label) or not label:
            raise BiodynError(f"'{label}' cannot be a label in a TRC file.", "Use one line of text without tabs.")
    frames, count, rate = markers.frame_count, len(markers.labels), f"{markers.rate_hz:.10g}"
    head = [
        ["PathFileType", "4", "(X/Y/Z)", clean_text(Path(path).name)],
        ["DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units"]
        + ["OrigDataRate", "OrigDataStartFrame", "OrigNumFrames"],
        [rate, rate, str(frames), str(count), "mm", rate, str(first_frame), str(frames)],
        ["Frame#", "Time", *(cell for label in markers.labels for cell in (label, "", ""))],
        ["", "", *(f"{axis}{i}" for i in range(1, count + 1) for axis in "XYZ")],
    ]
    rows = [
        [str(first_frame + i), f"{(first_frame - 1 + i) / markers.rate_hz:.6f}"]
        + [f"{value:.6f}" if math.isfinite(value) else "" for value in frame]
        for i, frame in enumerate((1000.0 * markers.positions).reshape(frames, -1).tolist())
    ]
    text = "".join("\t".join(cells) + "\n" for cells in (*head, *rows))
    Path(path).write_text(text, encoding="utf-8", newline="\n")
