"""Estimators of the checks: consistency of motion, markers and plates.

Input: markers, a fit, dynamics and filtered plates, as values. Settings are passed as parameters; limits derived from valid
recordings are in `library/checks/checks.toml`, with the measurements on which they are based. Output: an estimate (shift,
offset, ratio) and findings with a cause. The package does not depend on the analysis, the list of checks or the verdict.

Read in this order: `plate_evidence` (loads matched with stances, and the wrench required by the motion), then the
modules based on it: `causes`, `plate_signals`, `plate_faults`, `plate_height`, `synchronisation`, `residual`;
independent of it: `swapped_sides`, `moved_marker`, `signals` (gaps, spikes, tracking errors, joint limits, filters).
"""
