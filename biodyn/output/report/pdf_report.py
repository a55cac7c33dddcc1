"""Elements of PDF reports: head, paragraphs, lists, tables, grid of curves, figures. Requires the extra `pdf` (fpdf2).

In: the content of a report (`trial_pdf`, and those of sessions and studies), and the head of the laboratory. Out: the
bytes of a PDF; long lists are shortened, with the number of omitted entries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.diagnostics import STATUS_WORDS
from biodyn.errors import ResultError, SettingsError
from biodyn.library.toml_files import read_user_toml, suggest_name
from biodyn.output.figures.curves import cycle_keys, display_table
from biodyn.output.figures.description import Figure, Key
from biodyn.output.figures.drawing import SMALL_HEIGHT, SMALL_WIDTH
from biodyn.output.figures.pdf import draw_in_pdf, draw_legend_in_pdf, draw_small_panel_in_pdf
from biodyn.output.figures.style import (
    AXIS,
    FONT,
    apply_side_colors,
    displayable_text,
    font_file,
    report_setting,
    shorten_text,
)
from biodyn.output.figures.svg import Described, standard_page_rows, standard_page_variables
from biodyn.output.figures.trial import TrialView
from biodyn.output.report.page import Fact
from biodyn.output.report.sections.curves import cycle_counts_text, describe_panel, unmeasured_segments
from biodyn.output.report.sections.gait import compare_with_norms, parameter_rows
from biodyn.output.report.sections.verdict import verdict_sentence
from biodyn.output.report.trial_page import TrialPage, analysis_facts, head_facts

if TYPE_CHECKING:
    from fpdf import FPDF


def trial_pdf(view: TrialView, head: Letterhead | None = None) -> bytes:
    """Return the report of a result as PDF.

    Raises ResultError if the PDF library is not installed.
    """
    record, page = view.record, TrialPage(view, {})
    file = record["input"]["file"]

    def write_pages(paper: PdfWriter) -> None:
        paper.begin_page()
        _write_first_page(paper, page)
        _write_curve_pages(paper, page)
        paper.begin_page()
        _write_emg(paper, page)
        _write_norm_table(paper, page)
        _write_check_list(paper, page)
        paper.draw_signature_line()

    foot = f"{file} · biodyn {record['versions']['biodyn']}"
    title = f"{record['subject']['name']}, {file}"
    return typeset_pages(title, foot, head or Letterhead(), write_pages, report_setting(record, "colors"))


def _write_first_page(paper: PdfWriter, page: TrialPage) -> None:
    """Write subject, verdict with its causes, spatio-temporal parameters, and inputs of the analysis."""
    record = page.record
    paper.write_letterhead()
    paper.write_title(record["subject"]["name"], 15.0)
    paper.write_facts(head_facts(page))
    paper.write_title(f"Verdict: {STATUS_WORDS[record['verdict']]}", 13.0)
    paper.write_paragraph(verdict_sentence(record))
    paper.write_list([check_sentence(cause) for cause in record.get("verdict_checks") or ()])
    paper.write_title("Spatio-temporal parameters")
    _write_parameter_table(paper, page)
    paper.write_title("How it was computed")
    paper.write_facts(analysis_facts(page), with_head=False)
    paper.write_paragraph(
        "Methods, sources and every number: report.html, run.json and tables/ of the result.", smaller=1.0
    )


def _write_parameter_table(paper: PdfWriter, page: TrialPage) -> None:
    rows = parameter_rows(page.tables["spatiotemporal"])
    if not rows:
        paper.write_paragraph("No gait cycle was found in this trial.")
        return
    heads = ("", "unit", *(f"#{SIDE_NAMES[side]}" for side in SIDES))
    cells = [(row["label"], row["unit"], *(_mean_text(row[side]) for side in SIDES)) for row in rows]
    paper.write_table(heads, cells, (80, 40, 30, 30))
    counts = ", ".join(f"{SIDE_NAMES[side]} {page.cycle_counts[side]}" for side in SIDES)
    paper.write_paragraph(f"Mean ± standard deviation over the cycles ({counts}).", smaller=1.5)


def _mean_text(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return "–"
    return f"{value['mean']} ± {value['sd']}" if value["sd"] else str(value["mean"])


def _write_curve_pages(paper: PdfWriter, page: TrialPage) -> None:
    """Write the standard page; without gait cycles, the figures over time."""
    values = page.view
    known = [name for name in standard_page_variables() if name in page.curves]
    if known:
        shaded = " Shaded: one standard deviation of the input errors." if set(known) & set(values.bands) else ""
        normed = any(name in norms.curves for norms in values.norms for name in known)
        below = (
            f"0 and 100 %: foot strike. Thick: mean, thin: single cycles ({cycle_counts_text(page.curves)}).{shaded} Moments are "
            "internal net moments, normalised to body mass."
        )
        if unmeasured := unmeasured_segments(page):
            below += f" Segments without markers have no angles here: {unmeasured}."
        if not normed:
            below += f" {' '.join(values.norm_reasons)}"
        paper.draw_curve_grid(
            "Motion and loads over the gait cycle", known, lambda name: describe_panel(page, name),
            cycle_keys(known, values.norms), below,
        )  # fmt: skip
        return
    names = [entry["name"] for entry in display_table()["figure"]]
    figures = [page.view.figures[name] for name in names if name in page.view.figures]
    if figures:
        paper.begin_page()
        paper.write_title("Angles, moments and powers over time")
    for count, figure in zip(range(len(figures), 0, -1), figures, strict=True):
        paper.draw_figure(figure, paper.remaining_height / count)


#: Explanation below tables with norms.
ARROWS = "↑ ↓: outside the range of 95 % of the subjects of the norm."


def _write_emg(paper: PdfWriter, page: TrialPage) -> None:
    """Draw the EMG of the muscles, if any was recognised."""
    figure = page.view.figures.get("emg")
    if figure is not None:
        paper.write_title(figure.title)
        paper.draw_figure(figure, 0.9 * paper.remaining_height)  # the caption is below
        paper.write_paragraph(figure.caption, smaller=1.5)


def _write_norm_table(paper: PdfWriter, page: TrialPage) -> None:
    """Write the comparison of parameters with norms, and the sources of the norms; nothing without norms."""
    values = page.view
    if not values.norms:
        return
    rows = [row for row in compare_with_norms(page) if row.norm is not None]
    paper.write_title("Against norms")
    for reason in values.norm_reasons:
        paper.write_paragraph(reason)
    if rows:
        heads = ("", "unit", *(f"#{SIDE_NAMES[side]}" for side in SIDES), "#norm (95 % range)", "norm of")
        cells = [(row.title, row.unit_text, *map(row.text, SIDES), row.norm_text, row.source) for row in rows]
        paper.write_table(heads, cells, (58, 24, 16, 16, 40, 26))
        if any("↑" in text or "↓" in text for cell in cells for text in cell):
            paper.write_paragraph(ARROWS, smaller=1.5)
    for group in values.norms:
        paper.write_paragraph(f"{group.description}: {group.citation}. Licence: {group.licence}.", smaller=1.5)


def _write_check_list(paper: PdfWriter, page: TrialPage) -> None:
    """Write all checks and warnings."""
    record = page.record
    paper.write_title("All checks")
    paper.write_list([check_sentence(check) for check in record["checks"]])
    warnings = [note for note in record["diagnostics"] if note["severity"] != "info"]
    if warnings:
        paper.write_title("Warnings")
        paper.write_list([f"{note['message']} {note.get('hint') or ''}" for note in warnings])


@dataclass(frozen=True)
class Letterhead:
    """Head of the pages of a laboratory; empty lines are omitted.

    Attributes:
        laboratory, address, contact: lines of the head. entries: texts on the person and the referral, by label.
        signed_by: name for the signature at the end.
    """

    laboratory: str = ""
    address: str = ""
    contact: str = ""
    entries: Mapping[str, str] = field(default_factory=dict)
    signed_by: str = ""


def read_letterhead(path: str | Path) -> Letterhead:
    """Read the letterhead from TOML: texts laboratory, address, contact, signed_by, and a table [entries] of texts.

    Raises SettingsError for an unreadable file, and for an entry that is unknown or not a text.
    """
    given = read_user_toml(path, "head of the pages", SettingsError).content
    known = [field.name for field in fields(Letterhead)]
    for name, value in given.items():
        if name not in known:
            raise SettingsError(f"'{path}' has an unknown entry '{name}'.", suggest_name(name, known))
        if name == "entries":
            _require_texts(value, path)
        elif not isinstance(value, str):
            raise SettingsError(f"'{name}' of '{path}' is not a text.", f'Write {name} = "...".')
    return Letterhead(**given)


def requested_letterhead(pdf: bool, head: str | Path | None) -> Letterhead | None:
    """Return the letterhead if a PDF is requested, else None; called before any work is done.

    Raises SettingsError for a letterhead without a PDF, ResultError if the PDF library is not installed.
    """
    if not pdf:
        if head is not None:
            raise SettingsError("--head applies only to the PDF report.", "Add --pdf.")
        return None
    require_pdf_library()
    return Letterhead() if head is None else read_letterhead(head)


def is_biodyn_pdf(page: Path) -> bool:
    """Return True for a PDF that biodyn wrote, according to its properties."""
    try:
        content = page.read_bytes()
    except OSError:
        return False
    return content.startswith(b"%PDF") and b"/Creator (biodyn)" in content


def require_pdf_library() -> None:
    """Raise ResultError if the PDF library is not installed."""
    if find_spec("fpdf") is None:
        raise ResultError("A PDF requires the package fpdf2, which is not installed.", "pip install 'biodyn[pdf]'")


def _require_texts(table: object, path: str | Path) -> None:
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise SettingsError(
            f"[entries] of '{path}' is not a table of texts.", 'Write "Referred by" = "..." under [entries].'
        )
    if len(table) > 12:
        raise SettingsError(f"[entries] of '{path}' has {len(table)} lines; the head has room for 12.")


# A4, mm
_MARGIN, _BOTTOM = 15.0, 16.0
_LONGEST_NAME = 160  # number of letters
_SIZE = 8.0  # font size, points
_MOST_ENTRIES = 40  # of a list
_LINE = 0.47  # line spacing in mm per point of font size


def typeset_pages(
    title: str, foot: str, head: Letterhead, write: Callable[[PdfWriter], None], colors: str = ""
) -> bytes:
    """Return the PDF written by `write`.

    `title`: title of the file; `foot`: text below every page; `colors`: as in [report] colors. Raises ResultError if the PDF
    library is not installed.
    """
    require_pdf_library()
    paper = PdfWriter(_new_pdf(title, foot), head, colors)
    write(paper)
    return bytes(paper.pages.output())


def _new_pdf(title: str, foot: str) -> FPDF:
    from fpdf import FPDF

    class Pages(FPDF):
        """PDF pages with a footer that identifies the result."""

        def footer(self) -> None:
            self.set_y(-11)
            self.set_font(FONT, size=7)
            room = self.epw - 20
            self.cell(room, 5, shorten_text(displayable_text(foot, _LONGEST_NAME), room - 2, self.font_size))
            self.cell(20, 5, f"{self.page_no()} / {{nb}}", align="R")

    pages = Pages(format="A4")
    for style in ("", "B"):
        pages.add_font(FONT, style, font_file(style))
    pages.set_auto_page_break(True, _BOTTOM)
    pages.set_margins(_MARGIN, _MARGIN, _MARGIN)
    pages.c_margin = 0.0
    pages.set_draw_color(AXIS)
    pages.set_title(displayable_text(title, _LONGEST_NAME))
    pages.set_creator("biodyn")
    return pages


@dataclass(frozen=True)
class PdfWriter:
    """Pages of a PDF."""

    pages: FPDF
    head: Letterhead
    colors: str = ""

    def begin_page(self, *, landscape: bool = False) -> None:
        """Begin a page."""
        margin = 10.0 if landscape else _MARGIN
        self.pages.add_page("landscape" if landscape else "portrait")
        self.pages.set_margins(margin, margin, margin)  # set after the footer of the previous page
        self.pages.set_xy(margin, margin)

    def write_letterhead(self) -> None:
        """Write the lines of the laboratory above a rule."""
        head = self.head
        for line, size, style in ((head.laboratory, 13.0, "B"), (head.address, 8.0, ""), (head.contact, 8.0, "")):
            if line.strip():
                self._write_line(displayable_text(line, _LONGEST_NAME), size, style)
        if any(part.strip() for part in (head.laboratory, head.address, head.contact)):
            pages = self.pages
            pages.ln(2)
            pages.line(pages.l_margin, pages.get_y(), pages.w - pages.r_margin, pages.get_y())

    @property
    def width_in_letters(self) -> float:
        """Width of the text area, in font sizes."""
        return float(self.pages.epw / (_SIZE * 25.4 / 72.0))

    @property
    def remaining_height(self) -> float:
        """Remaining height of the page, mm."""
        return float(self.pages.h - _BOTTOM - self.pages.get_y())

    def write_facts(self, facts: Sequence[Fact], *, with_head: bool = True) -> None:
        """Set labels and values in two columns, optionally after the entries of the head."""
        pages = self.pages
        above = [(label, text) for label, text in self.head.entries.items() if with_head and text.strip()]
        shown = [*above, *((fact.label, f"{fact.value} ({fact.note})" if fact.note else fact.value) for fact in facts)]
        with pages.table(
            col_widths=(24, 66, 24, 66) if len(shown) > 1 else (24, 156),
            line_height=_SIZE * _LINE,
            borders_layout="NONE",
            first_row_as_headings=False,
            text_align="LEFT",
            padding=(0.2, 1.0, 0.2, 0.0),
            v_align="TOP",
        ) as table:
            half = -(-len(shown) // 2)
            pairs = list(zip(shown[:half], [*shown[half:], ("", "")][:half], strict=True)) if half > 1 else [shown]
            for pair in pairs:
                row = table.row()
                for label, text in pair:
                    pages.set_font(FONT, size=_SIZE - 1.0)
                    pages.set_text_color(90)
                    row.cell(displayable_text(label, _LONGEST_NAME))
                    pages.set_font(FONT, size=_SIZE)
                    pages.set_text_color(0)
                    row.cell(displayable_text(text, 2 * _LONGEST_NAME))

    def write_title(self, text: str, size: float = 11.0) -> None:
        """Write a heading."""
        self.pages.ln(2)
        self._write_line(displayable_text(text, _LONGEST_NAME), size, "B")
        self.pages.ln(1)

    def write_paragraph(self, text: str, *, smaller: float = 0.0, bold: bool = False) -> None:
        """Write a paragraph."""
        self._write_line(displayable_text(text), _SIZE - smaller, "B" if bold else "")

    def write_list(self, texts: Sequence[str]) -> None:
        """Write a list of sentences, with the number of omitted ones."""
        for text in texts[:_MOST_ENTRIES]:
            self.write_paragraph(text)
            self.pages.ln(0.8)
        if len(texts) > _MOST_ENTRIES:
            self.write_paragraph(f"{len(texts) - _MOST_ENTRIES} more entries: see report.html.", bold=True)

    def write_table(self, heads: Sequence[str], rows: Sequence[Sequence[object]], widths: Sequence[float]) -> None:
        """Write a table with the width of the page; columns with a title that starts with "#" are right-aligned."""
        from fpdf.fonts import FontFace

        pages = self.pages
        pages.ln(0.8)
        pages.set_font(FONT, size=_SIZE)
        least = 0.03 * sum(widths)  # narrower columns have no room for a letter
        with pages.table(
            col_widths=tuple(max(width, least) for width in widths),
            text_align=tuple("RIGHT" if head.startswith("#") else "LEFT" for head in heads),
            line_height=_SIZE * _LINE,
            borders_layout="HORIZONTAL_LINES",
            headings_style=FontFace(emphasis="BOLD"),
            padding=(0.2, 0.8),
        ) as table:
            table.row([head.removeprefix("#") for head in heads])
            for row in rows:
                table.row([displayable_text(cell, 2 * _LONGEST_NAME) for cell in row])
        pages.ln(0.8)

    def draw_curve_grid(
        self, title: str, known: Collection[str], describe: Callable[[str], Described], keys: Sequence[Key], below: str
    ) -> None:
        """Set the standard grid with its legend on a landscape page; `below`: explanation of the curves."""
        self.begin_page(landscape=True)
        self.write_title(title, 10.0)
        pages = self.pages
        x0, top, width = pages.l_margin, pages.get_y(), pages.epw
        halves = _pair_rows(standard_page_rows(known))
        gap, text_size, text = 4.0, _SIZE - 1.5, displayable_text(below)
        columns = 6 if any(loads is not None for _, loads in halves) else 3
        pages.set_font(FONT, size=text_size)
        text_height = cast(float, pages.multi_cell(0, text_size * _LINE, text, dry_run=True, output="HEIGHT"))
        room = pages.h - _BOTTOM - top - 8.0 - text_height  # without legend and text below
        scale = min((width - gap) / columns / SMALL_WIDTH, room / len(halves) / SMALL_HEIGHT)
        across, down = scale * SMALL_WIDTH, min(room / len(halves), 1.15 * scale * SMALL_HEIGHT)  # space between rows
        for number, pair in enumerate(halves):
            for half, row in enumerate(pair):
                for place, name in enumerate(() if row is None else row[2]):
                    if name:
                        x = x0 + half * (3 * across + gap) + place * across
                        draw_small_panel_in_pdf(
                            pages, apply_side_colors(describe(name)[0], self.colors), x, top + number * down, scale
                        )
        below_grid = top + len(halves) * down
        high = draw_legend_in_pdf(pages, apply_side_colors(tuple(keys), self.colors), x0, below_grid, width, scale)
        pages.set_xy(x0, below_grid + high + 1.0)
        self._write_line(text, text_size, "")

    def draw_figure(self, figure: Figure, height: float) -> None:
        """Draw a figure with the width of the page and at most `height` mm, on a new page if less than half of this is left."""
        if self.remaining_height < 0.5 * min(height, self.pages.eph):
            self.begin_page()
        pages, figure = self.pages, apply_side_colors(figure, self.colors)
        high = draw_in_pdf(pages, figure, pages.l_margin, pages.get_y(), pages.epw, min(self.remaining_height, height))
        pages.set_y(pages.get_y() + high + 1.0)

    def draw_signature_line(self) -> None:
        """Set a line for the signature, if a name is given."""
        if not self.head.signed_by.strip():
            return
        pages = self.pages
        pages.ln(12)
        pages.line(pages.l_margin, pages.get_y(), pages.l_margin + 80.0, pages.get_y())
        self._write_line(displayable_text(f"Date, signature: {self.head.signed_by}", _LONGEST_NAME), _SIZE, "")

    def _write_line(self, text: str, size: float, style: str) -> None:
        self.pages.set_font(FONT, style, size)
        self.pages.multi_cell(0, size * _LINE, text, align="L", new_x="LMARGIN", new_y="NEXT")


#: Title, side ("motion" or "loads") and variables of a row of curves.
Row = tuple[str, str, list[str]]


def _pair_rows(rows: Sequence[Row]) -> list[tuple[Row | None, Row | None]]:
    """Return rows of motion (left) paired with rows of loads (right); rows of one kind only are paired in order."""
    kinds: list[list[Row | None]] = [[row for row in rows if row[1] == side] for side in ("motion", "loads")]
    if not all(kinds):
        rows_of_one_kind = [*kinds[0], *kinds[1]]
        kinds = [rows_of_one_kind[0::2], rows_of_one_kind[1::2]]
    return list(zip_longest(kinds[0], kinds[1]))


def check_sentence(check: Mapping[str, Any]) -> str:
    """Return a check as a sentence that begins with its status."""
    return f"{STATUS_WORDS[check['status']]}: {check['title']}: {check['text']} {check.get('hint') or ''}".strip()
