"""Numerical stages of a trial, from raw signals to joint torques and gait cycles.

Input: a `Recording`, its static trial, the marker set and the sections of the settings. Output: values of each stage, and
findings about decisions. Nothing here reads files or writes tables; `trial/steps.py` has the order of the stages.

Read `signals` (world axes, gaps, filters, plates), `calibration` (subject from the static trial), `kinematics` (skeleton fitted
to the walk), `contacts` (ground reaction of each foot), `dynamics` (torques) and `gait` (events, cycles, parameters). A stage
imports earlier stages only. Settings of the user are in sections such as `signals/settings.py`; measurement properties are
constants next to their equation.
"""
