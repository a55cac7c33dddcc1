"""From a recording and a body model to torques: each module one step, values in and values out, no files, no settings object.

Goes in: a `Recording`, a `SubjectModel`, and the numbers that a step needs. Comes out: filtered signals, fitted
motion, contacts, events, cycles, joint torques, and what can be said against them.

Read along the data's way: `orientation` (the laboratory's axes), `gaps`, `filtering`, `signals`; `plates`,
`plate_offset`; `standing`, `body_mass`; `calibration` (axial rotation offsets, joint-centre refinement),
`kinematics`, `tracking`, `derivatives`; `feet`, `presence`, `contacts`, `ground_reaction`; `events`, `cycles`,
`spatiotemporal`, `attitude`; `dynamics`. Beside the way: independent algorithms and the forward replay,
`data_checks/` (what is wrong with a recording, and why) and `uncertainty/` (bands).
"""
