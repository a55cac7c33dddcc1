"""A trial compiles nothing after `compile_kernels`, loads its kernels from the cache folder, and works without one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from biodyn.kernels.jit import cache_folder
from biodyn.rigid_body import compile_kernels

SAMPLE = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"

# A process of its own: in this one other tests have called other kernels. Prints the kernels whose types `compile_kernels` did
# not compile, and those that were not loaded from the cache.
CALLED = f"""
import importlib, pkgutil
import biodyn.kernels
from biodyn.rigid_body import compilation_note, is_compiled, compile_kernels
assert is_compiled() and not compilation_note()
compile_kernels()
modules = [importlib.import_module(f"biodyn.kernels.{{m.name}}") for m in pkgutil.iter_modules(biodyn.kernels.__path__)]
kernels = {{one for module in modules for one in vars(module).values() if hasattr(one, "stats") and one.stats.cache_path}}
assert kernels
warmed = {{kernel: set(kernel.signatures) for kernel in kernels}}
from biodyn.trial.run import run_trial
run_trial({str(SAMPLE)!r})
print([kernel.__qualname__ for kernel, known in warmed.items() if not set(kernel.signatures) <= known])
print([kernel.__qualname__ for kernel in kernels if kernel.stats.cache_misses])
"""
# What an analysis loads where its kernels are kept: what compiling needs, what tables and figures are made with, and libraries
# that take longer than a walk, stay out.
LOADED = """
import sys
import biodyn.trial.run
from biodyn.rigid_body import is_compiled, compile_kernels
assert is_compiled()
compile_kernels()
print([name for name in ("numba.np.arraymath", "scipy.signal", "scipy.stats", "pandas", "matplotlib") if name in sys.modules])
"""

# SciPy's rotations take as long as all kernels.
KERNELS_LOADED = """
import sys
from biodyn.rigid_body import compile_kernels
compile_kernels()
print([name for name in sys.modules if name.startswith("scipy.spatial")])
"""


def run(code: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_after_warming_up_a_trial_compiles_nothing() -> None:
    compile_kernels()  # they are on disk
    assert run(CALLED) == ["[]", "[]"]


@pytest.mark.slow
def test_loading_kernels_does_not_load_what_compiling_needs() -> None:
    compile_kernels()
    assert run(LOADED) == ["[]"]
    assert run(KERNELS_LOADED) == ["[]"]


# -- the cache folder ---------------------------------------------------------------------------------------------------

POSES = """
from biodyn.kernels import kinematics
from biodyn.rigid_body.compilation import _tiny_model, body_poses
mb, q, _ = _tiny_model()
print(body_poses(mb, q)[1].shape, sum(kinematics.fill_link_poses.stats.cache_hits.values()))
"""
posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has no owners of folders")


@pytest.mark.slow
def test_a_kernel_is_kept_where_the_variable_says_and_loaded_again(tmp_path: Path) -> None:
    assert run(POSES, BIODYN_CACHE_DIR=str(tmp_path)) == ["(1, 2, 3) 0"]
    assert run(POSES, BIODYN_CACHE_DIR=str(tmp_path)) == ["(1, 2, 3) 1"]
    for damage in (b"", b"garbled"):
        for path in tmp_path.rglob("*.nb?"):
            path.write_bytes(damage)
        assert run(POSES, BIODYN_CACHE_DIR=str(tmp_path)) == ["(1, 2, 3) 0"]


def test_without_a_home_a_private_temporary_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BIODYN_CACHE_DIR", str(tmp_path / "file"))  # no folder can be made there, even by root
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = cache_folder()
    assert folder is not None
    assert folder.is_relative_to(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    assert cache_folder() is None


@posix
def test_a_folder_that_others_may_write_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIODYN_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "file").touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    folder = cache_folder()
    assert folder is not None
    folder.chmod(0o777)
    assert cache_folder() is None
