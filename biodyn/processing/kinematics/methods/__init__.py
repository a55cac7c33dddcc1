"""How the motion of the skeleton is estimated: one method a file, chosen by `inverse_kinematics.method`.

Goes in: the subject's model, the signals of the walk (markers smoothed, with gaps filled only, and as recorded) and the
section [inverse_kinematics]. Comes out: a `Fit`, the model's motion over the whole trial with the frames and coordinates
that are not known, and why.

A method registers a function (model, signals, settings) -> Fit under the name that a settings file says; a file here is
all that a new one takes. A method that works frame by frame returns `fit.fit_from_solution`, whose motion is the curve
through its configurations; one that estimates velocities and accelerations itself makes the `Fit` of its own motion.
`tracking.track` calls the method more than once: again when markers were attached, and when outliers were left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from biodyn.errors import SettingsError
from biodyn.library.registry import Registry

if TYPE_CHECKING:  # the names of the methods are asked for where nothing is computed
    from biodyn.processing.kinematics.fit import Fit

METHODS: Registry[Callable[..., Fit]] = Registry(__name__, "method of inverse kinematics", SettingsError)
