"""Gait events, cycles and spatio-temporal parameters.

Input: assigned contacts, heels, toes and pelvis of the fitted skeleton, the events of the file and the section [gait]
(`settings`). Output: foot strikes and foot offs with source and confidence, gait cycles, and signals over 0-100 % of the cycle.

Entry point: `events.gait_events` merges the events of plates, movement (`kinematic_events`) and file. `activity` classifies the
movement, `cycles` defines and normalises strides, `spatiotemporal` computes parameters and signals, and `cycle_values` collects
the curves of each cycle, excludes non-physiological ones and reads the peaks of the ground reaction.
"""
