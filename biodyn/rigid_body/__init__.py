"""Rigid-body dynamics over arrays of frames; see docs/engine.md. Names load what they need when first used.

In: a `Multibody` (bodies, joints, masses) and arrays of its configuration, velocity, acceleration, forces, frames first.
Out: arrays of the same length. Compiled loops are in `biodyn.kernels`; here are the checks of shapes and the public names,
which `__init__.pyi` lists once for the program and for type checkers.

Read `joint` and `multibody` (the model), `algorithms` (one call an algorithm), then what builds on them: `motion`, `dynamics`,
`jacobians`, `whole_body`, `second_order`, `constraints`, `identification`, `simulation`, `marker_fit` (inverse kinematics),
the formats `urdf`, `mjcf`, and `coupling` (coordinates that move several joints by a law) with `osim`, which needs it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
