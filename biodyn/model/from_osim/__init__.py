"""The body model of an OpenSim file: what gait, contacts, tables and pages need of it, under the names of the model itself.

In comes an `OpenSimModel`. Out goes an `ImportedModel`, a `SubjectModel` whose root floats, with its bodies, feet, sides and
joints, and with what each of its coordinates is over the gait cycle, as far as names and geometry tell.

Read `names.py` (what parts are called in the models that people use, which is data in library/body/opensim_models.toml; which
segment of the library's tables a body is; soles), then `subject.py`. What is not known goes without: a model without feet has no
gait cycles, a coordinate without a meaning here keeps its name. The mechanics of a floating root lie in the room `rigid_body`.
"""
