"""What a result folder keeps of an analysis, before it is written: record, tables and arrays."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.output.report.view import TrialView
from biodyn.output.store.record import result_arrays, run_record
from biodyn.output.tables import trial_tables


def view_of(analysis: TrialAnalysis, tables: Mapping[str, pd.DataFrame] | None = None) -> TrialView:
    """Return everything of an analysis that is kept; `tables` where they were made already."""
    made = trial_tables(analysis) if tables is None else tables
    imported = analysis.imported
    files = (None, None) if imported is None else (imported.model_file, imported.motion_file)
    return TrialView(run_record(analysis), made, result_arrays(analysis), None, analysis.user_files, *files)
