"""The page of `biodyn check`: findings, 3-D view and markers of a recording before its analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biodyn.checks.files import FileFacts
from biodyn.conventions import SIDE_NAMES, BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import MarkerSetError, PlateError
from biodyn.library.tables import segment_title
from biodyn.output.figures.style import COLORS, LEVEL_COLORS, SIDE_COLORS
from biodyn.output.report.page import Fact, Frame, render_page, render_section
from biodyn.output.report.scene import (
    MOST_BYTES,
    SCENE_TEMPLATE,
    encode_integers,
    encode_positions,
    scene_context,
    scene_values,
)
from biodyn.processing.contacts.plate_loads import centre_of_pressure
from biodyn.variables.cycle_parameters import nan_statistics


def segments_by_marker(file: FileFacts) -> dict[str, str]:
    """Return the segment of every marker by label, "" for unknown markers, in the order of the file."""
    mapping = file.mapping
    bodies = {} if isinstance(mapping, MarkerSetError) else {role.label: role.body for role in mapping.roles}
    return {label: bodies.get(label, "") for label in file.recording.markers.labels}


def recording_scene(file: FileFacts) -> dict[str, Any] | None:
    """Return the values of the 3-D view of a recording, in World; None if no marker is ever visible."""
    markers, bodies = file.recording.markers, segments_by_marker(file)
    positions = markers.positions
    visible = np.isfinite(positions[..., 0])
    if not visible.any():
        return None
    bytes_per_frame = 6 * (positions.shape[1] + 1 + 2 * len(file.recording.plates))  # 6 per position
    rows = np.arange(0, len(positions), max(1, -(-len(positions) * bytes_per_frame // MOST_BYTES)))
    if not visible[rows].any():
        rows = np.flatnonzero(visible.any(axis=1))[:1]
    in_view: FloatArray = positions[rows]
    is_used: BoolArray = np.asarray(np.isfinite(in_view[..., 0]).any(axis=0))
    on_body = [i for i, body in enumerate(bodies.values()) if body and is_used[i]] or np.flatnonzero(is_used).tolist()
    follow = nan_statistics(in_view[:, on_body].swapaxes(0, 1))[0]
    centre = np.nanmean(follow, axis=0) * (1.0, 0.0, 1.0)
    person = {
        "name": "",
        "times": np.round(rows / markers.rate_hz, 4).tolist(),
        "cycles": [],
        "centre": np.round(centre, 3).tolist(),
        "top": round(float(np.nanpercentile(in_view[:, on_body, 1], 99.0)), 2),
        "points": encode_positions(follow[:, None] - centre),
        "count": 1,
        "spindles": [],
        "bones": [],
        "ghost": None,
        "markers": {
            "labels": list(bodies),
            "measured": encode_positions(in_view - centre),
            "apart": None,
            "colors": [_body_colour(body) for body in bodies.values()],
            "links": marker_links(positions, list(bodies.values())),
        },
        "plates": [
            {"number": plate.number, "corners": np.round(plate.corners - centre, 3).tolist(), "contacts": []}
            for plate in file.recording.plates
            if plate.outlined and np.isfinite(plate.corners).all()
        ],
        "forces": _plate_forces(file, rows, centre),
        "residual": None,
    }
    return scene_values([person])


def marker_links(positions: FloatArray, bodies: Sequence[str]) -> list[list[int]]:
    """Return pairs of markers that are connected by lines: the minimum spanning tree of each segment.

    Prim's algorithm with median distances of `positions` (T, M, 3).
    """
    pairs: list[list[int]] = []
    for body in dict.fromkeys(body for body in bodies if body):
        remaining = [i for i, name in enumerate(bodies) if name == body]
        connected = [remaining.pop(0)]
        while remaining:
            lengths = {(i, j): _distance_statistics(positions, i, j)[0] for i in connected for j in remaining}
            pair = min(lengths, key=lambda edge: lengths[edge])
            if not np.isfinite(lengths[pair]):
                break  # never visible in the same frame
            pairs.append(list(pair))
            connected.append(pair[1])
            remaining.remove(pair[1])
    return pairs


def marker_motions(file: FileFacts) -> list[dict[str, Any]]:
    """Return visibility, largest jump with its time, and variation of distances of every marker, sorted by jump.

    The jump is the second difference of three consecutive positions, which is small for smooth motion and large for swapped
    labels. The variation is the standard deviation of the distances to connected markers of the segment.
    """
    markers, bodies = file.recording.markers, segments_by_marker(file)
    pairs = marker_links(markers.positions, list(bodies.values()))
    rows = []
    for number, (label, body) in enumerate(bodies.items()):
        trajectory = markers.positions[:, number]
        jumps = np.linalg.norm(trajectory[2:] - 2.0 * trajectory[1:-1] + trajectory[:-2], axis=1)
        frame = int(np.nanargmax(jumps)) if np.isfinite(jumps).any() else -1
        jump_m = float(jumps[frame]) if frame >= 0 else np.nan
        spreads = [_distance_statistics(markers.positions, *pair)[1] for pair in pairs if number in pair]
        row: dict[str, Any] = {
            "label": label,
            "body": segment_title(body) if body else "",
            "seen": f"{100 * file.visible_fraction[label]:.0f}",
            "jump_m": jump_m,
            "jump_s": (frame + 1) / markers.rate_hz,
            "jump": f"{1000 * jump_m:.1f}" if frame >= 0 else "–",
            "time": f"{(frame + 1) / markers.rate_hz:.2f}" if frame >= 0 else "",
            "stretch": f"{1000 * max(spreads):.1f}" if spreads and np.isfinite(spreads).all() else "–",
        }
        rows.append(row)
    return sorted(rows, key=lambda row: -np.nan_to_num(row["jump_m"]))


def _distance_statistics(positions: FloatArray, i: int, j: int) -> tuple[float, float]:
    """Return median (inf if unknown) and standard deviation (NaN below two frames) of the distance of two markers."""
    distances = np.linalg.norm(positions[:, i] - positions[:, j], axis=1)
    known = distances[np.isfinite(distances)]
    return float(np.median(known)) if len(known) else np.inf, float(known.std()) if len(known) > 1 else np.nan


def _body_colour(body: str) -> str:
    side = body.rpartition("_")[2]
    if side in SIDE_NAMES:
        return SIDE_COLORS[side]
    return "#0b6e4f" if body else COLORS["muted"]


def _plate_forces(file: FileFacts, rows: np.ndarray, centre: FloatArray) -> list[Mapping[str, Any]]:
    """Return the force of every readable plate in the frames of the view; below 20 N the centre of pressure is noise."""
    rate_hz = file.recording.markers.rate_hz
    forces: list[Mapping[str, Any]] = []
    for number, wrench in enumerate(file.wrenches):
        if isinstance(wrench, PlateError):
            continue
        samples = np.minimum(np.round(rows / rate_hz * wrench.rate_hz).astype(int), len(wrench.wrench) - 1)
        cop = centre_of_pressure(wrench.wrench[samples], wrench.corners, 20.0)
        forces.append(
            {
                "name": f"plate {wrench.number}",
                "color": LEVEL_COLORS[number % len(LEVEL_COLORS)],
                "place": encode_positions(cop - centre),
                "force": encode_integers(wrench.wrench[samples, 3:]),
            }
        )
    return forces


_DRAWN = (
    "Dots: recorded markers with their path; lines connect the markers of a segment. Blue: right, orange: left, green: middle, "
    "grey: unknown. Arrows: reaction force of the plates (1 m = 1000 N)."
)


def render_check_page(
    file: FileFacts, lines: Sequence[str], findings: Sequence[Diagnostic], program: str
) -> str | None:
    """Return the page of a recording with findings, 3-D view and markers; None if no marker is visible."""
    scene = recording_scene(file)
    if scene is None:
        return None
    recording = file.recording
    context = scene_context(scene, "The markers of the recording in motion, force plates and forces", _DRAWN)
    severities = ("error", "warning", "info")
    ordered = sorted(findings, key=lambda finding: severities.index(finding.severity))
    listing = '<ul class="small">{% for line in lines %}<li>{{ line }}</li>{% endfor %}</ul>'
    sections = [
        render_section(
            "findings", "Findings", '{% include "recording_findings.html.j2" %}', css="slim", findings=ordered
        ),
        render_section("scene", "The recording in 3-D", SCENE_TEMPLATE, css="scene beside", **context),
        render_section(
            "markers", "Markers", '{% include "recording_markers.html.j2" %}', css="beside", rows=marker_motions(file)
        ),
        render_section("contents", "Content of the file", listing, link="", lines=lines),
    ]
    markers = recording.markers
    frame = Frame(
        title=f"{recording.path.name} – check",
        heading=recording.path.name,
        line="",
        facts=[
            Fact("Frames", f"{markers.frame_count} at {markers.rate_hz:g} Hz"),
            Fact("Markers", str(len(markers.labels))),
            Fact("Force plates", str(len(recording.plates))),
        ],
        program=program,
        foot="This page needs no network.",
    )
    return render_page(frame, sections)
