"""Rigid-body dynamics over arrays of frames; see docs/engine.md. Names are imported on first use.

Input: a `Multibody` (bodies, joints, masses) and arrays of configurations, velocities, accelerations and forces, frames first.
Output: arrays of the same length. Compiled loops are in `biodyn.kernels`; this package checks shapes and has the public names,
which `__init__.pyi` lists for the program and for type checkers.

`multibody` defines the model; `kinematics` and `dynamics` have one function for each algorithm; `marker_fit` is inverse
kinematics; `model_files` reads and writes URDF and MJCF; `coupling` handles coordinates that move several joints by functions,
and `osim` reads OpenSim models, which need them. `compilation` compiles the kernels in advance.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
