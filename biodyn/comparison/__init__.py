"""Why two computations of the same recording differ: their parts are exchanged, and each part gets its share.

In: the arrays of two analyses, or of one analysis and the channels that a laboratory's software stored. Out: for every joint,
plane and quantity how large the difference is, which cause makes how much of it, and what no cause explains.
Not to be confused with `biodyn.trial.compare`, which only measures how well two curves agree.

Read `segments` (an analysis as moving segments in World, whatever its coordinates are, with its joint angles and moments),
`exchange` (exchange of parts between analyses, relative filter of two motions, shares of the causes), `differences`
(of curves in time and over the gait cycle, and what differs in numbers), then `moment_convention` (signs, axes, units of stored
curves, segments of the laboratory's software, torque curves of which nothing else is known).
"""
