"""Studies: from a folder of recordings to one tidy data set, group results and a report.

`discovery/` finds out what is in the folder and plans the trials; `running/` analyses each in a process that may die;
`collecting/` streams what they wrote into one data set; `group/` compares; `report/` shows. `study.py` joins them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Study", "StudyResult", "run_study"]

if TYPE_CHECKING:
    from biodyn.study.study import Study, StudyResult, run_study


def __getattr__(name: str) -> Any:
    if name in __all__:  # when asked for: the trial processes need little of it
        from biodyn.study import study

        return getattr(study, name)
    raise AttributeError(f"module 'biodyn.study' has no attribute '{name}'")
