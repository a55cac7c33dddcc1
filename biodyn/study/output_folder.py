"""The output folder of a study: whose it is, and what no longer belongs there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from biodyn.errors import StudyError
from biodyn.output.store.folder import remove_all_unfinished, remove_owned, trial_files
from biodyn.study.plan import PlannedTrial
from biodyn.study.record import TRIAL_RECORD_NAME
from biodyn.study.running.lock import owner_of
from biodyn.study.study_record import STUDY_RECORD_NAME, seen_from

# Files beside the folders; each is written as .NAME.part and then renamed.
_WRITTEN = (
    STUDY_RECORD_NAME, "study.parquet", "study.csv", "summary.csv", "study_wide.csv", "study.xlsx", "report.html"
)  # fmt: skip


def require_free(folder: Path, root: Path) -> None:
    """Raise StudyError if `folder` cannot be the output of a study of the files in `root`."""
    try:
        there = folder.exists()
    except OSError as error:  # such as a name that is too long
        raise StudyError(f"'{folder.parent}': {error.strerror}.", "Choose another --out.") from error
    if there and not folder.is_dir():
        raise StudyError(f"'{folder}' is a file, not a folder.", "Choose another --out.")
    owner = owner_of(folder)
    if owner is None:
        if folder.is_dir() and any(folder.iterdir()):
            raise StudyError(f"'{folder}' is not empty and holds no study of ours.", "Choose another --out.")
        return
    if owner and owner != seen_from(folder, root):
        raise StudyError(
            f"'{folder}' holds the study of another folder, '{owner}' as seen from there.", "Choose another --out."
        )


def remove_obsolete(folder: Path, trials: Sequence[PlannedTrial]) -> None:
    """Remove results of trials that are no longer in the plan, so that no folder tells of what no table counts.

    And what killed runs left half done; the lock says that nobody is writing. Of all that, only what biodyn wrote:
    files that somebody put beside it stay, and links are not followed.
    """
    _remove_unfinished_everywhere(folder)
    planned = {folder / trial.folder for trial in trials}
    for record in sorted(folder.glob(f"trials/*/*/{TRIAL_RECORD_NAME}")):
        place = record.parent
        if place not in planned and not any(p.is_symlink() for p in (place, place.parent, place.parent.parent)):
            remove_owned(place, trial_files(place))
    for subject in sorted(folder.glob("trials/*")):
        if subject.is_dir() and not subject.is_symlink() and not any(subject.iterdir()):
            subject.rmdir()


def _remove_unfinished_everywhere(folder: Path) -> None:
    remove_all_unfinished(folder, _WRITTEN)
    for place in (folder / "group", folder / "subjects", *sorted(folder.glob("trials/*"))):
        if place.is_dir() and not place.is_symlink():
            remove_all_unfinished(place)


@contextmanager
def tidy_when_stopped(folder: Path) -> Iterator[None]:
    """Remove what was being written when a study ends early; its trial processes are dead by then."""
    try:
        yield
    except BaseException:
        if folder.is_dir():  # its disk may be gone
            _remove_unfinished_everywhere(folder)
        raise
