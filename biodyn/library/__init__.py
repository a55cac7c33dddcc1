"""All TOML tables of biodyn, grouped by the package that uses them, and the schemas of user tables.

    body/                        skeletons, marker sets, anthropometric tables, joint centres, landmarks  model.from_library
    formats/, session/           names, units and channels in files; words in file names                  io, trial; session
    presets/, conventions/       analyses as in other programs; their names, signs and units              settings; trial.export
    gait/, uncertainty/          errors of gait events; of every input of the torques                     processing, uncertainty
    checks/                      limits of the checks and titles of findings                              checks
    variables/                   variables and published norms                                            variables
    figures/, report/, results/  layout of figures, cited sources, files of older results                 output
    study/                       compared variables, metrics, files of the report                         study

Input: the path of a table in this folder, or of a user's file. Output: its content; for a user's file also its path and the hash
of its bytes, or an error that names file, entry and key. Read `toml_files` (reading, and `suggest_name`), `tables` (tables by
kind and name, both sides written out), `schema` (tables of a user), `entry_faults` (sentences about invalid entries), `registry`.
"""
