"""Ground forces that lie in a table beside the motion: force, point and free moment (OpenSim's tables, spreadsheets), or the six
components of plates (spreadsheets).

In: the path of a table or an ExternalLoads XML, or of a motion beside which it lies. Out: the motion's `Recording` with a
`ForcePlate` for each force, which says that its edges are not known and, where the file tells, on which foot it acts.

No force or moment depends on where such a plate is drawn; whether a foot hangs over its edge is not asked.

Read `read` (the file), `beside` (which file belongs to a motion), `attach` (all of it). Which columns are forces, and how they
become plates, is told by `biodyn.io.tables`.
"""

from biodyn.io.ground_forces.attach import with_forces, with_forces_beside

__all__ = ["with_forces", "with_forces_beside"]
