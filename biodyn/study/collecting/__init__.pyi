from .data_set_reader import iterate_subjects as iterate_subjects
from .data_set_reader import read_cycles as read_cycles
from .result_aggregation import CollectionSummary as CollectionSummary
from .result_aggregation import collect_results as collect_results
from .result_aggregation import export_tables as export_tables
