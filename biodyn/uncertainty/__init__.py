"""How far the joint torques can be trusted: 1 SD bands by linear propagation of the errors of every input."""

from biodyn.uncertainty.bands import SOURCES, TorqueUncertainty, torque_uncertainty
from biodyn.uncertainty.inputs import TrialInputs
from biodyn.uncertainty.magnitudes import Magnitudes, load_magnitudes

__all__ = ["SOURCES", "Magnitudes", "TorqueUncertainty", "TrialInputs", "load_magnitudes", "torque_uncertainty"]
