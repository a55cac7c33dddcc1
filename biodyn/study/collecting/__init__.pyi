from .collection import CollectedStudy as CollectedStudy
from .collection import collect as collect
from .exporting import export as export
from .options import OutputOptions as OutputOptions
from .read import iterate_subjects as iterate_subjects
from .read import read_cycles as read_cycles
