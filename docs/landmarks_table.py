"""Write docs/landmarks.md from the library:  python docs/landmarks_table.py"""

from __future__ import annotations

from pathlib import Path

from biodyn.model.from_library.user_tables import landmark_catalogue

PAGE = Path(__file__).with_name("landmarks.md")
_HEAD = """# Landmarks and segments

Names that a marker set, an anthropometric table or a skeleton may use. Unknown names are refused with the nearest known name. `{s}` is `r` or `l`: `knee_medial_{s}` means
`knee_medial_r` and `knee_medial_l`; labels and recipes are shown for the right side. `biodyn models --landmarks` prints the same.

A landmark comes from its marker, otherwise from the first recipe whose inputs exist. The operations (`midpoint`, `chord` ...) are described at the head of `biodyn/library/body/landmarks.toml`. Segments
without the landmarks they need keep a neutral posture.

A landmark of your own is allowed if your marker set marks it and your skeleton or anthropometric table uses it. `python docs/landmarks_table.py` writes this page from the library.
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
