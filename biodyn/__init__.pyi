__version__: str

from .replaying import replay as replay
from .settings import Settings as Settings
from .store.loaded import StoredResult as StoredResult
from .store.loaded import load as load
from .study import Study as Study
from .study import StudyResult as StudyResult
from .study import run_study as run_study
from .variation import vary_trial as vary_trial
from .workflow import TrialResult as TrialResult
from .workflow import run_trial as run_trial
