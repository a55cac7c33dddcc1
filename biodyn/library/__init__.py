"""All tables of biodyn, in TOML, by owner; the one reader of TOML files, and the schemas that they are held against.

    body/        skeletons, marker sets, anthropometric tables, joint centres, landmarks, measures      model.from_library
    uncertainty/ magnitudes of errors                                                                   uncertainty
    formats/     names, units and channels in files of laboratories                                     io, session, trial
    gait/        errors of gait events                                                                  processing.gait
    checks/      limits and words of the checks of the input data                                       checks
    variables/   what variables mean, and published norms                                               variables
    figures/, report/, results/  layout of figures, sources that reports cite, files of old results     output
    study/       words in names of files, what is compared, metrics of the summary                      study
    simulation/  template, walk and skin of the simulated person                                        simulation

Goes in: a table's path in this folder, or the path of a user's own file. Comes out: its content; for a user's file also its
place and the hash of its bytes, or one sentence that names file, entry and key. Read `load` (reading, and `nearest` name),
`tables` (entries by kind and name, both sides written out), `schema` (what a table may hold; one file an owner), `faults`
(what is wrong, in words), `registry` (lists that grow by a file).
"""
