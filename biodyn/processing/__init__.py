"""From a recording and a body model to joint torques, in stages: each a room of its own, values in and values out.

Goes in: a `Recording`, its static trial, the marker set and the sections of the settings. Comes out: smoothed signals, the
subject's model, the fitted motion, contacts, events, cycles, joint torques, and notes on what was decided. Nothing here
knows a file, a table for people or the order of the steps, which is `trial/steps.py`.

Read along the data's way, a stage after the other: `signals/` (world axes, gaps, smoothing, plates), `calibration/` (what
standing and the walk tell of the subject), `kinematics/` (the skeleton fitted to the markers), `contacts/` (whose foot
loads which plate), `dynamics/` (torques, moments, powers), `gait/` (events, cycles and their curves). A stage imports only
what lies before it. Its parameters are one frozen object, as in `signals/parameters.py`, which is its section of the
settings; what is a measurement's property and no choice of a user stands as a constant beside the rule, with its reason.
"""
