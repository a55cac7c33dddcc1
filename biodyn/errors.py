"""What cannot be done, said in one sentence: what was expected, what was found, what to do next."""

from __future__ import annotations

from biodyn.text import printable


class BiodynError(Exception):
    """Base of every error biodyn raises on purpose; the command line prints it without a traceback, exit code 2.

    Parameters: `message` says in one sentence what was expected and what was found; `hint` says what to do next.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = printable(message.rstrip(), keep="\n\t")  # names of files need not be Unicode
        self.hint = printable(hint.strip(), keep="\n\t")
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
