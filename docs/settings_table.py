"""Write docs/settings.md from the definition of the settings:  python docs/settings_table.py"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from biodyn.library.settings_section import BeforeValidator, Section
from biodyn.processing.signals.settings import SignalSettings, method_names
from biodyn.settings import Settings

PAGE = Path(__file__).with_name("settings.md")
_HEAD = """# Settings

Every entry has a default. A settings file is TOML and holds only what differs:

```toml
[signals]
method = "butterworth"
cutoff_hz = 8.0

[model]
hip_centre = "davis_1991"
```

`preset = "plug_in_gait"` before the sections (or `--preset plug_in_gait`; also `visual3d`, `opensim`) starts from settings that resemble that program ([methods.md](methods.md), section 2). Other
entries of the file override them.

Use the file with `biodyn run WALK.c3d --settings FILE.toml`, or in Python with `biodyn.run_trial(walk, settings="FILE.toml")`; a dict of the same structure works, too. `--set model.fit=session` sets one entry and may be
repeated (`entries=["model.fit=session"]` in Python). Unknown entries and invalid values are refused before anything is read. `run.json` contains the settings of a result.

Skeleton, marker set, anthropometric table, hip centre and error magnitudes may be your own TOML files with the structure of the library's (`biodyn/library/body/`). Paths are relative to the settings file
or study.toml; in a dict, to the current folder. Such files are checked, cited by their name, and copied into the result (`inputs/`, `user_files` in `run.json`).

Units are in the names (`_hz`, `_s`, `_m`, `_n`, `_nm`, `_deg`) or in the text. "omitted" means that the entry is absent by default. `python docs/settings_table.py` writes this page.
"""


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for name, field in Settings.model_fields.items():
        section: Any = field.annotation
        if not hasattr(section, "model_fields"):  # a top-level entry
            if name != "preset":
                parts.append(f"\n## [{name}]\n\nTable of {field.description}.\n")
            continue
        text = inspect.cleandoc(section.__doc__)  # Python 3.13 removes the indentation, older versions keep it
        parts.append(f"\n## [{name}]\n\n{text}\n\n| entry | default | allowed | meaning |\n|---|---|---|---|\n")
        parts += [
            f"| `{entry}` | {_default(f)} | {_allowed(f)} | {f.description} |\n"
            for entry, f in section.model_fields.items()
        ]
    return "".join(parts)


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)  # type: ignore[call-arg]
    if value is None:
        return "omitted"
    if value == {}:
        return "none"
    return f"`{_toml(value)}`"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_toml(key)} = {_toml(item)}' for key, item in value.items())} }}"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _allowed(field: FieldInfo) -> str:
    inner = [own for option in get_args(field.annotation) for own in getattr(option, "__metadata__", ())]
    limits = [
        f"{sign} {getattr(rule, key):g}"
        for rule in (*field.metadata, *(rule for own in inner for rule in own.metadata))
        for key, sign in (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))
        if hasattr(rule, key)
    ]
    names = [f'`"{name}"`' for name in method_names() if field is SignalSettings.model_fields["method"]]
    if names:
        return ", ".join(names)
    one_of_both = (
        ["number"]
        if field.default_factory and any(isinstance(rule, BeforeValidator) for rule in field.metadata)
        else []
    )
    kinds = " or ".join(dict.fromkeys((*one_of_both, *_kinds(field.annotation))))
    return f"{kinds} {', '.join(limits)}".strip()


def _kinds(annotation: Any) -> Iterator[str]:
    if hasattr(annotation, "__metadata__"):
        annotation = get_args(annotation)[0]
    origin = get_origin(annotation)
    if origin is Literal:
        yield ", ".join(f"`{_toml(value)}`" for value in get_args(annotation))
    elif origin in (Union, types.UnionType):
        for part in get_args(annotation):
            if part is not type(None):
                yield from _kinds(part)
    elif origin is tuple:
        whole = isinstance(get_args(annotation)[0], type) and issubclass(get_args(annotation)[0], Section)
        yield "list of tables" if whole else "list of numbers"
    elif origin is dict:
        yield "table of numbers"
    else:
        yield {float: "number", int: "whole number", bool: "`true`, `false`", str: "text"}[annotation]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
