"""Signal processing: world axes, gap filling, smoothing of markers, wrenches of the plates, derivatives.

Input: a `Recording`, its marker mapping and the section [signals] (`settings`). Output: `TrialSignals` with the recorded,
gap-filled and smoothed markers, and the wrench of every plate at its sampling rate and at the marker frames.

Entry points: `world_frame.find_world` determines the upward and forward axes, and `signal_preparation.prepare_signals`
computes the signals; `signal_preparation.replace_markers` and `replace_wrenches` recompute them when a later stage
excludes a marker or corrects a plate. `gaps` fills gaps, `smoothing/` has one method per file based on `filtering`,
`plate_wrenches` computes wrenches and `plate_channels` corrects channels. `derivatives` and `segment_angles` are used by
later stages: velocities, accelerations and continuous segment angles.
"""
