"""What lies in the folder of the study."""

from __future__ import annotations

from biodyn.output.report.page import Data
from biodyn.study.report.methods import report_table
from biodyn.study.report.study_page import SECTIONS, StudyPage

_TEMPLATE = """
<table><tbody>{% for file, text in files %}<tr><td class="mono nowrap">{{ file }}</td><td>{{ text }}</td></tr>{% endfor %}</tbody></table>
"""


@SECTIONS.section("files", place=150, title="Files", link="Files", template=_TEMPLATE)
def files(page: StudyPage) -> Data:
    """The files that are there, explained."""
    written = ("report.html",) if page.source.one_session else ("report.html", "subjects")
    listed = []
    for entry in report_table()["file"]:
        if entry["name"] in written or (page.source.out / entry["name"]).exists():
            listed.append((entry.get("shown", entry["name"]), entry["text"]))
    return {"files": listed}
