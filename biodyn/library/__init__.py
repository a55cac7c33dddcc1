"""All tables of biodyn, in TOML, by owner; the one reader of TOML files, and the schemas that they are held against.

    body/                        skeletons, marker sets, anthropometric tables, joint centres, landmarks  model.from_library
    formats/, session/           names, units and channels in files; words in the names of files          io, trial; session
    presets/, conventions/       analyses as other programs do them; their names, signs and units         settings; trial.export
    gait/, uncertainty/          errors of gait events; of every input of the torques                     processing, uncertainty
    checks/                      limits and words of the checks                                           checks
    variables/                   what variables mean, and published norms                                 variables
    figures/, report/, results/  layout of figures, cited sources, files of old results                   output
    study/                       what is compared, metrics, files of the report                           study

Goes in: a table's path in this folder, or the path of a user's own file. Comes out: its content; for a user's file also its
place and the hash of its bytes, or one sentence that names file, entry and key. Read `load` (reading, and `nearest` name),
`tables` (entries by kind and name, both sides written out), `schema` (what a table may hold; one file an owner), `faults`
(what is wrong, in words), `registry` (lists that grow by a file).
"""
