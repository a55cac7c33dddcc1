"""The project's own gait simulator: a walk whose joint torques are known, recorded by a simulated laboratory.

In: a `Person` and `TrialOptions` (speed, plates, noise, gaps, axes, what is wrong with the laboratory). Out: simulated
static trials and walks as arrays or C3D files, with the truth beside them. The walk obeys physics: ground forces are what
its motion needs, so an analysis without error gives its torques back. Seeds make every number repeatable.

Read `person` (template markers scaled to a body; `outfits`: other laboratories' markers on it), `curves` and `walking`
(published curves bent until physics holds; `solver`, `reaction` and `feet` are its parts), `laboratory`, `plates` and `skin`
(what devices record of it), `trial` (one recording) and `files` (as C3D; `poses` as a markerless system stores them). `dataset`
writes sample_data, `study` whole folders of people, `damage` what happens to files; `recovery` compares an analysis with the
truth, `uncertain` makes people who are not what the analysis believes, `pole` pole trials over plates with errors. `rough_walks`
puts together what does not flatter an analysis: `rough`, `landing` and `impacts` (feet that strike), `wobble`, `knees`, `styles`;
`roughness` and `strikes` measure it.
"""

from simulator.files import write_c3d, write_truth, write_truth_table
from simulator.person import Body, Person, embody
from simulator.plates import Plate
from simulator.trial import SimulatedTrial, TrialOptions, session, simulate_trial
from simulator.walking import Walk, solve_walk

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
