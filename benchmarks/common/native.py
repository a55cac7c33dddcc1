"""Other engines in loops of their own language: small C and C++ sources (benchmarks/native) compiled against what pip brought.

`pinocchio_library` needs the headers of Pinocchio (`pip install pin`) and Eigen (`pip install cmeel-eigen`, or the folder in
BIODYN_EIGEN), `mujoco_library` those of MuJoCo (`pip install mujoco`); both a compiler: CXX or CC, else the system's. Each
ends the benchmark with one sentence where something is missing. A library is kept in benchmarks/results/native.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common.data import REPOSITORY

_SOURCES = REPOSITORY / "benchmarks" / "native"
_BUILT = REPOSITORY / "benchmarks" / "results" / "native"
# what Pinocchio asks of those who compile its templates
_PINOCCHIO = (
    "-std=c++17 -DNDEBUG -DBOOST_MPL_LIMIT_LIST_SIZE=30 -DBOOST_MPL_LIMIT_VECTOR_SIZE=30 "
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS -DBOOST_FUSION_INVOKE_MAX_ARITY=12"
)


def pinocchio_library() -> ctypes.CDLL:
    """Return Pinocchio's loops, compiled for this processor."""
    prefix = _of_package("pin", "cmeel.prefix")
    eigen = _eigen(prefix)
    headers = [f"-isystem{prefix / 'include'}", f"-isystem{eigen}"]
    linked = [f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}", "-lpinocchio_default"]
    return _library("pinocchio.cpp", [*shlex.split(_PINOCCHIO), *headers], linked)


def mujoco_library() -> ctypes.CDLL:
    """Return MuJoCo's loops around its own C library."""
    folder = _of_package("mujoco", "mujoco")
    found = sorted([*folder.glob("libmujoco.so*"), *folder.glob("libmujoco*.dylib")])
    if not found:
        sys.exit(f"MuJoCo's C library is not in {folder}, so its native loops cannot be built.")
    return _library("mujoco.c", [f"-I{folder / 'include'}"], [str(found[0]), f"-Wl,-rpath,{folder}", "-lm"])


def peaks_library() -> ctypes.CDLL:
    """Return the loop that measures scalar arithmetic."""
    return _library("peaks.c", ["-fno-tree-vectorize", "-fno-tree-slp-vectorize"], ["-lm"])


def pointer(array: NDArray[np.float64] | NDArray[np.int64] | None) -> ctypes.c_void_p:
    """Return where a C-ordered array begins, null for None."""
    if array is None:
        return ctypes.c_void_p(None)
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


def compiler(cpp: bool) -> list[str]:
    """Return the command of a C++ or C compiler, or end with one sentence."""
    variable, names = ("CXX", ("g++", "clang++")) if cpp else ("CC", ("gcc", "clang"))
    if os.environ.get(variable):
        return shlex.split(os.environ[variable])
    for name in names:
        if shutil.which(name):
            return [name]
    sys.exit(f"Native loops need a compiler: install {' or '.join(names)}, or name one in {variable}.")


def _of_package(package: str, folder: str) -> Path:
    try:
        place = Path(str(distribution(package).locate_file(folder)))
    except PackageNotFoundError:
        place = None
    if place is None or not (place / "include").is_dir():
        sys.exit(f"The headers of package '{package}' are not at hand, so its native loops cannot be built.")
    return place


def _eigen(prefix: Path) -> Path:
    named = os.environ.get("BIODYN_EIGEN")
    places = [Path(named)] if named else [prefix / "include" / "eigen3", Path("/usr/include/eigen3")]
    for place in places:
        if (place / "Eigen" / "Core").is_file():
            return place
    sys.exit("Eigen's headers are not at hand: pip install cmeel-eigen, or name their folder in BIODYN_EIGEN.")


def _library(source: str, headers: Sequence[str], linked: Sequence[str]) -> ctypes.CDLL:
    """Compile a source unless that was done before with the same command, and load it."""
    file = _SOURCES / source
    command = [*compiler(file.suffix == ".cpp"), "-shared", "-fPIC", "-O3", "-march=native", *headers, str(file)]
    key = hashlib.sha256("\0".join([*command, *linked, file.read_text(encoding="utf-8")]).encode()).hexdigest()[:16]
    built = _BUILT / f"{file.stem}-{key}.so"
    if not built.is_file():
        built.parent.mkdir(parents=True, exist_ok=True)
        print(f"Compiling {source}, once; the templates of Pinocchio take minutes.", file=sys.stderr)
        unfinished = built.with_suffix(".part")
        done = subprocess.run([*command, "-o", str(unfinished), *linked], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{source} does not compile against these headers: {done.stderr.strip().splitlines()[0]}")
        unfinished.replace(built)
    return ctypes.CDLL(str(built))
