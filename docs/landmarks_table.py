"""Write docs/landmarks.md anew from the library:  python docs/landmarks_table.py"""

from __future__ import annotations

from pathlib import Path

from biodyn.model.from_library.user_tables import landmark_catalogue

PAGE = Path(__file__).with_name("landmarks.md")
_HEAD = """# Landmarks and segments

What a marker set, an anthropometric table or a skeleton of your own may name. A name that is not here is refused, with
the nearest one that is. `{s}` stands for both sides, `r` and `l`: `knee_medial_{s}` is `knee_medial_r` and
`knee_medial_l`; labels and recipes are shown for the right one. `biodyn models --landmarks` prints the same.

A landmark is known where a marker marks it, else where one of its recipes finds all that it takes; the recipes are tried in
the order in which they stand here. What the operations (`midpoint`, `chord` ...) do stands at the head of
`biodyn/library/body/landmarks.toml`. Where nothing gives a landmark, the segments that need it are carried in a neutral posture.

A landmark of your own is allowed where your own marker set marks it and your own skeleton or anthropometric table uses it.
This page is written by `python docs/landmarks_table.py` from the library.
"""


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for heading, rows in landmark_catalogue():
        parts.append(f"\n## {heading.partition(' (')[0]}\n\n| name | from |\n|---|---|\n")
        parts += [f"| `{name}` | {text.replace('; else ', '<br>else ')} |\n" for name, text in rows]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
