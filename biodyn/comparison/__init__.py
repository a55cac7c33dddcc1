"""Why two computations of the same recording differ: their parts are exchanged, and each part gets its share.

In: the arrays of two analyses, or of one analysis and the channels that a laboratory's software stored. Out: for every joint,
plane and quantity how large the difference is, which cause makes how much of it, and what no cause explains.
Not to be confused with `biodyn.trial.compare`, which only measures how well two curves agree.

Read `segments` (an analysis as moving segments in World, whatever its coordinates are), `loads` (joint angles and moments of
them), `smoothing` (the filter that lies between two motions), `exchange` (an analysis with some parts of another one),
`shapley` (shares that do not depend on the order of exchange), `differences` (the two together) and `facts` (what differs, in
numbers), then `channels` (signs, axes, frames and units of stored curves), `laboratory` (segments as the laboratory's software
had them) and `curves` (two sets of torque curves of which nothing else is known).
"""
