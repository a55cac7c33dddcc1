"""biodyn: from a gait laboratory's raw C3D files to joint torques one can trust.

`run_trial` does what `biodyn run` does, `load` opens what it wrote, `replay` does what `biodyn replay` does, and `run_study`
what `biodyn study` does. Imports are lazy, so that the command line answers at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "Settings",
    "StoredResult",
    "Study",
    "StudyResult",
    "TrialResult",
    "__version__",
    "load",
    "replay",
    "run_study",
    "run_trial",
    "vary_trial",
]

if TYPE_CHECKING:
    from biodyn.replaying import replay
    from biodyn.settings import Settings
    from biodyn.store.loaded import StoredResult, load
    from biodyn.study import Study, StudyResult, run_study
    from biodyn.variation import vary_trial
    from biodyn.workflow import TrialResult, run_trial

_LAZY = {
    "run_trial": "biodyn.workflow",
    "load": "biodyn.store.loaded",
    "StoredResult": "biodyn.store.loaded",
    "replay": "biodyn.replaying",
    "TrialResult": "biodyn.workflow",
    "Settings": "biodyn.settings",
    "vary_trial": "biodyn.variation",
    "Study": "biodyn.study",
    "StudyResult": "biodyn.study",
    "run_study": "biodyn.study",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'biodyn' has no attribute '{name}'")
