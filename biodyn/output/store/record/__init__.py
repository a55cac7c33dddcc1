"""The record of a run: which parts `run.json` has, and the arrays beside it.

In: a `TrialAnalysis` that was judged. Out: plain values for `run.json` (`run_record`) and arrays for `result.npz`
(`result_arrays`), from which figures, the report and a replay are made without the recording. NaN becomes null.

Read `run.py` first, the list of parts in their order; then `trial.py` (files, subject, axes, marker set), `model.py` (body
and fit), `signals.py` (gaps, plates, contacts), `checks.py`, `uncertainty.py`, `arrays.py`. `plain.py` makes values JSON.
A part is one function and one line of `run.PARTS`; what an older version wrote is never rewritten (see `output/store/read.py`).
"""

from biodyn.output.store.record.arrays import result_arrays
from biodyn.output.store.record.plain import json_ready
from biodyn.output.store.record.run import run_record

__all__ = ["json_ready", "result_arrays", "run_record"]
