"""biodyn: compute joint torques with uncertainty from raw C3D files of a gait laboratory.

Input: a walking trial and a standing trial, or a folder of many. Output: joint torques with uncertainty bands, checks and a
verdict, as Python objects and result folders; for a study also one data set, group statistics and a report. `run_trial`,
`run_session`, `run_study`, `compare`, `calibrate_plates`, `estimate_plate_errors` and `replay` correspond to the commands of
`biodyn`; `load` opens a result, `read` reads a recording of any format, and the method `export` of a result writes it for other
programs. Imports are lazy, so that the command line starts quickly.

Packages import only those below them. In the order of the data flow: `recording` (content of a file), `io`, `session`, `model`,
`processing`, `estimation`, `verification`, `comparison` (why two analyses differ), `uncertainty`, `analysis`, `checks`,
`output`; `trial` runs them in order, `study` processes many trials, `cli` is the command line. Below them are `library`
(tables), `geometry`, `kernels` and `rigid_body` (dynamics), `statistics`, and `variables` (definitions). Read `trial/steps.py`
first.
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
