from .one_session import open_session as open_session
from .one_session import run_session as run_session
from .result import StudyResult as StudyResult
from .study import Study as Study
from .study import run_study as run_study
