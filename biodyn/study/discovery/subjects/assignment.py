"""A file and whose recording it is: the value that the rules hand on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from biodyn.session.words import Kind, Token, plain_text, tokens
from biodyn.study.discovery.files import FoundFile

PERSON_KINDS: tuple[Kind, ...] = ("subject", "code", "number")
# Kinds of folders that stand between a person's trials and the person, or between people and their laboratory.
PASSING: tuple[Kind, ...] = ("static", "other", "empty", "activity", "condition", "session", "counter")
LONG_NUMBER = 3
BY_USER = "study.toml"


@dataclass(frozen=True, eq=False)
class SubjectAssignment:
    """A file and whose it is.

    Attributes:
        file: it. label: the person's name as found. source: what the label was taken from.
        level: index of the folder that names the person, None where none does; span: which of its characters do.
        stem_spans: characters of the file's name that name the person. site: folders around the person: laboratory, group.
        keys: of names laid out as BIDS has it.
    """

    file: FoundFile
    label: str = ""
    source: str = ""
    level: int | None = None
    span: tuple[int, int] = (0, 0)
    stem_spans: tuple[tuple[int, int], ...] = ()
    site: tuple[str, ...] = ()
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def folders(self) -> tuple[str, ...]:
        """Names of the folders from the root down."""
        return self.file.path.parts[:-1]

    @property
    def stem(self) -> str:
        """Name of the file without its suffix, in composed Unicode."""
        return plain_text(self.file.path.stem)

    def stem_tokens(self) -> tuple[Token, ...]:
        """Tokens of the file's name without those that name the person."""
        return _outside(tokens(self.stem), self.stem_spans)

    def folder_tokens(self, level: int) -> tuple[Token, ...]:
        """Tokens of a folder's name without those that name the person."""
        found = tokens(self.folders[level])
        return _outside(found, [self.span]) if level == self.level else found

    def person_tokens(self) -> tuple[Token, ...]:
        """Tokens of the folder that names the person, those that name them."""
        if self.level is None:
            return ()
        own = self.folder_tokens(self.level)
        return tuple(token for token in tokens(self.folders[self.level]) if token not in own)


def _outside(found: Sequence[Token], spans: Sequence[tuple[int, int]]) -> tuple[Token, ...]:
    return tuple(t for t in found if all(t.start >= end or t.end <= start for start, end in spans))


def looks_static(file: FoundFile) -> bool:
    """True where the file's name, or a folder's of nothing else, is a static's, or the file says so."""
    declared = file.facts is not None and file.facts.declared_static
    names = (file.path.stem, *file.path.parts[:-1])
    return declared or any(token.kind == "static" for name in names for token in tokens(name))


def is_passing(name: str) -> bool:
    """True for a folder whose name says only which kind of trials it holds."""
    found = tokens(name)
    return bool(found) and all(token.kind in PASSING for token in found)


def surrounding_folders(p: SubjectAssignment) -> tuple[str, ...]:
    """Folders of a file without those that say only which kind of trials they hold."""
    return tuple(name for name in p.folders if not is_passing(name))
