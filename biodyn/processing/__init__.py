"""Numerical stages of a trial, from raw signals to joint torques and gait cycles.

Input: a `Recording`, its static trial, the marker set and the sections of the settings. Output: the values of each stage, and
findings about its decisions. Nothing here reads files or writes tables. `trial/steps.py` defines the order of the stages.

Read the packages in the order `signals` (world axes, gaps, filters, plates), `calibration` (subject from the static trial),
`kinematics` (skeleton fitted to the walk), `contacts` (ground reaction of each foot), `dynamics` (torques), `gait` (events,
cycles, parameters). A stage imports earlier stages only. User settings are in sections such as `signals/settings.py`.
Properties of the measurement are constants next to the equation that uses them.
"""
