"""Body model of an OpenSim file, with the names of the file.

Input: an `OpenSimModel`. Output: an `ImportedModel`, a `SubjectModel` with a floating root, its bodies, feet, sides and joints,
and the gait variable of each coordinate, as far as names and geometry determine it.

Read `part_identification` (names of parts in common models, defined in library/body/opensim_models.toml; segments of
the library; soles), then `imported_model`. A model without feet has no gait cycles; a coordinate of unknown meaning
keeps its name. `rigid_body` has the mechanics of a floating root.
"""
