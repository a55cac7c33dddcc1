"""How far the joint torques can be trusted: 1 SD bands by linear propagation of the errors of every input.

Goes in: a trial after its inverse dynamics (`inputs.TrialInputs`), the section [uncertainty] (`parameters`), and the
standard deviations of the errors, which are data (`magnitudes`, library/uncertainty/magnitudes.toml). Comes out: a
`TorqueUncertainty`, one standard deviation of every torque in every frame, by source and together.

The call is `bands.torque_bands`. Read `inputs`, `magnitudes`, then `bands` down to what it needs: `spectra` and
`marker_moments` (markers' noise and skin behind the filter), `error_sources` (joint centres, inertias, centre of pressure,
cut-off: a column each), `pose_errors` (of measured poses, in place of the markers'), `fit_response` (how the fit answers to a
moved marker), `towards` (where it is steadied), `torque_response` and `marker_weights` (how the torques answer to a moved
fit), `found` (how what an estimate found answers).
`repeated` draws the same errors at random and analyses again, which the propagation is held against; `shifts` repeats the
experiments of the literature. docs/uncertainty.md says what the bands hold and what they do not.
"""
