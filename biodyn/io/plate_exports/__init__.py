"""Force plates as laboratories' software exports them as text beside the trajectories.

In: the path of such a file. Out: `ExportedPlates`: the numbers in N, m and N m as a table, with the columns of each plate, which
`biodyn.io.ground_forces` attaches to the motion.

Programs do not say about which point a plate's moments are, and may store what the person does to the plate instead of what
it does to the person: of the moments only the free one is taken, about the point for which no moment across the floor is left
(`biodyn.io.tables.force_plates`).

Read `read` (which program wrote a file), `loads` (what they have in common), then `nexus`, `qualisys` and `cortex`.
"""

from biodyn.io.plate_exports.read import exported_beside, read_exported_plates

__all__ = ["exported_beside", "read_exported_plates"]
