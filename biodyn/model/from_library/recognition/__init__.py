"""Markers recognised by where they are: exchanged labels found and mended, unnamed markers named.

Comes in: the walk's markers, the quiet points of its static trial (both in World, Y up), and what the labels say
(`markersets.recognise`). Goes out: the same markers under the labels that they ought to have, and a finding for each change;
nothing changes where the points do not tell it clearly.

Read `person` first (a jointed person with the spread of people, postures and placements, library/body/person.toml, and its
fit to labelled points). `swap_detection` searches the labels of one instant, `swap_over_time` compares the walk with the
static trial and decides which of both is wrong, `corrected` applies both to two recordings and moves a marker of the big toe.
`unlabelled` labels the points of one instant, `labelled` those of two recordings.
"""
