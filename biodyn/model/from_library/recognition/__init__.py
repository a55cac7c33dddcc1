"""Identification of markers by position: correction of swapped labels, labelling of unlabelled markers.

Input: markers of the walk, mean positions of the static trial (both in World, Y up), and the meanings of the labels
(`markersets.recognise_marker_set`). Output: markers with correct labels, and findings about changes; ambiguous labels are kept.

Read `articulated_marker_model` first (a jointed person with distributions of body sizes, postures and marker
placements, library/body/person.toml, and its fit to labelled points). `swap_detection` finds swapped labels in one frame,
`swap_over_time` compares the walk with the static trial, and `label_correction` applies both. `point_labelling` labels the
points of one frame, and `labelling_by_position` compares two recordings.
"""
