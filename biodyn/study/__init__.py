"""Studies: from a folder of recordings to one tidy data set, group results and a report.

`discovery/` finds out what is in the folder and plans the trials; `running/` analyses each in a process that may die;
`collecting/` streams what they wrote into one data set; `group/` compares; `report/` shows. `study.py` joins them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
