"""The project's own gait simulator: a walk whose joint torques are known, recorded by a simulated laboratory."""

from biodyn.simulation.files import write_c3d, write_truth, write_truth_table
from biodyn.simulation.person import Body, Person, embody
from biodyn.simulation.plates import Plate
from biodyn.simulation.trial import SimulatedTrial, TrialOptions, session, simulate_trial
from biodyn.simulation.walking import Walk, solve_walk

__all__ = [
    "Body",
    "Person",
    "Plate",
    "SimulatedTrial",
    "TrialOptions",
    "Walk",
    "embody",
    "session",
    "simulate_trial",
    "solve_walk",
    "write_c3d",
    "write_truth",
    "write_truth_table",
]
