"""Write docs/landmarks.md from the library:  python docs/landmarks_table.py"""

from __future__ import annotations

from pathlib import Path

from biodyn.model.from_library.user_tables import landmark_catalogue

PAGE = Path(__file__).with_name("landmarks.md")
_HEAD = """# Landmarks and segments

Marker sets, anthropometric tables and skeletons use these names; an unknown name is an error with the most similar known name as a hint. `{s}` is `r` or `l`: `knee_medial_{s}`
stands for `knee_medial_r` and `knee_medial_l`; labels and definitions are given for the right side. `biodyn models --landmarks` prints the same list.

The position of a landmark is its marker's, otherwise given by the first definition whose inputs are known. `biodyn/library/body/landmarks.toml` describes the operations in detail (chord function:
Davis et al. 1991). Distances in body heights are along x (forward), y (up) and z (right). Segments without the required landmarks keep a neutral posture.

You can use additional landmarks if your marker set contains them and your skeleton or anthropometric table uses them. `python docs/landmarks_table.py` generates this page from the library.
"""


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for heading, rows in landmark_catalogue():
        parts.append(f"\n## {heading.partition(' (')[0]}\n\n| name | marker labels or definition |\n|---|---|\n")
        parts += [f"| `{name}` | {text.replace('; else ', '<br>else ')} |\n" for name, text in rows]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
