"""biodyn: from a gait laboratory's raw C3D files to joint torques one can trust.

`run_trial` does what `biodyn run` does, `load` opens what it wrote, `replay` does what `biodyn replay` does, and `run_study`
what `biodyn study` does; `read` opens a recording of any format. Imports are lazy, so that the command line answers at once.
"""

import lazy_loader

__version__ = "0.2.0.dev0"
__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *_names]
