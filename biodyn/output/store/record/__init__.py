"""What a result folder keeps of an analysis beside its tables.

In comes a `TrialAnalysis` that was judged; out go the values of `run.json` (`run_record`) and the arrays of `result.npz`
(`result_arrays`). Read `run.py` (the parts of the record and their order), then the parts where they are made: `trial.py`,
`model.py`, `signals.py`, `checks.py`, `uncertainty.py`; `arrays.py`; `plain.py` turns all of it into plain JSON values.
A part is one function and one line of `run.PARTS`; what an older version wrote is never rewritten (see `store/read.py`).
"""

from biodyn.output.store.record.arrays import result_arrays
from biodyn.output.store.record.plain import json_ready
from biodyn.output.store.record.run import run_record

__all__ = ["json_ready", "result_arrays", "run_record"]
