"""What cannot be done, said in one sentence: what was expected, what was found, what to do next."""

from __future__ import annotations

import errno
import os


class BiodynError(Exception):
    """Base of every error biodyn raises on purpose; the command line prints it without a traceback, exit code 2.

    Parameters: `message` says in one sentence what was expected and what was found; `hint` says what to do next.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = message.rstrip()
        self.hint = hint.strip()
        super().__init__(f"{self.message} {self.hint}".strip())


class InputFileError(BiodynError):
    """The file does not exist, is not a C3D file, or is damaged."""


class MarkerSetError(BiodynError):
    """The markers do not match any known marker set, or a needed marker is missing."""


class PlateError(BiodynError):
    """The file holds no usable force plate, or nothing was ever measured on one."""


class StaticTrialError(BiodynError):
    """No static trial of the subject was found, or it is unusable."""


class SubjectError(BiodynError):
    """Body mass or another subject parameter is neither given nor measurable, or not plausible."""


class ModelError(BiodynError):
    """A skeleton, table or multibody definition contradicts itself; names the offender."""


class SettingsError(BiodynError):
    """A settings file or option has an unknown name or an impossible value."""


class ResultError(BiodynError):
    """A result folder cannot be written or read."""


class StatisticsError(BiodynError):
    """The data do not suffice for the statistical test asked for, or contradict its design."""


class StudyError(BiodynError):
    """A study cannot be planned, run or resumed."""


class SystemRefusalError(BiodynError):
    """The operating system refuses what has to be done: no room, no permission, a limit."""


# What the system says no to whatever the program does, and what helps. Anything else, such as a file that is not there
# although it was just written, would be a fault of ours.
_MAKE_ROOM = "Make room there, or choose another place with --out."
_CHOOSE_PLACE = "Choose another place with --out, or change the permissions."
_SHORTEN = "Choose a shorter --out."
_LOOK_AT_DISK = "Check the disk or the network drive, or choose another place with --out."
_REFUSALS: dict[str, str] = {
    "ENOSPC": _MAKE_ROOM,
    "EDQUOT": _MAKE_ROOM,
    "EFBIG": "Raise the limit of file sizes ('ulimit -f'), or choose another place with --out.",
    "ENAMETOOLONG": _SHORTEN,
    "EROFS": _CHOOSE_PLACE,
    "EACCES": _CHOOSE_PLACE,
    "EPERM": _CHOOSE_PLACE,
    "ELOOP": "Links there lead in a circle: choose another place with --out.",
    "ENOTDIR": "Choose another place with --out.",
    "EIO": _LOOK_AT_DISK,
    "ENXIO": _LOOK_AT_DISK,
    "ENODEV": _LOOK_AT_DISK,
    "ESTALE": _LOOK_AT_DISK,
    "ENOTCONN": _LOOK_AT_DISK,
    "EHOSTDOWN": _LOOK_AT_DISK,
    "ETIMEDOUT": _LOOK_AT_DISK,
    "EMFILE": "Raise the limit of open files ('ulimit -n').",
    "ENFILE": "Close other programs: the whole machine has too many open files.",
    "ENOMEM": "Close other programs, or cut the recording.",
    "EAGAIN": "Raise the limit of processes ('ulimit -u'), or close other programs.",
}
_HINTS = {getattr(errno, name): hint for name, hint in _REFUSALS.items() if hasattr(errno, name)}


def system_refusal(error: OSError | MemoryError) -> SystemRefusalError | None:
    """Return the refusal of the operating system that an exception tells of; None where it tells of something else."""
    if isinstance(error, MemoryError):
        return SystemRefusalError("There is not enough memory.", _REFUSALS["ENOMEM"])
    if error.errno is None or error.errno not in _HINTS:
        return None
    name = error.filename if error.filename2 is None else error.filename2
    where = "What was to be read or written" if not isinstance(name, (str, bytes)) else f"'{_shown(os.fsdecode(name))}'"
    return SystemRefusalError(f"{where}: {os.strerror(error.errno)}.", _HINTS[error.errno])


def _shown(path: str, longest: int = 120) -> str:
    """A path on one line of the screen."""
    text = path.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= longest else f"{text[: longest // 2]}...{text[-longest // 3 :]}"
