"""Estimators behind the checks: what motion, markers and plates say about each other.

Goes in: markers, a fit, dynamics, filtered plates, as values; numbers that come from the settings are parameters, those that
tell sound recordings from faulty ones stand with their measurements in `library/checks/checks.toml`. Comes out: an estimate
(a shift, an offset, a ratio) and the findings that name a cause. Nothing here knows an analysis, a list or a verdict.

Read in this order: `evidence` (body against plates: the steps and the wrench that the motion asks for), then those that use
it: `units`, `plate_faults`, `plate_moved`, `time_offset`, `mass`, `residual` with `unseen`; beside it `zero` (empty plates),
`sides`, `labels`, `moved_marker`, `signals` (gaps, spikes, tracking errors, joint limits, filters).
"""
