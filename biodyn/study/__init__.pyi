from .result import StudyResult as StudyResult
from .study import Study as Study
from .study import open_session as open_session
from .study import run_session as run_session
from .study import run_study as run_study
