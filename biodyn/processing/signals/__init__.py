"""A recording made ready: world axes, gaps, smoothed markers, plates as wrenches, and derivatives of a motion.

Goes in: a `Recording` in World, its marker mapping and the section [signals] (`parameters`). Comes out: `TrialSignals`, the
markers recorded, with gaps filled and smoothed, and the wrench of every plate at its own rate and at the marker frames.

The call is `prepare.prepare_signals`; `prepare.with_markers` and `with_plates` make the same signals again where a later
stage knows better (an outlier, a foot beside a plate). Before it, `orientation.find_world` finds up and forward. Read
`orientation`, `prepare`, `gaps`, `smoothing/` (a method a file, chosen by `signals.method`) over `filtering`,
`automatic_cutoff` (the cut-off that the markers ask for); then `plates` with `plate_offset` and `plate_channels`. Used by
later stages: `derivatives` (velocities and accelerations from a spline through the configurations, also of an
imported model) and `attitude` (angles of a segment that run on through time).
"""
