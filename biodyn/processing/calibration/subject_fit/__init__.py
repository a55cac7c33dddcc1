"""Fit of one subject model to the static trial and the walk: joint centres, axes and marker positions together.

Input: the model of the static trial with the `SubjectModelBuilder` that builds it again, and the markers of walks and
functional trials.
Output: the fitted model and a `SubjectFit` with shifts, posterior standard deviations and marker errors before and after.

Static markers keep their positions; the bones below them are estimated. The priors (`library/body/subject_fit.toml`) describe
the scatter of regressions, marker placement (which moves centre and axis together), symmetry and soft tissue. `unknowns`
defines the vector, its priors and the effect of misplaced markers, `subject_model_fit` runs Gauss-Newton with eliminated
coordinates, and `fit_result` reports.
"""
