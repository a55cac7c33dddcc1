"""Studies: a folder of recordings -> one tidy data set, group results and a report.

In: a folder of recordings, optionally with a study.toml. Out: an output folder with a result folder per trial, a data set
(study.parquet, study.csv, summary.csv), group results (group/), pages (report.html, subjects/) and study.json. An interrupted
run resumes; a failed trial does not stop the others; equal inputs give equal bytes.

- `study`: the order of the steps; a session is a study of one person and day.
- `discovery`: recordings and study.toml -> `plan`. `options`: sections [analysis] and [output] of study.toml.
- `running`: analyses each trial in its own process and writes its `trial_record`.
- `collecting`: results of all trials -> one data set. `group`: group results. `report`: pages.
- `result`: reads a finished study. `session_change`: compares two sessions. `laboratory_norms`: builds norms of healthy people.
"""

from importlib.util import find_spec

import lazy_loader

from biodyn.errors import StudyError

# Checked before the first trial.
_MISSING = [name for name in ("pyarrow", "statsmodels", "xlsxwriter") if find_spec(name) is None]
if _MISSING:
    raise StudyError(
        f"A study or session requires {' and '.join(_MISSING)}, which the basic installation does not include.",
        "Install: pip install 'biodyn[study]' (in a copy of the project: pip install '.[study]').",
    )

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
