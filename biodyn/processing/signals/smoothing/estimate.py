"""No smoothing of its own: motion and forces become one estimate later on, which weighs the markers as recorded.

What has to be known before it (whose foot is on which plate, the motion that it starts from) comes from the Butterworth filter.
"""

from __future__ import annotations

from biodyn.processing.signals.smoothing import SMOOTHING, SmoothingMethod
from biodyn.processing.signals.smoothing.butterworth import butterworth

#: The name by which settings ask for it.
ESTIMATE = "estimate"

SMOOTHING.add(ESTIMATE, SmoothingMethod(butterworth, "one estimate of motion and forces"))
