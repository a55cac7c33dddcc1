"""Markers recognised by where they are: exchanged labels found and mended, unnamed markers named.

Comes in: the walk's markers, the quiet points of its static trial (both in World, Y up), and what the labels say
(`markersets.recognise`). Goes out: the same markers under the labels that they ought to have, and a finding for each change;
nothing changes where the points do not tell it clearly.

Read `person` first (a jointed person with the spread of people, postures and placements: library/body/person.toml), then
`fit` (that person fitted to labelled points, and what the fit says of each label). `exchanged` searches the labels of one
instant, `between` holds the walk against the static trial through time, `whose` tells which of both is wrong, `corrected` puts
it together for two recordings.
`unnamed` names the points of one instant without labels, `named` those of two recordings.
"""
