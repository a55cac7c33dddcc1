"""A local page for laboratories without programmers: `biodyn open FOLDER`.

In: a folder of recordings, with the files in which corrections are kept. Out: the same files with the corrections of the page,
and the results that `biodyn study` makes of the folder.

The page shows, corrects, runs and reviews; it computes nothing. Recordings come from the discovery of a study, corrections are
entries of subject.toml and study.toml, and trials run through `Study.run` in a process of their own.

Read `corrections` (entries of the two files), then `opened_folder` (what the page shows), `job` (runs) and `server`.
"""
