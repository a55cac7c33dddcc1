"""A local page for laboratories without programmers: `biodyn open FOLDER`.

In: a folder of recordings, with subject.toml and study.toml. Out: these files with corrections, and the results of `biodyn study`
for the folder.

The page displays and corrects recordings, starts analyses and records reviews; it computes nothing. Recordings are found as for a
study, corrections are entries of subject.toml and study.toml, and trials are analysed by `Study.run` in a separate process.

Read `corrections` (entries of the two files), then `opened_folder` (contents of the page), `analysis_job` and `server`.
"""
