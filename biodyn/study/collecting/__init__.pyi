from .collection import CollectedStudy as CollectedStudy
from .collection import collect as collect
from .collection import export as export
from .read import iterate_subjects as iterate_subjects
from .read import read_cycles as read_cycles
