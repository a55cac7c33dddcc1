"""How far the joint torques can be trusted: 1 SD bands by linear propagation of the errors of every input."""

from biodyn.processing.uncertainty.bands import SOURCES, TorqueUncertainty, torque_uncertainty
from biodyn.processing.uncertainty.inputs import TrialInputs
from biodyn.processing.uncertainty.magnitudes import Magnitudes, load_magnitudes

__all__ = ["SOURCES", "Magnitudes", "TorqueUncertainty", "TrialInputs", "load_magnitudes", "torque_uncertainty"]
