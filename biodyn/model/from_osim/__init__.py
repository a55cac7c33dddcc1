"""The body model of an OpenSim file, under the names of the model.

Input: an `OpenSimModel`. Output: an `ImportedModel`, a `SubjectModel` with a floating root, its bodies, feet, sides and joints,
and the gait variable of each coordinate, as far as names and geometry determine it.

Read `names` (names of parts in common models, which are data in library/body/opensim_models.toml; segments of the library;
soles), then `subject`. A model without feet has no gait cycles; a coordinate of unknown meaning keeps its name. The mechanics
of a floating root are in `rigid_body`.
"""
