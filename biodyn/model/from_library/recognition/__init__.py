"""Markers identified by their position: swapped labels are corrected, unlabelled markers are labelled.

Input: markers of the walk, mean positions of the static trial (both in World, Y up), and what the labels mean
(`markersets.recognise_marker_set`). Output: markers with correct labels, findings for changes; ambiguous labels are kept.

Read `person` first (a jointed person with the distribution of body sizes, postures and marker placements,
library/body/person.toml, and its fit to labelled points). `swap_detection` searches the labels of one frame, `swap_over_time`
compares the walk with the static trial, `label_correction` applies both. `point_labelling` labels the points of one frame,
`two_recordings` the points of two recordings.
"""
