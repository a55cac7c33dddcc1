"""Kernels that an installation brings compiled: for one level of processor that nearly all have, and for one program.

A wheel may hold them (`.ci/kernels` makes them), in a folder named by the stamp of `storage`: sources, numba, llvmlite, numpy,
Python and system. Whatever differs there, they are not found and kernels are compiled as ever. They give the same numbers; a
kernel of this processor's own takes between all and half of their time, which is a twentieth of a trial's: own ones come first
where they are kept, and are compiled where BIODYN_OWN_KERNELS is set.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

#: Where they lie.
FOLDER: Final = Path(__file__).parent / "ready"
#: Environment variable that asks for kernels of this processor's own.
OWN_VARIABLE: Final = "BIODYN_OWN_KERNELS"
#: Third level of the x86-64 psABI: Intel since 2013, AMD since 2015; as numba's NUMBA_CPU_NAME and NUMBA_CPU_FEATURES take them.
PROCESSOR: Final = "x86-64-v3"
FEATURES: Final = (
    "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"
)
_ARCHITECTURE: Final = "x86_64"


def fitting(processor: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the processor they are compiled for as `magic_tuple` of numba's code generator has it; None where they do not run.

    Parameters: `processor`: that tuple of this computer: triple, name, features.
    """
    triple, _, features = processor
    if os.environ.get(OWN_VARIABLE) or not str(triple).startswith(_ARCHITECTURE):
        return None
    return (triple, PROCESSOR, FEATURES) if {*FEATURES.split(",")} <= {*str(features).split(",")} else None
