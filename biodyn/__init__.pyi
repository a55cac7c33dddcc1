import pathlib

__version__: str

from .io import read as read
from .output.report.plotting import overlay as overlay
from .output.store.result_reader import StoredResult as StoredResult
from .settings import Settings as Settings
from .study import Study as Study
from .study import StudyResult as StudyResult
from .study import run_session as run_session
from .study import run_study as run_study
from .study.laboratory_norms import build_norms as build_norms
from .study.plate_errors import estimate_plate_errors as estimate_plate_errors
from .trial.archive_unpacking import Unpacked as Unpacked
from .trial.archive_unpacking import unpack as unpack
from .trial.pole_calibration import calibrate_plates as calibrate_plates
from .trial.replay import replay as replay
from .trial.result import LoadedResult as LoadedResult
from .trial.result import TrialResult as TrialResult
from .trial.result_comparison import Comparison as Comparison
from .trial.result_comparison import compare as compare
from .trial.run import run_trial as run_trial
from .trial.sensitivity import vary_trial as vary_trial

def load(result_dir: str | pathlib.Path) -> LoadedResult | StudyResult: ...
