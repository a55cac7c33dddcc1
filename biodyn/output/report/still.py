"""One frame of the 3-D scene as SVG: for print, and for browsers that run no scripts. The same numbers and view as the page's."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from biodyn.conventions import FloatArray
from biodyn.output.figures.style import INK, MUTED

_WIDTH, _HEIGHT = 640.0, 400.0
_YAW, _PITCH, _FAR = 0.55, 0.22, 2.1  # of the view that the page begins with; distance by height of what is shown
_MISSING = -32768
_N_A_METRE = 1000.0  # of an arrow
_SKIN, _BONE, _MARKER = "#d6c4b4", "#3d4852", "#0b6e4f"


def still(scene: Mapping[str, Any], words: str, dots: bool = True) -> Markup:
    """Draw every person beside the other in the middle of their recordings, or in the nearest frame that has a pose.

    `words` say what is to be seen. Nothing where nobody has a pose.
    """
    drawn = [found for person in scene["persons"] if (found := _person(person, dots, len(scene["persons"]) > 1))]
    if not drawn:
        return Markup()
    parts = [
        f'<svg x="{_WIDTH * k:g}" width="{_WIDTH:g}" height="{_HEIGHT:g}" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}">{part}</svg>'
        for k, (_, part) in enumerate(drawn)
    ]
    when = " and ".join(f"{time_s:.2f} s" for time_s, _ in drawn)
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="still" viewBox="0 0 {_WIDTH * len(drawn):g} {_HEIGHT:g}" role="img" '
        f'aria-label="{escape(words)}, at {when}">{"".join(parts)}</svg>'
    )


def _person(person: Mapping[str, Any], dots: bool, named: bool) -> tuple[float, str] | None:
    """The time, s, and what is drawn of one person."""
    points = _decoded(person["points"], person["count"])
    seen = np.flatnonzero(np.isfinite(points[:, 0]).all(axis=1))
    if not len(seen):
        return None
    row = int(seen[np.argmin(np.abs(seen - len(points) // 2))])
    camera = _Camera.at(points[row, 0], float(person["top"]))
    parts = [
        *_plates(person, camera),
        *_body(person, points[row], camera),
        *(_dots(person, row, camera) if dots else ()),
    ]
    for foot in person["forces"]:
        place, force = _decoded(foot["place"], 1)[row, 0], 1000.0 * _decoded(foot["force"], 1)[row, 0]
        parts += camera.line(place, place + force / _N_A_METRE, foot["color"], 3.0)
    if named:
        parts.append(f'<text x="12" y="24" font-size="16" fill="{INK}">{escape(person["name"])}</text>')
    return float(person["times"][row]), "".join(parts)


@dataclass(frozen=True)
class _Camera:
    """Where the eye is (3,), its axes right, up, ahead (3, 3), and pixels of a metre at one metre."""

    place: FloatArray
    axes: FloatArray
    lens: float

    @classmethod
    def at(cls, target: FloatArray, top: float) -> _Camera:
        c = np.cos(_PITCH)
        way = np.array([np.sin(_YAW) * c, np.sin(_PITCH), np.cos(_YAW) * c])
        right = np.cross(-way, (0.0, 1.0, 0.0))
        right /= np.linalg.norm(right)
        middle = np.array([target[0], 0.5 * top, target[2]])
        return cls(middle + _FAR * max(0.8, top) * way, np.stack([right, np.cross(right, -way), -way]), 1.5 * _HEIGHT)

    def seen(self, place: FloatArray) -> FloatArray:
        """Pixels from the upper left, and the distance ahead; NaN behind the eye."""
        x, y, far = self.axes @ (place - self.place)
        if not far > 0.05:
            return np.full(3, np.nan)
        return np.array([_WIDTH / 2 + self.lens * x / far, _HEIGHT / 2 - self.lens * y / far, far])

    def line(self, a: FloatArray, b: FloatArray, color: str, width: float, more: str = "") -> list[str]:
        """A line between two places, none where one cannot be seen."""
        p, q = self.seen(a), self.seen(b)
        if not (np.isfinite(p).all() and np.isfinite(q).all()):
            return []
        data = f"M{p[0]:.1f} {p[1]:.1f}L{q[0]:.1f} {q[1]:.1f}"
        return [f'<path d="{data}" stroke="{color}" stroke-width="{width:.1f}" stroke-linecap="round"{more}/>']


def _plates(scene: Mapping[str, Any], camera: _Camera) -> list[str]:
    parts = []
    for plate in scene["plates"]:
        corners = [camera.seen(np.array(corner)) for corner in plate["corners"]]
        if not np.isfinite(corners).all():
            continue
        data = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in corners) + "Z"
        x, y = np.mean(corners, axis=0)[:2]
        parts.append(f'<path d="{data}" fill="#eef1f4" stroke="#9aa5b1"/>')
        parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" fill="{MUTED}">{plate["number"]}</text>')
    return parts


def _body(scene: Mapping[str, Any], points: FloatArray, camera: _Camera) -> list[str]:
    """Segments as thick strokes, those behind first; bones and joints over them."""
    found: list[tuple[float, list[str]]] = []
    for start, end, radius_mm in scene["spindles"]:
        far = float(camera.seen(0.5 * (points[start] + points[end]))[2])
        if np.isfinite(far):
            width = 2.0 * 0.001 * radius_mm * camera.lens / far
            found.append((far, camera.line(points[start], points[end], _SKIN, width, ' opacity="0.7"')))
    parts = [part for _, drawn in sorted(found, key=lambda one: -one[0]) for part in drawn]
    for start, end in scene["bones"]:
        parts += camera.line(points[start], points[end], _BONE, 2.5)
        parts += _dot(camera, points[start], 3.0, INK)
    return parts


def _dots(scene: Mapping[str, Any], row: int, camera: _Camera) -> list[str]:
    markers = scene["markers"]
    if markers is None:
        return []
    count = len(markers["labels"])
    places = _decoded(markers["measured"], count)[row]
    colors = markers.get("colors") or [_MARKER] * count
    parts = [part for a, b in markers.get("links") or () for part in camera.line(places[a], places[b], "#8a949e", 1.2)]
    return parts + [dot for place, color in zip(places, colors, strict=True) for dot in _dot(camera, place, 2.2, color)]


def _dot(camera: _Camera, place: FloatArray, radius: float, color: str) -> list[str]:
    x, y, far = camera.seen(place)
    return [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{color}"/>'] if np.isfinite(far) else []


def _decoded(text: str, count: int) -> FloatArray:
    """Places (T, count, 3) in m as the page holds them; what is missing is NaN."""
    values = np.frombuffer(base64.b64decode(text), dtype="<i2").astype(np.float64)
    return np.where(values == _MISSING, np.nan, 0.001 * values).reshape(-1, count, 3)
