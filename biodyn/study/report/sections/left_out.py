"""Files in the folder that are no trials of the study, and why."""

from __future__ import annotations

from biodyn.output.report.page import Data
from biodyn.study.report.study_page import SECTIONS, StudyPage

_TEMPLATE = """
<p class="quiet">Recordings in the folder that are not trials of this study.</p>
{% for one in groups %}
<div class="failure"><h3>{{ one.reason }} <span class="tag">{{ "by the user" if one.role == "excluded" else "by the program" }}</span></h3>
<details{{ " open" if one.paths | length <= 8 }}><summary>{{ one.paths | length }} {{ "file" if one.paths | length == 1 else "files" }}</summary>{% for path in one.paths %}<div class="mono">{{ path }}</div>{% endfor %}</details></div>
{% endfor %}
"""


@SECTIONS.section("left-out", place=50, title="Files left out", link="Left out", template=_TEMPLATE)
def left_out(page: StudyPage) -> Data | None:
    """The files grouped by role and reason; None where there are none."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for file in page.source.record["files"]:
        if file["role"] in ("functional", "other", "excluded"):
            grouped.setdefault((file["role"], file["reason"]), []).append(file["path"])
    groups = [{"role": role, "reason": reason, "paths": paths} for (role, reason), paths in grouped.items()]
    return {"groups": groups} if groups else None
