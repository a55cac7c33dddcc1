"""Studies: from a folder of recordings to one tidy data set, group results and a report.

In: a folder of recordings, or a study.toml that says more of it. Out: an output folder with a result folder a trial, a data
set (study.parquet, study.csv, summary.csv), group results (group/), pages (report.html, subjects/) and study.json. A run
that was stopped resumes where it stopped; one trial's failure never stops the others; the same inputs give the same bytes.

Read `study` first: it is the only place that knows the order of the steps. Then the steps in their order: `discovery` finds
out what is in the folder and makes a `plan`; `running` analyses each trial in a process that may die and leaves a `record`,
which also says which trials count; `collecting` streams what the trials wrote into one data set; `group` compares subjects'
means; `report` shows. `result` opens what a study wrote. `one_session` is a study of one person and day, with one page,
`session_change` compares two of them, `own_norms` makes norms of healthy people.
"""

from importlib.util import find_spec

import lazy_loader

from biodyn.errors import StudyError

# Whoever takes the first step learns it now, not after a thousand trials.
_MISSING = [name for name in ("pyarrow", "statsmodels") if find_spec(name) is None]
if _MISSING:
    raise StudyError(
        f"A study or session needs {' and '.join(_MISSING)}, not part of the plain installation.",
        "Install: pip install 'biodyn[study]' (in a copy of the project: pip install '.[study]').",
    )

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
