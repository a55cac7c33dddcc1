"""biodyn: from a gait laboratory's raw C3D files to joint torques one can trust.

In: the recording of a walk and one of standing, or a folder of many. Out: joint torques with bands, checks and a verdict, as
values and as result folders; of a study also one data set, group statistics and a report. `run_trial` does what `biodyn run`
does, `run_session` what `biodyn session` does, `run_study` what `biodyn study` does, `compare` what `biodyn compare` does,
`plates` what `biodyn plates` does and `replay` what `biodyn replay` does; `load` opens a result, and `read` a recording of any
format. A result's `export` writes it for other programs. Imports are lazy, so that the command line answers at once.

Packages import only those below them. Along the data's way: `recording` (what a file holds), `io`, `session`, `model`,
`processing`, `estimation`, `verification`, `comparison` (why two analyses differ), `uncertainty`, `analysis`, `checks`,
`output`; `trial` puts them in order, `study` takes many trials, `cli` is the command line. Beneath them: `library` (tables),
`geometry`, `kernels` and `rigid_body` (dynamics), `statistics`, `variables` (what a number means). Begin with `trial/steps.py`.
"""

import lazy_loader

from biodyn.version import VERSION as __version__

__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *_names]
