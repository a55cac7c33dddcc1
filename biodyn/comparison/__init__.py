"""Attribute differences between two analyses of the same recording to causes, by exchanging their parts.

In: the arrays of two analyses, or of one analysis and channels stored by laboratory software. Out: the size of the difference
for every joint, plane and quantity, the share of each cause, and the unexplained part.

Read `segments` (an analysis as moving segments in World, whatever its coordinates are, with its joint angles and moments),
`part_exchange` (exchange of parts between analyses, relative filter of two motions, shares of the causes), `differences`
(of curves in time and over the gait cycle, and of numerical inputs), then `moment_convention` (signs, axes, units of stored
curves, segments of laboratory software, torque curves without further data).
"""
