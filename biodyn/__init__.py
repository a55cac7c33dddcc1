"""biodyn: from a gait laboratory's raw C3D files to joint torques one can trust.

Input: a walking trial and a standing trial, or a folder of many. Output: joint torques with bands, checks and a verdict, as
values and as result folders; for a study also one data set, group statistics and a report. `run_trial` does what `biodyn run`
does, `run_session` what `biodyn session` does, `run_study` what `biodyn study` does, `compare` what `biodyn compare` does,
`plates` (of pole trials) and `plates_from_walks` what `biodyn plates` does, `replay` what `biodyn replay` does; `load` opens a
result, and `read` a recording of any format. A result's `export` writes it for other programs. Imports are lazy, so that the
command line answers at once.

Packages import only those below them. In the order of the data flow: `recording` (content of a file), `io`, `session`, `model`,
`processing`, `estimation`, `verification`, `comparison` (why two analyses differ), `uncertainty`, `analysis`, `checks`,
`output`; `trial` runs them in order, `study` processes many trials, `cli` is the command line. Below them: `library` (tables),
`geometry`, `kernels` and `rigid_body` (dynamics), `statistics`, `variables` (definitions). Begin with `trial/steps.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import lazy_loader

from biodyn.version import VERSION as __version__

if TYPE_CHECKING:
    from biodyn.study import StudyResult
    from biodyn.trial.result import LoadedResult

__getattr__, _, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", "load", *_names]


def __dir__() -> list[str]:
    return list(__all__)


def load(result_dir: str | Path) -> LoadedResult | StudyResult:
    """Open the result folder of a trial, session or study, of this or an older version.

    Returns the result with the same attributes as that of `run_trial`, `run_session` or `run_study`:
    `load(folder).joint_torques`, `load(study).trials`. Raises ResultError if the folder is not a result, a file is missing or
    damaged, or was written by a newer biodyn.
    """
    folder = Path(result_dir)
    if (folder / "study.json").is_file():
        from biodyn.study import StudyResult  # requires the extra `study`

        return StudyResult(folder)
    from biodyn.trial.result import LoadedResult

    return LoadedResult(folder)
