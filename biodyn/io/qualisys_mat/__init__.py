"""MATLAB files of Qualisys Track Manager: trajectories, events and force plates of one measurement.

In: a file (.mat), of which `biodyn.io.matlab` reads what is asked for. Out: a `Recording`, with the plates that can be used;
one sentence where the file is no measurement.

Read in this order: `measurement` (which variable it is, and what becomes of it), `plates` (loads and corners of each plate; one
that cannot be used leaves the others as they are), `fields` (what every field must be).

`holds_measurement` tells a study which files of MATLAB are recordings.
"""

from biodyn.io.qualisys_mat.measurement import SUFFIX, holds_measurement, read_qualisys_mat

__all__ = ["SUFFIX", "holds_measurement", "read_qualisys_mat"]
