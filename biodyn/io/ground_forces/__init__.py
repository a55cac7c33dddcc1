"""Ground forces that lie in a table beside the motion, as force, point and free moment: OpenSim's .mot and .sto.

In: the path of a table or an ExternalLoads XML, or of a motion beside which it lies. Out: the motion's `Recording` with a
`ForcePlate` for each force, which says that its edges are not known and, where the file tells, on which foot it acts.

No force or moment depends on where such a plate is drawn; whether a foot hangs over its edge is not asked.

Read `columns` (which columns are forces), `read` (the file), `unknown` (rows that tell no load), `virtual_plates` (forces as
plates), `beside` (which file
belongs to a motion), `attach` (all of it).
"""

from biodyn.io.ground_forces.attach import with_forces, with_forces_beside

__all__ = ["with_forces", "with_forces_beside"]
