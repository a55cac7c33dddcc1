"""What a laboratory writes on its pages of paper, and whether a PDF can be made: known before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path

from biodyn.errors import ResultError, SettingsError
from biodyn.library.load import nearest, read_user_toml

_MOST_ENTRIES = 12
_CREATOR = b"/Creator (biodyn)"


@dataclass(frozen=True)
class PaperHead:
    """What a laboratory writes on its pages; empty lines are left out.

    Attributes:
        laboratory, address, contact: the head. entries: lines about the person and the referral, words by their label.
        signed_by: who signs; a line for it stands at the end.
    """

    laboratory: str = ""
    address: str = ""
    contact: str = ""
    entries: Mapping[str, str] = field(default_factory=dict)
    signed_by: str = ""


def read_head(path: str | Path) -> PaperHead:
    """Read a laboratory's head from TOML: laboratory, address, contact, signed_by, each a text, and a table [entries] of texts.

    Raises SettingsError for a file that cannot be read, and for an entry that is unknown or no text.
    """
    given = read_user_toml(path, "head of the pages", SettingsError).content
    known = [one.name for one in fields(PaperHead)]
    for name, value in given.items():
        if name not in known:
            raise SettingsError(f"'{path}' has an unknown entry '{name}'.", nearest(name, known))
        if name == "entries":
            _require_texts(value, path)
        elif not isinstance(value, str):
            raise SettingsError(f"'{name}' of '{path}' is no text.", f'Write {name} = "...".')
    return PaperHead(**given)


def asked_paper(pdf: bool, head: str | Path | None) -> PaperHead | None:
    """The head of the pages where a PDF is asked for, None where none is; before any work is done.

    Raises SettingsError for a head without a PDF, ResultError where the library is not installed.
    """
    if not pdf:
        if head is not None:
            raise SettingsError("A head of the pages belongs to a PDF.", "Ask for one: --pdf.")
        return None
    require_library()
    return PaperHead() if head is None else read_head(head)


def is_own_paper(page: Path) -> bool:
    """Whether a file is a PDF that biodyn wrote: it says so in its properties, at its end."""
    try:
        content = page.read_bytes()
    except OSError:
        return False
    return content.startswith(b"%PDF") and _CREATOR in content


def require_library() -> None:
    """Raise ResultError where the library is not installed."""
    if find_spec("fpdf") is None:
        raise ResultError("A PDF needs the library fpdf2.", "pip install 'biodyn[pdf]'")


def _require_texts(table: object, path: str | Path) -> None:
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise SettingsError(
            f"[entries] of '{path}' is no table of texts.", 'Write "Referred by" = "..." under [entries].'
        )
    if len(table) > _MOST_ENTRIES:
        raise SettingsError(f"[entries] of '{path}' has {len(table)} lines; the head has room for {_MOST_ENTRIES}.")
