"""What several tests and benchmarks share: made sessions, walkers, studies and files, independent readers, reference vectors.

`real` holds the one place where real recordings and reference vectors are found or tests skipped; `sessions` a simulated
laboratory as C3D files; `stick_person`, `c3d_corpus` and `independent_reader` files written and read without biodyn; `walker`,
`synthetic` values as they stand in the middle of the analysis; `trees`, `reference_vectors` multibody systems; `study_folder`,
`made_studies`, `made_folder`, `recordings` studies in several states; `reference_cases` worked statistics; `benchmark` loads a
benchmark as a module.
"""
