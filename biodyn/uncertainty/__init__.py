"""Uncertainty of the joint torques: one standard deviation by linear propagation of the errors of every input.

In: a trial after its inverse dynamics (`inputs.TrialInputs`), the section [uncertainty] (`settings`), and the standard deviations
of the errors, which are data (`magnitudes`, library/uncertainty/magnitudes.toml). Out: a `TorqueUncertainty`, one standard
deviation of every torque in every frame, by source and in total.

The entry point is `bands.torque_bands`. Read `inputs`, `magnitudes`, then `bands` and what it uses: `error_sources` (joint
centres, inertias, centre of pressure, cut-off), `measurement_noise` (markers or poses, behind the filter), `fit_response` (of the
fit to a moved marker), `torque_response` (of the torques to a moved fit) and `parameter_sensitivities` (joint centres, and
parameters that an estimate found). `repeated` draws the same errors at random and repeats the analysis, as a reference for the
propagation. docs/uncertainty.md says what the bands contain and what they do not.
"""
