"""A trial's result on paper: three or four A4 pages as PDF, curves as vectors, every name as plain text.

In: the view of a result, and what the laboratory writes at the head of its pages. Out: the bytes of a PDF. Needs the extra
`pdf` (fpdf2 sets the text, pypdf puts the drawn figures into the page). Page 1 says whose walk it is, the verdict with what
decided it, and the spatio-temporal parameters; page 2 holds the curves over the gait cycle; then come checks and warnings.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.diagnostics import STATUS_WORDS
from biodyn.errors import ResultError, SettingsError, printable
from biodyn.library.load import nearest, read_user_toml
from biodyn.output.figures.description import Figure, Panel
from biodyn.output.figures.letters import FONT_FILES, font_file, letters
from biodyn.output.report.sections.gait import parameter_rows
from biodyn.output.report.view import TrialView

if TYPE_CHECKING:
    from fpdf import FPDF

#: The figures of page 2, from above.
_CURVES = ("joint_angles", "joint_torques", "joint_powers")
# A4 in mm; text begins at the margin, figures below the heading of their page.
_WIDTH, _HEIGHT, _MARGIN, _TOP, _BOTTOM = 210.0, 297.0, 15.0, 26.0, 18.0
_FONT = "DejaVuSans"
_CHECK_PAGES = 2
_LONGEST_NAME, _LONGEST = 160, 1200  # letters
# Size of the letters in points, and how many entries of a list are told: what does not fit is set smaller, then left to the page.
_TRIED = (*((size, 1000) for size in (9.0, 8.0, 7.0, 6.0)), *((6.0, most) for most in (20, 10, 5)))
_MM_A_POINT = 25.4 / 72.0


@dataclass(frozen=True)
class PaperHead:
    """What a laboratory writes at the head of its pages; empty lines are left out."""

    laboratory: str = ""
    address: str = ""
    contact: str = ""


def read_head(path: str | Path) -> PaperHead:
    """Read a laboratory's head from TOML: laboratory, address, contact, each a text.

    Raises SettingsError for a file that cannot be read, and for an entry that is unknown or no text.
    """
    given = read_user_toml(path, "head of the pages", SettingsError).content
    known = [field.name for field in fields(PaperHead)]
    for name, value in given.items():
        if name not in known:
            raise SettingsError(f"'{path}' has an unknown entry '{name}'.", nearest(name, known))
        if not isinstance(value, str):
            raise SettingsError(f"'{name}' of '{path}' is no text.", f'Write {name} = "...".')
    return PaperHead(**given)


@dataclass(frozen=True)
class _Style:
    size: float
    most: int


def paper(view: TrialView, head: PaperHead | None = None) -> bytes:
    """Return the pages of a result as PDF.

    Raises ResultError where the libraries for it are not installed.
    """
    try:
        import fpdf  # noqa: F401
        import pypdf
    except ImportError as error:
        raise ResultError("A PDF needs the libraries fpdf2 and pypdf.", "pip install 'biodyn[pdf]'") from error
    head = head or PaperHead()
    curves = _curves(view)
    for size, most in _TRIED:
        pages, fits = _document(view, head, _Style(size, most), curves is not None)
        if fits:
            break
    else:
        raise ResultError(f"The checks of '{view.record['input']['file']}' do not fit on the pages.")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(bytes(pages.output())))
    if curves is not None:
        _place(writer.pages[1], pypdf.PdfReader(io.BytesIO(_drawing(curves))).pages[0])
    writer.compress_identical_objects()
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _document(view: TrialView, head: PaperHead, style: _Style, curves: bool) -> tuple[FPDF, bool]:
    """All text in a style, and whether it keeps to its pages."""
    record = view.record
    pages = _pages(record)
    pages.add_page()
    _head(pages, head)
    _person(pages, record, style.size)
    _verdict(pages, record, style)
    _parameters(pages, view, style.size)
    fits = pages.page_no() == 1
    if curves:
        pages.add_page()
        _title(pages, "Angles, moments and powers over the gait cycle")
    pages.add_page()
    first = pages.page_no()
    _checks(pages, record, style)
    return pages, fits and pages.page_no() < first + _CHECK_PAGES


def _pages(record: Mapping[str, Any]) -> FPDF:
    from fpdf import FPDF

    foot = f"{record['input']['file']} · biodyn {record['versions']['biodyn']}"

    class Pages(FPDF):
        """Every page says at its foot what it belongs to."""

        def footer(self) -> None:
            self.set_y(-12)
            self.set_font(_FONT, size=7)
            self.cell(_WIDTH - 2 * _MARGIN - 20, 5, _short(self, _plain(foot, _LONGEST_NAME)))
            self.cell(20, 5, f"{self.page_no()} / {{nb}}", align="R")

    pages = Pages(format="A4")
    for style in FONT_FILES:
        pages.add_font(_FONT, style, font_file(style))
    pages.set_margins(_MARGIN, _MARGIN, _MARGIN)
    pages.set_auto_page_break(True, _BOTTOM)
    pages.set_title(_plain(f"{record['subject']['name']}, {record['input']['file']}", _LONGEST_NAME))
    pages.set_creator("biodyn")
    return pages


def _plain(text: object, longest: int = _LONGEST) -> str:
    """Text that can be set: one line, of a bearable length, letters that the font lacks as their numbers (`\\u5f20`)."""
    words = printable(" ".join(str(text).split()))
    words = words if len(words) <= longest else f"{words[:longest]}…"
    return "".join(letter if ord(letter) in letters() else _number(letter) for letter in words)


def _number(letter: str) -> str:
    return letter.encode("ascii", "backslashreplace").decode()


def _short(pages: FPDF, text: str) -> str:
    """A line that keeps to the foot of the page."""
    room = _WIDTH - 2 * _MARGIN - 22
    if pages.get_string_width(text) <= room:
        return text
    while text and pages.get_string_width(f"{text}…") > room:
        text = text[:-1]
    return f"{text}…"


def _paragraph(pages: FPDF, text: str, size: float, style: str = "") -> None:
    pages.set_font(_FONT, style, size)
    pages.multi_cell(0, size * 0.47, text, align="L", new_x="LMARGIN", new_y="NEXT")


def _title(pages: FPDF, text: str, size: float = 11.0) -> None:
    pages.ln(2)
    _paragraph(pages, text, size, "B")
    pages.ln(1)


def _head(pages: FPDF, head: PaperHead) -> None:
    for line, size, style in ((head.laboratory, 13.0, "B"), (head.address, 8.0, ""), (head.contact, 8.0, "")):
        if line.strip():
            _paragraph(pages, _plain(line, _LONGEST_NAME), size, style)
    if any(part.strip() for part in (head.laboratory, head.address, head.contact)):
        pages.ln(2)
        pages.line(_MARGIN, pages.get_y(), _WIDTH - _MARGIN, pages.get_y())


def _person(pages: FPDF, record: Mapping[str, Any], size: float) -> None:
    subject, given, activity = record["subject"], record["input"], record.get("activity") or {}
    _title(pages, _plain(subject["name"], _LONGEST_NAME), 15.0)
    kind = f"{activity['kind']}, " if activity.get("kind") else ""
    lines = (
        f"{given['file']}: {kind}{given['duration_s']:.2f} s at {given['rate_hz']:g} Hz",
        f"Body mass {subject['mass_kg']:.1f} kg ({subject['mass_source']}), "
        f"body height {subject['height_m']:.2f} m ({subject['height_source']})",
        f"Computed by biodyn {record['versions']['biodyn']}; skeleton: {record['model']['title']}. "
        "Methods, sources and every number: report.html, run.json and tables/ of the result.",
    )
    for line in lines:
        _paragraph(pages, _plain(line), size)


def _verdict(pages: FPDF, record: Mapping[str, Any], style: _Style) -> None:
    _title(pages, f"Verdict: {STATUS_WORDS[record['verdict']]}", 13.0)
    _list(pages, [_told(cause) for cause in record["verdict_checks"]], style)
    if record["verdict"] == "pass":
        _paragraph(pages, "No check objects.", style.size)


def _list(pages: FPDF, texts: Sequence[str], style: _Style) -> None:
    """Sentences below each other; how many were left out is said."""
    for text in texts[: style.most]:
        _paragraph(pages, _plain(text), style.size)
        pages.ln(0.8)
    if len(texts) > style.most:
        _paragraph(pages, f"{len(texts) - style.most} more stand in report.html.", style.size, "B")


def _told(check: Mapping[str, Any]) -> str:
    return f"{STATUS_WORDS[check['status']]}: {check['title']}: {check['text']} {check.get('hint') or ''}".strip()


def _parameters(pages: FPDF, view: TrialView, size: float) -> None:
    from fpdf.fonts import FontFace

    rows = parameter_rows(view.tables["spatiotemporal"])
    _title(pages, "Spatio-temporal parameters")
    if not rows:
        _paragraph(pages, "There is no gait cycle in this trial.", size)
        return
    pages.set_font(_FONT, size=size)
    with pages.table(
        col_widths=(80, 40, 30, 30),
        text_align=("LEFT", "LEFT", "RIGHT", "RIGHT"),
        line_height=size * 0.55,
        borders_layout="HORIZONTAL_LINES",
        headings_style=FontFace(emphasis="BOLD"),
    ) as table:
        table.row(("", "unit", *(SIDE_NAMES[side] for side in SIDES)))
        for row in rows:
            table.row((row["label"], row["unit"], *(_mean(row[side]) for side in SIDES)))
    _paragraph(pages, "Mean ± standard deviation over the cycles.", size - 1.5)


def _mean(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return "–"
    return f"{value['mean']} ± {value['sd']}" if value["sd"] else str(value["mean"])


def _checks(pages: FPDF, record: Mapping[str, Any], style: _Style) -> None:
    _title(pages, "All checks")
    _list(pages, [_told(check) for check in record["checks"]], style)
    warnings = [note for note in record["diagnostics"] if note["severity"] != "info"]
    if warnings:
        _title(pages, "Warnings")
        _list(pages, [f"{note['message']} {note.get('hint') or ''}" for note in warnings], style)


def _curves(view: TrialView) -> Figure | None:
    """The figures over the gait cycle as one grid with one legend; None where there is none."""
    figures = [view.figures[name] for name in _CURVES if name in view.figures]
    if not figures:
        return None
    columns = figures[0].columns
    panels: list[Panel | None] = []
    for figure in figures:
        panels += [*figure.panels, *[None] * (-len(figure.panels) % columns)]
    keys = dict.fromkeys(key for figure in figures for key in figure.keys)
    return replace(figures[0], panels=tuple(panels), keys=tuple(keys))


def _drawing(figure: Figure) -> bytes:
    """A figure as a page of its own size."""
    from biodyn.output.figures.matplotlib_backend import draw

    stream = io.BytesIO()
    draw(figure).savefig(stream, format="pdf", metadata={"CreationDate": None})
    return stream.getvalue()


def _place(page: Any, drawing: Any) -> None:
    """Put a drawing below the heading of a page, as wide as the text, or smaller where the page is not high enough."""
    from pypdf import Transformation

    width, height = float(drawing.mediabox.width), float(drawing.mediabox.height)
    top = (_HEIGHT - _TOP) / _MM_A_POINT
    scale = min((_WIDTH - 2 * _MARGIN) / _MM_A_POINT / width, (top - _BOTTOM / _MM_A_POINT) / height)
    left = (_WIDTH / _MM_A_POINT - scale * width) / 2
    page.merge_transformed_page(drawing, Transformation().scale(scale).translate(left, top - scale * height))
