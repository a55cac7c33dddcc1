"""Estimation of the motion of the skeleton: one method per file, selected by `inverse_kinematics.method`.

Input: the subject's model, the signals of the walk (markers smoothed, gaps filled, and recorded) and the section
[inverse_kinematics]. Output: a `Fit`, i.e. the motion over the whole trial, with unknown frames and coordinates and their
reasons.

A method registers a function (model, signals, settings) -> Fit under its name in the settings; a new method is a new file here.
A frame-by-frame method returns `fit.fit_from_solution`, which fits a spline through its configurations; a method that estimates
velocities and accelerations builds the `Fit` itself. `tracking.track` calls the method repeatedly: after attaching markers and
after excluding outliers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from biodyn.errors import SettingsError
from biodyn.library.registry import Registry

if TYPE_CHECKING:  # the settings need only the names of the methods
    from biodyn.processing.kinematics.fit import Fit

METHODS: Registry[Callable[..., Fit]] = Registry(__name__, "method of inverse kinematics", SettingsError)
