"""The verdict of a trial: each check is one small function of the analysis, the verdict follows from all of them."""

from biodyn.checks import consistency, markers, plates, residual  # noqa: F401  the checks register themselves
from biodyn.checks.verdict import judge, quality_checks

__all__ = ["judge", "quality_checks"]
