"""Gait events, cycles, and what a cycle measures in time and space.

Goes in: decided contacts, heels, toes and pelvis of the fitted skeleton, the events of the file and the section [gait]
(`parameters`). Comes out: foot strikes and foot offs with source and confidence, cycles between strikes of one side, and
signals over 0-100 % of them.

The call is `events.gait_events`: plates, movement and file, merged into one plausible sequence. Read `by_movement` (what the
movement tells, over `contact_likelihood` and `foot_motion`), `events`, then `cycles` (strides and their time normalisation),
`cycle_values` (curves of all variables in every cycle) and `impossible` (curves that no person
can walk), and `spatiotemporal` (variables of a trial, speed, step lengths, phases).
"""
