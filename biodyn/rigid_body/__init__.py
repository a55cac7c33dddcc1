"""Rigid-body dynamics over arrays of frames; see docs/engine.md. Names are imported on first use.

In: a `Multibody` (bodies, joints, masses) and arrays of configuration, velocity, acceleration, forces, frames first.
Out: arrays of the same length. Compiled loops are in `biodyn.kernels`; this package checks shapes and has the public names,
which `__init__.pyi` lists for the program and for type checkers.

`multibody` is the model; `kinematics` and `dynamics` have a function an algorithm; `marker_fit` is inverse kinematics;
`model_files` reads and writes URDF and MJCF; `coupling` has coordinates that move several
joints by functions, and `osim` the OpenSim models that need them. `compilation` compiles the kernels beforehand.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
