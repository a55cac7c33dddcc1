"""AddBiomechanics archives, .b3d: read as a recording where they hold one trial; `biodyn.io.b3d` is their reader."""

from biodyn.io.b3d import is_archive, read_b3d
from biodyn.io.format import FORMATS, Format

FORMATS.add("b3d", Format("AddBiomechanics archive", (".b3d",), is_archive, read_b3d))
