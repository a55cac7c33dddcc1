"""Exceptions of biodyn: one sentence about what was expected and what was found, and a hint."""

from __future__ import annotations

import errno
import os
import re
import unicodedata

# Marks that change the writing direction, with which a name may look like another one.
_TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_HARMLESS = re.compile(r"[ -~]*")


class BiodynError(Exception):
    """Base class of all errors that biodyn raises; the command line prints it without a traceback and exits with code 2.

    Parameters: `message`: one sentence about what was expected and what was found; `hint`: what to do next.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = _clean_sentence(message.rstrip())
        self.hint = _clean_sentence(hint.strip())
        super().__init__(f"{self.message} {self.hint}".strip())


class InputFileError(BiodynError):
    """The file does not exist, has an unknown format, is damaged, or lacks a required part."""


class MarkerSetError(BiodynError):
    """The markers do not match any known marker set, or a needed marker is missing."""


class PlateError(BiodynError):
    """The file contains no usable force plate, or only unloaded plates."""


class StaticTrialError(BiodynError):
    """No static trial of the subject was found, or it is unusable."""


class SubjectError(BiodynError):
    """Body mass or another subject parameter is neither given nor measurable, or not plausible."""


class ModelError(BiodynError):
    """A skeleton, table or multibody definition is inconsistent; the message names the entry."""


class TableError(ModelError):
    """A user's table (TOML) cannot be read or has an invalid entry; the message names file, entry and key."""


class SettingsError(BiodynError):
    """A settings file or option has an unknown name or an invalid value."""


class ResultError(BiodynError):
    """A result folder cannot be written or read."""


class EstimateError(BiodynError):
    """Motion and forces of a trial cannot be estimated together; `look`: sentence on the likely fault.

    The hint also names the filter as an alternative, unless the filter is in use.
    """

    def __init__(self, message: str, look: str = "") -> None:
        self.look = look
        super().__init__(message, f'{look} A filter is available: [signals] method = "butterworth".')

    def __reduce__(self) -> tuple[type[EstimateError], tuple[str, str]]:
        # for exceptions from another process; otherwise the hint would be repeated
        return type(self), (self.message, self.look)


class StatisticsError(BiodynError):
    """The data do not allow the requested statistical test, or contradict its design."""


class StudyError(BiodynError):
    """A study cannot be planned, run or resumed."""


class SystemRefusalError(BiodynError):
    """The operating system refused an operation: disk full, no permission, or a limit reached."""


# Errors of the operating system that do not depend on the program, and hints. Any other error, such as a missing file that was
# just written, is a fault of biodyn.
_MAKE_ROOM = "Free disk space there, or choose another folder with --out."
_SHORTEN = "Choose a shorter --out."
_LOOK_AT_DISK = "Check the disk or the network drive, or choose another folder with --out."
_FREE_MEMORY = "Close other programs, or shorten the recording."
_REFUSALS: dict[str, tuple[str, ...]] = {
    _MAKE_ROOM: ("ENOSPC", "EDQUOT"),
    "Raise the limit of file sizes ('ulimit -f'), or choose another folder with --out.": ("EFBIG",),
    _SHORTEN: ("ENAMETOOLONG",),
    "Choose another folder with --out, or change the permissions.": ("EROFS", "EACCES", "EPERM"),
    "Links there form a loop; choose another folder with --out.": ("ELOOP",),
    "Choose another folder with --out.": ("ENOTDIR",),
    _LOOK_AT_DISK: ("EIO", "ENXIO", "ENODEV", "ESTALE", "ENOTCONN", "EHOSTDOWN", "ETIMEDOUT"),
    "Raise the limit of open files ('ulimit -n').": ("EMFILE",),
    "Close other programs: the whole machine has too many open files.": ("ENFILE",),
    _FREE_MEMORY: ("ENOMEM",),
    "Raise the limit of processes ('ulimit -u'), or close other programs.": ("EAGAIN",),
}
# Errors of Windows (winerror.h) without a POSIX equivalent: HANDLE_DISK_FULL; BAD_NETPATH, DEV_NOT_EXIST, UNEXP_NET_ERR,
# NETNAME_DELETED, BAD_NET_NAME, IO_DEVICE; INVALID_NAME; FILENAME_EXCED_RANGE; COMMITMENT_LIMIT.
_OF_WINDOWS: dict[str, tuple[int, ...]] = {
    _MAKE_ROOM: (39,),
    _LOOK_AT_DISK: (53, 55, 59, 64, 67, 1117),
    "Choose another --out.": (123,),
    _SHORTEN: (206,),
    _FREE_MEMORY: (1455,),
}
_ENDLESS = re.compile(r"\S{400,}")
_SHOWN_OF_A_WORD = 80
_WINDOWS = os.name == "nt"
_LONGEST_ON_WINDOWS = 247  # characters of a folder path; the C library reports longer paths as missing
_HINTS = {getattr(errno, name): hint for hint, names in _REFUSALS.items() for name in names if hasattr(errno, name)}
_HINTS_OF_WINDOWS = {number: hint for hint, numbers in _OF_WINDOWS.items() for number in numbers}


def system_refusal(error: OSError | MemoryError) -> SystemRefusalError | None:
    """Return the SystemRefusalError that corresponds to an exception; None if the operating system did not refuse anything."""
    if isinstance(error, MemoryError):
        return SystemRefusalError("Not enough memory is available.", _FREE_MEMORY)
    name = error.filename if error.filename2 is None else error.filename2
    path = os.fsdecode(name) if isinstance(name, (str, bytes)) else ""
    where = f"'{_path_on_one_line(path)}'" if path else "A file or folder cannot be read or written"
    number = getattr(error, "winerror", None)
    if number in _HINTS_OF_WINDOWS:
        return SystemRefusalError(f"{where}: {error.strerror}.", _HINTS_OF_WINDOWS[number])
    if _WINDOWS and error.errno == errno.ENOENT and len(os.path.abspath(path)) > _LONGEST_ON_WINDOWS:
        return SystemRefusalError(f"{where}: The path is too long for Windows.", _SHORTEN)
    if error.errno is None or error.errno not in _HINTS:
        return None
    return SystemRefusalError(f"{where}: {os.strerror(error.errno)}.", _HINTS[error.errno])


def _clean_sentence(text: str) -> str:
    """Return a sentence in valid Unicode; words longer than any file name are shortened."""
    return _ENDLESS.sub(lambda word: f"{word[0][:_SHOWN_OF_A_WORD]}...", printable_text(text, keep="\n\t"))


def _path_on_one_line(path: str, longest: int = 120) -> str:
    """Return a path on one line, shortened to `longest` characters."""
    text = path.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= longest else f"{text[: longest // 2]}...{text[-longest // 3 :]}"


def printable_text(text: str | os.PathLike[str], keep: str = "") -> str:
    r"""Return the text on one line in valid Unicode; characters that cannot be displayed are escaped.

    Bytes of a file name that are not UTF-8 become ``\xfc``, control characters ``\n`` or ``\x07``, marks of writing
    direction and lone surrogates ``\u202e``. Other characters are unchanged. `keep`: control characters that stay.
    """
    text = os.fspath(text)
    if _HARMLESS.fullmatch(text):
        return text
    return "".join(c if c in keep else _escape_character(c) for c in text)


def _escape_character(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name in the representation of Python (PEP 383)
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code <= 0xDFFF or character in _TURNING or character in "\u2028\u2029":
        return f"\\u{code:04x}"
    if unicodedata.category(character) == "Cc":
        return character.encode("unicode_escape").decode("ascii")
    return character
