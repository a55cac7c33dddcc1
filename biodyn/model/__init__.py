"""The body model: from a recipe, a marker set and a static trial to the subject's multibody with markers attached.

Goes in: tables of the library or of the user (skeleton, marker set, anthropometry, hip centres, landmarks), points of
the static trial, body mass and measures. Comes out: a `SubjectModel`: links, coordinates, segment inertias, markers
on segments, and notes on what was assumed.

Read `definition` (the skeleton's recipe) and `markersets` (labels and landmarks), `landmarks` (points, joint centres
and segment axes), `hip_centre`, `anthropometry` (masses and inertias), `scaling` (all of it together), `subject` (the
model itself), then `observability` (what the markers can see), `inside_body` (points that are no skin markers) and
`moved_centre` (what a wrong joint centre would change). No marker, segment or joint is named in code: names are data.
"""
