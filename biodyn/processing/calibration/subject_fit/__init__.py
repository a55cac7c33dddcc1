"""One model of the subject from the static trial and the walk: joint centres, axes and marker places fitted together.

Goes in: the model of the static trial (and `Scaling`, which makes it again with segments placed otherwise), markers of the walk
and of further trials of the same person. Comes out: the fitted model and a `SubjectFit`: what moved, how well it is known,
marker errors before and after.

The standing person stays where the markers of the static trial are; what is unknown is where the bones lie under them. Each
unknown has a prior (`library/body/subject_fit.toml`): a regression scatters, a marker sits beside its landmark (and then moves
centre and axis together), left is like right, skin moves. Where the walk tells nothing the prior stands.

Read `unknowns` (the vector of all that may change, its priors, and how markers move with it), `placement` (the effect of
misplaced markers), `fit` (coordinates eliminated, priors added, Gauss-Newton) and `result` (the fit and what is reported).
"""
