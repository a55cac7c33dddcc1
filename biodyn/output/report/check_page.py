"""The page of `biodyn check`: a recording to be looked at before it is analysed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from markupsafe import Markup

from biodyn.checks.files import FileFacts
from biodyn.conventions import SIDE_NAMES, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import MarkerSetError, PlateError
from biodyn.output.figures.style import COLORS, LEVEL_COLORS, SIDE_COLORS
from biodyn.output.report.page import Fact, Frame, Section, framed, page_environment
from biodyn.output.report.scene import MOST_BYTES, SCENE_TEMPLATE, millimetres, scene_context, scene_of, whole
from biodyn.processing.contacts.loading import centre_of_pressure

_LOADED_N: Final = 20.0  # below, a centre of pressure is noise
_A_PLACE: Final = 6  # bytes
_MIDDLE, _UNKNOWN = "#0b6e4f", COLORS["muted"]


def segments(file: FileFacts) -> dict[str, str]:
    """Segment of every marker that was understood, "" for the others, by label in the order of the file."""
    mapping = file.mapping
    known = {} if isinstance(mapping, MarkerSetError) else {role.label: role.body for role in mapping.roles}
    return {label: known.get(label, "") for label in file.recording.markers.labels}


def recording_scene(file: FileFacts) -> dict[str, Any] | None:
    """Return what the page's script draws of a recording in World; None where no marker is ever seen."""
    markers, bodies = file.recording.markers, segments(file)
    positions = markers.positions
    seen = np.isfinite(positions[..., 0])
    if not seen.any():
        return None
    a_frame = _A_PLACE * (positions.shape[1] + 1 + 2 * len(file.recording.plates))
    rows = np.arange(0, len(positions), max(1, -(-len(positions) * a_frame // MOST_BYTES)))
    if not seen[rows].any():
        rows = np.flatnonzero(seen.any(axis=1))[:1]
    shown: FloatArray = positions[rows]
    often = np.count_nonzero(np.isfinite(shown[..., 0]), axis=0) > 0
    own = [i for i, body in enumerate(bodies.values()) if body and often[i]] or np.flatnonzero(often).tolist()
    follow = _middle(shown[:, own])
    centre = np.nanmean(follow, axis=0) * (1.0, 0.0, 1.0)
    person = {
        "name": "",
        "times": np.round(rows / markers.rate_hz, 4).tolist(),
        "cycles": [],
        "centre": np.round(centre, 3).tolist(),
        "top": round(float(np.nanpercentile(shown[:, own, 1], 99.0)), 2),
        "points": millimetres(follow[:, None] - centre),
        "count": 1,
        "spindles": [],
        "bones": [],
        "ghost": None,
        "markers": {
            "labels": list(bodies),
            "measured": millimetres(shown - centre),
            "apart": None,
            "colors": [_color(body) for body in bodies.values()],
            "links": links(positions, list(bodies.values())),
        },
        "plates": [
            {"number": plate.number, "corners": np.round(plate.corners - centre, 3).tolist(), "contacts": []}
            for plate in file.recording.plates
            if plate.outlined and np.isfinite(plate.corners).all()
        ],
        "forces": _forces(file, rows, centre),
        "residual": None,
    }
    return scene_of([person])


def links(positions: FloatArray, bodies: Sequence[str]) -> list[list[int]]:
    """Pairs of markers (numbers) that a line joins: of each segment the lines of least length in all that hold it together.

    Prim's algorithm over the median distances of `positions` (T, M, 3).
    """
    found: list[list[int]] = []
    for body in dict.fromkeys(body for body in bodies if body):
        left = [i for i, own in enumerate(bodies) if own == body]
        within = [left.pop(0)]
        while left:
            lengths = {(i, j): _median_distance(positions, i, j) for i in within for j in left}
            pair = min(lengths, key=lambda one: lengths[one])
            if not np.isfinite(lengths[pair]):
                break  # never seen together
            found.append(list(pair))
            within.append(pair[1])
            left.remove(pair[1])
    return found


@dataclass(frozen=True)
class MarkerMotion:
    """How one marker moves: share of the frames with the person there in which it is seen, its largest jump (m) beyond an even
    motion and when (s), and how much its distances to the joined markers of its segment vary (m, standard deviation); NaN where
    that cannot be said."""

    label: str
    body: str
    seen: float
    jump_m: float
    jump_s: float
    stretch_m: float


def marker_motions(file: FileFacts) -> list[MarkerMotion]:
    """Return every marker, those with the largest jumps first.

    A jump is the second difference of three places in a row: what an even motion does not have and an exchange of labels has.
    """
    markers, bodies = file.recording.markers, segments(file)
    joined = links(markers.positions, list(bodies.values()))
    found = []
    for number, (label, body) in enumerate(bodies.items()):
        own = markers.positions[:, number]
        bend = np.linalg.norm(own[2:] - 2.0 * own[1:-1] + own[:-2], axis=1)
        at = int(np.nanargmax(bend)) if np.isfinite(bend).any() else -1
        stretch = [_spread(markers.positions, *pair) for pair in joined if number in pair]
        found.append(
            MarkerMotion(
                label,
                body,
                file.seen[label],
                float(bend[at]) if at >= 0 else np.nan,
                (at + 1) / markers.rate_hz if at >= 0 else np.nan,
                max(stretch) if stretch and np.isfinite(stretch).all() else np.nan,
            )
        )
    return sorted(found, key=lambda one: -np.nan_to_num(one.jump_m))


def _middle(places: FloatArray) -> FloatArray:
    """Mean (T, 3) of the places (T, M, 3) that are known; NaN where none is."""
    known = np.isfinite(places)
    count = known.sum(axis=1)
    total = np.where(known, places, 0.0).sum(axis=1)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def _median_distance(positions: FloatArray, i: int, j: int) -> float:
    apart = np.linalg.norm(positions[:, i] - positions[:, j], axis=1)
    known = apart[np.isfinite(apart)]
    return float(np.median(known)) if len(known) else np.inf


def _spread(positions: FloatArray, i: int, j: int) -> float:
    apart = np.linalg.norm(positions[:, i] - positions[:, j], axis=1)
    known = apart[np.isfinite(apart)]
    return float(known.std()) if len(known) > 1 else np.nan


def _color(body: str) -> str:
    side = body.rpartition("_")[2]
    return SIDE_COLORS[side] if side in SIDE_NAMES else _MIDDLE if body else _UNKNOWN


def _forces(file: FileFacts, rows: np.ndarray, centre: FloatArray) -> list[Mapping[str, Any]]:
    """Force of every plate that can be read, at the frames shown."""
    rate_hz = file.recording.markers.rate_hz
    found: list[Mapping[str, Any]] = []
    for number, wrench in enumerate(file.wrenches):
        if isinstance(wrench, PlateError):
            continue
        at = np.minimum(np.round(rows / rate_hz * wrench.rate_hz).astype(int), len(wrench.wrench) - 1)
        place = centre_of_pressure(wrench.wrench[at], wrench.corners, _LOADED_N)
        found.append(
            {
                "name": f"plate {wrench.number}",
                "color": LEVEL_COLORS[number % len(LEVEL_COLORS)],
                "place": millimetres(place - centre),
                "force": whole(wrench.wrench[at, 3:]),
            }
        )
    return found


_FINDINGS = """
<ul class="causes">
{% for d in findings %}<li><span class="tag {{ d.severity }}">{{ d.severity }}</span> {{ d.message }}{% if d.hint %} <span class="quiet">{{ d.hint }}</span>{% endif %}</li>
{% else %}<li>Nothing looks wrong.</li>
{% endfor %}
</ul>
"""
_MARKERS = """
<p class="quiet small">Jump: how far a place lies from the even course of its neighbours in time. Stretch: how much the distance to the joined markers of the
segment varies. An exchange of two labels has a large jump in both at one time. Those with the largest jumps come first; a time goes there.</p>
<div class="scroll list"><table class="tight"><thead><tr><th>marker</th><th>segment</th><th class="number">seen (%)</th><th class="number">jump (mm)</th><th class="number">at</th><th class="number">stretch (mm)</th></tr></thead><tbody>
{% for row in rows %}
<tr><td>{{ row.label }}</td><td>{{ row.body or "–" }}</td><td class="number">{{ row.seen }}</td><td class="number">{{ row.jump }}</td>
<td class="number">{% if row.time %}<button type="button" data-time="{{ row.time }}" data-marker="{{ row.label }}">{{ row.time }} s</button>{% else %}–{% endif %}</td><td class="number">{{ row.stretch }}</td></tr>
{% endfor %}
</tbody></table></div>
"""
_LINES = """<ul class="small">{% for line in lines %}<li>{{ line }}</li>{% endfor %}</ul>"""
_DRAWN = (
    "Dots: markers as they were recorded, with their trail; lines join those of one segment; blue: right, orange: left, green: middle, "
    "grey: not understood. Arrows: reaction force of the plates (1 m = 1000 N)."
)


def check_page(file: FileFacts, lines: Sequence[str], findings: Sequence[Diagnostic], program: str) -> str | None:
    """Return the page of a recording: what looks wrong, the scene, how each marker moves; None where no marker is seen."""
    scene = recording_scene(file)
    if scene is None:
        return None
    recording = file.recording
    context = scene_context(scene, "The markers of the recording in motion, force plates and forces", _DRAWN)
    sections = [
        _section("findings", "What looks wrong", _FINDINGS, {"findings": _ordered(findings)}, "slim"),
        _section("scene", "The recording in 3-D", SCENE_TEMPLATE, context, "scene beside"),
        _section("markers", "Markers", _MARKERS, {"rows": [_row(one) for one in marker_motions(file)]}, "beside"),
        _section("contents", "What the file holds", _LINES, {"lines": lines}, ""),
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
    return framed(frame, sections)


def _section(name: str, title: str, template: str, data: dict[str, Any], css: str) -> Section:
    body = Markup(page_environment().from_string(template).render(data))
    return Section(name, title, body, link=title if name != "contents" else "", css=css)


def _ordered(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    order = ("error", "warning", "info")
    return sorted(findings, key=lambda one: order.index(one.severity))


def _row(one: MarkerMotion) -> dict[str, str]:
    return {
        "label": one.label,
        "body": one.body,
        "seen": f"{100 * one.seen:.0f}",
        "jump": f"{1000 * one.jump_m:.1f}" if np.isfinite(one.jump_m) else "–",
        "time": f"{one.jump_s:.2f}" if np.isfinite(one.jump_s) else "",
        "stretch": f"{1000 * one.stretch_m:.1f}" if np.isfinite(one.stretch_m) else "–",
    }
