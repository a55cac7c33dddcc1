from .collection import CollectionSummary as CollectionSummary
from .collection import collect_results as collect_results
from .collection import export_tables as export_tables
from .data_set_reader import iterate_subjects as iterate_subjects
from .data_set_reader import read_cycles as read_cycles
