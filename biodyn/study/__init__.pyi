from .result import StudyResult as StudyResult
from .study import Study as Study
from .study import run_study as run_study
