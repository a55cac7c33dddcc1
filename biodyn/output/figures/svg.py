"""Figures as SVG: small, sharp, the same bytes every time, and quick enough for thousands.

One unit is a tenth of a pixel of the page, so that whole numbers place a line well enough.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup, escape

from biodyn.conventions import FloatArray
from biodyn.output.figures.description import (
    Area,
    Bars,
    Dash,
    Figure,
    Key,
    Layer,
    Line,
    Outline,
    Panel,
    Points,
    Rule,
    Shade,
    Strip,
    Text,
)
from biodyn.output.figures.layout import (
    SAMPLE,
    SMALL_HEIGHT,
    SMALL_WIDTH,
    STRIP_HEIGHT,
    TICK_GAP,
    KeyRow,
    Place,
    key_words_left,
    layout,
    runs,
    small_place,
)
from biodyn.output.figures.spoken import spoken
from biodyn.output.figures.style import FONTS, INK, MUTED, SMALL, TEXT, WIDTH, color

_BASELINE = 0.35  # of the letters' size: from the middle of a line of words to what they stand on


def svg(figure: Figure) -> Markup:
    """Draw a figure as an element that stands in a page or alone. Every word is escaped.

    `<desc>` says what is to be seen (`spoken`), for those who cannot see it.
    """
    placed, words = layout(figure), spoken(figure)
    parts = [_panel(place) for place in placed.places] + [_key_row(row) for row in placed.rows]
    width = f' style="max-width:{figure.width:.0f}px"' if figure.width < WIDTH else ""
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart"{width} viewBox="0 0 {_u(placed.width)} {_u(placed.height)}" '
        f'role="img" font-family="{escape(FONTS)}" font-size="{_u(TEXT)}" fill="{MUTED}">'
        f"<title>{escape(figure.title)}</title>{f'<desc>{escape(words)}</desc>' if words else ''}{''.join(parts)}</svg>"
    )


def small_svg(panel: Panel, words: str) -> Markup:
    """Draw one panel for a grid that the page lays out: unit and directions below the title; `words` say what is to be seen."""
    place = small_place(panel)
    title = _text(2.0, 11.5, panel.title, f' font-weight="600" fill="{INK}" font-size="{_u(place.title_size)}"')
    unit = _text(2.0, 23.0, panel.y.label, f' font-size="{_u(place.label_size)}"')
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="panel" viewBox="0 0 {_u(SMALL_WIDTH)} {_u(SMALL_HEIGHT)}" '
        f'role="img" aria-label="{escape(words)}" font-family="{escape(FONTS)}" font-size="{_u(SMALL)}" fill="{MUTED}">'
        f"{title}{unit}{''.join(_plot(place))}</svg>"
    )


def small_keys(keys: Sequence[Key]) -> Markup:
    """The legend of such a grid, as words of the page behind a sample each."""
    box = f'class="sample" aria-hidden="true" width="{SAMPLE:g}" height="10" viewBox="0 0 {_u(SAMPLE)} 100"'
    drawn = (f"<span><svg {box}>{_sample(key, 0.0, 5.0)}</svg> {escape(key.words)}</span>" for key in keys)
    return Markup(f'<p class="keys small">{" ".join(drawn)}</p>')


def picture(png: bytes, words: str) -> Markup:
    """A PNG as an element of a page that needs no other file."""
    return Markup(f'<img alt="{escape(words)}" src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}">')


def _panel(place: Place) -> str:
    panel, left, right, top = place.panel, place.left, place.right, place.top
    size = f' font-size="{_u(place.title_size)}"'
    parts = [_text(left, top - place.title_above, panel.title, f' font-weight="600" fill="{INK}"{size}')]
    if panel.corner:
        parts.append(
            _text(right, top - place.corner_above, panel.corner, f' text-anchor="end" font-size="{_u(SMALL)}"')
        )
    parts += _plot(place)
    if panel.y.label:
        size = f' font-size="{_u(place.label_size)}"' if place.label_size != TEXT else ""
        parts.append(
            f'<text transform="translate({_u(left - 48.0)} {_u(top + place.height / 2)}) rotate(-90)" '
            f'text-anchor="middle"{size}>{escape(panel.y.label)}</text>'
        )
    if panel.x.label:
        parts.append(_text(left + place.width / 2, place.label_below, panel.x.label, ' text-anchor="middle"'))
    return f"<g>{''.join(parts)}</g>"


def _plot(place: Place) -> list[str]:
    """What stands between the axes of a panel, the axes, and the words of their ticks."""
    panel, left, right, top, bottom = place.panel, place.left, place.right, place.top, place.bottom
    layers = [_layer(layer, place) for layer in panel.layers if not isinstance(layer, Shade)]
    shades = [_layer(layer, place) for layer in panel.layers if isinstance(layer, Shade)]
    parts = [*shades, _grid(place)]
    if place.clipped:
        box = f"{_u(left)} {_u(top)} {_u(place.width)} {_u(place.height)}"
        x, y, width, height = box.split()
        parts.append(f'<svg x="{x}" y="{y}" width="{width}" height="{height}" viewBox="{box}">{"".join(layers)}</svg>')
    else:
        parts += layers
    axes = f"M{_u(left)} {_u(top)}V{_u(bottom)}H{_u(right)}"
    parts.append(f'<path d="{axes}" fill="none" stroke="{color("axis")}" stroke-width="8"/>')
    if panel.note:
        middle = _text(
            left + place.width / 2, top + place.height / 2, panel.note, ' text-anchor="middle" font-style="italic"'
        )
        parts.append(middle)
    parts += [_strip(strip, place, place.strip_top(number)) for number, strip in enumerate(panel.strips)]
    parts.append(_tick_words(place))
    return parts


def _grid(place: Place) -> str:
    """Lines at the ticks; that at zero is darker."""
    panel, across, zero = place.panel, "", ""
    if panel.y.grid:
        for value, _ in place.yticks:
            line = f"M{_u(place.left)} {_u(place.py(value))}H{_u(place.right)}"
            across, zero = (across, line) if value == 0.0 else (across + line, zero)
    if panel.x.grid:
        for value, _ in place.xticks:
            across += f"M{_u(place.px(value))} {_u(place.top)}V{_u(place.bottom)}"
    return "".join(
        f'<path d="{data}" stroke="{color(name)}" stroke-width="7"/>'
        for data, name in ((across, "grid"), (zero, "axis"))
        if data
    )


def _tick_words(place: Place) -> str:
    beside = [
        _text(place.left - TICK_GAP, float(place.py(value)) + _BASELINE * SMALL, words, ' text-anchor="end"')
        for value, words in place.yticks
    ]
    below = [
        _text(float(place.px(value)), place.below + 14.5 + 13.5 * number, line, ' text-anchor="middle"')
        for value, words in place.xticks
        for number, line in enumerate(words.split("\n"))
    ]
    return f'<g font-size="{_u(SMALL)}">{"".join(beside + below)}</g>'


def _layer(layer: Layer, place: Place) -> str:
    match layer:
        case Line():
            data = path_data(10.0 * place.px(layer.x), 10.0 * place.py(layer.y))
            pen = _pen(layer.color, layer.width, layer.dash, layer.opacity)
            return f'<path d="{data}" fill="none" stroke-linejoin="round"{pen}/>' if data else ""
        case Area():
            data = area_data(10.0 * place.px(layer.x), 10.0 * place.py(layer.low), 10.0 * place.py(layer.high))
            return f'<path d="{data}" fill="{color(layer.color)}"{_faint(layer.opacity)}/>' if data else ""
        case Bars():
            return _bars(layer, place)
        case Points():
            known = np.isfinite(layer.x) & np.isfinite(layer.y)
            dots = zip(place.px(layer.x[known]), place.py(layer.y[known]), strict=True)
            radius = f'r="{_u(layer.size / 2)}" fill="{color(layer.color)}"'
            return "".join(f'<circle cx="{_u(x)}" cy="{_u(y)}" {radius}/>' for x, y in dots)
        case Outline():
            corners = np.stack([10.0 * place.px(layer.points[:, 0]), 10.0 * place.py(layer.points[:, 1])], axis=1)
            data = "M" + " ".join(map(str, np.rint(corners).astype(np.int64).reshape(-1).tolist())) + "Z"
            fill = color(layer.fill) if layer.fill else "none"
            return f'<path d="{data}" fill="{fill}"{_pen(layer.color, layer.width, layer.dash, layer.opacity)}/>'
        case Shade():
            return _shade(layer, place)
        case Rule():
            return _rule(layer, place)
        case Text():
            anchor = f' text-anchor="{layer.anchor}"' if layer.anchor != "start" else ""
            style = f' font-size="{_u(SMALL)}" fill="{color(layer.color)}"'
            return _text(float(place.px(layer.x)), float(place.py(layer.y)), layer.words, anchor + style)


def path_data(px: FloatArray, py: FloatArray) -> str:
    """The `d` of polylines: px (n,), py (..., n) in drawing units; a gap where either is NaN."""
    known = np.isfinite(py.reshape(-1, py.shape[-1])) & np.isfinite(px)
    points = np.empty((*known.shape, 2), dtype=np.int64)
    points[..., 0] = np.rint(np.where(np.isfinite(px), px, 0.0))
    points[..., 1] = np.rint(np.where(known, py.reshape(known.shape), 0.0))
    whole = known.all(axis=1)
    parts = []
    # Steps from point to point take half the letters of places.
    steps = np.concatenate([points[whole, :1], np.diff(points[whole], axis=1)], axis=1)
    for curve in steps.reshape(len(steps), 2 * known.shape[1]).tolist():
        parts.append(_polyline(curve))
    for curve_points, there in zip(points[~whole], known[~whole], strict=True):
        for start, end in runs(there):
            run = curve_points[start:end]
            parts.append(_polyline(np.concatenate([run[:1], np.diff(run, axis=0)]).reshape(-1).tolist()))
    return "".join(parts)


def _polyline(steps: list[int]) -> str:
    """Place of the first point, then the steps to the next ones."""
    words = list(map(str, steps))
    if not words:
        return ""
    return f"M{words[0]} {words[1]}" + (f"l{' '.join(words[2:])}" if len(words) > 2 else "h0")


def area_data(px: FloatArray, low: FloatArray, high: FloatArray) -> str:
    """The `d` of what lies between two curves (n,), a piece for every run without a gap."""
    px, data = np.rint(px).astype(np.int64), ""
    for start, end in runs(np.isfinite(low) & np.isfinite(high)):
        across = np.concatenate([px[start:end], px[start:end][::-1]])
        up = np.rint(np.concatenate([high[start:end], low[start:end][::-1]])).astype(np.int64)
        steps = np.diff(np.stack([across, up], axis=1), axis=0).reshape(-1).tolist()
        data += f"M{across[0]} {up[0]}l{' '.join(map(str, steps))}Z"
    return data


def _bars(bars: Bars, place: Place) -> str:
    along, across = (place.py, place.px) if bars.lying else (place.px, place.py)
    half = abs(float(along(bars.width)) - float(along(0.0))) / 2.0
    hue = color(bars.color)
    style = f'fill="none" stroke="{hue}" stroke-width="10"' if bars.outline else f'fill="{hue}"'
    data, whiskers = "", ""
    for i in bars.drawn:
        at, ends = float(along(bars.at[i])), sorted((float(across(bars.base[i])), float(across(bars.top[i]))))
        x, y = ((ends[0], at - half), (at - half, ends[0]))[not bars.lying]
        wide, high = ((ends[1] - ends[0], 2.0 * half), (2.0 * half, ends[1] - ends[0]))[not bars.lying]
        data += f"M{_u(x)} {_u(y)}h{_u(wide)}v{_u(high)}h{_u(-wide)}z"
        if bars.error is not None and np.isfinite(bars.error[i]):
            a, b = (_u(across(bars.top[i] + sign * bars.error[i])) for sign in (-1.0, 1.0))
            whiskers += f"M{a} {_u(at)}H{b}" if bars.lying else f"M{_u(at)} {a}V{b}"
    drawn = f'<path d="{data}" {style}/>' if data else ""
    return drawn + (f'<path d="{whiskers}" stroke="{INK}" stroke-width="9"/>' if whiskers else "")


def _shade(shade: Shade, place: Place) -> str:
    data = ""
    for start, end in shade.spans:
        if shade.along == "x":
            a, b = (min(max(float(place.px(edge)), place.left), place.right) for edge in (start, end))
            data += f"M{_u(a)} {_u(place.top)}H{_u(b)}V{_u(place.bottom)}H{_u(a)}z"
        else:
            a, b = (min(max(float(place.py(edge)), place.top), place.bottom) for edge in (start, end))
            data += f"M{_u(place.left)} {_u(a)}V{_u(b)}H{_u(place.right)}V{_u(a)}z"
    return f'<path d="{data}" fill="{color(shade.color)}"/>' if data else ""


def _rule(rule: Rule, place: Place) -> str:
    limits = place.xlim if rule.along == "x" else place.ylim
    if not limits[0] <= rule.at <= limits[1]:
        return ""
    if rule.along == "x":
        data = f"M{_u(place.px(rule.at))} {_u(place.top)}V{_u(place.bottom)}"
    else:
        data = f"M{_u(place.left)} {_u(place.py(rule.at))}H{_u(place.right)}"
    return f'<path d="{data}"{_pen(rule.color, rule.width, rule.dash, rule.opacity)}/>'


def _strip(strip: Strip, place: Place, top: float) -> str:
    height = _u(STRIP_HEIGHT)
    base = top + 0.5 * STRIP_HEIGHT + _BASELINE * SMALL
    parts = [
        f'<rect x="{_u(place.left)}" y="{_u(top)}" width="{_u(place.width)}" height="{height}" fill="{color("grid")}"/>',
        _text(place.left - 4.5, base, strip.label, f' text-anchor="end" font-size="{_u(SMALL)}"'),
    ]
    for span in strip.spans:
        x, wide = place.strip_span(span)
        fill = color(span.color or strip.color)
        parts.append(
            f'<rect x="{_u(x)}" y="{_u(top)}" width="{_u(wide)}" height="{height}" fill="{fill}">'
            f"<title>{escape(span.words)}</title></rect>"
        )
    return "".join(parts)


def _key_row(row: KeyRow) -> str:
    base = row.y + _BASELINE * TEXT
    parts = [_text(row.title_left, base, row.title, f' font-weight="600" fill="{INK}"')] if row.title else []
    for key, left in row.keys:
        parts.append(_sample(key, left, row.y) + _text(key_words_left(left), base, key.words, f' fill="{INK}"'))
    return "".join(parts)


def _sample(key: Key, x: float, y: float) -> str:
    if key.kind == "line":
        dot = f'<circle cx="{_u(x + SAMPLE / 2)}" cy="{_u(y)}" r="25" fill="{color(key.color)}"/>' if key.point else ""
        return f'<path d="M{_u(x)} {_u(y)}h{_u(SAMPLE)}"{_pen(key.color, key.width, key.dash, key.opacity)}/>{dot}'
    box = f'<rect x="{_u(x)}" y="{_u(y - 5.0)}" width="{_u(SAMPLE)}" height="100"'
    if key.kind == "outline":
        return f'{box} fill="none" stroke="{color(key.color)}" stroke-width="10"/>'
    return f'{box} fill="{color(key.color)}"{_faint(key.opacity)}/>'


def _pen(name: str, width: float, dash: Dash, opacity: float) -> str:
    dashes = f' stroke-dasharray="{" ".join(f"{10.0 * part:g}" for part in dash)}"' if dash else ""
    return f' stroke="{color(name)}" stroke-width="{10.0 * width:g}"{dashes}{_faint(opacity)}'


def _faint(opacity: float) -> str:
    return f' opacity="{opacity:g}"' if opacity != 1.0 else ""


def _text(x: float, y: float, words: str, attributes: str = "") -> str:
    return f'<text x="{_u(x)}" y="{_u(y)}"{attributes}>{escape(words)}</text>'


def _u(pixels: float | FloatArray) -> int:
    """Pixels in whole units."""
    return round(10.0 * float(pixels))
