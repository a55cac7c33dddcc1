"""What compiles is said when it compiles, and only then; `warm_up` covers what the analysis of a trial calls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from biodyn.kernels.watch import tell, watched

SAMPLE = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"

# A process of its own: in this one other tests have called other kernels. Prints what was said, and the kernels that were
# called but are not known to be (or the other way round).
CALLED = f"""
import importlib, pkgutil
import biodyn.kernels
from biodyn.kernels.jit import _KernelCache, is_cached
from biodyn.kernels.watch import watched
from biodyn.rigid_body import compilation, warm_up
warm_up()
for kernel in compilation.trial_kernels():
    assert kernel.signatures and is_cached(kernel), kernel
    kernel._reset_overloads()
from biodyn.trial.run import run_trial
with watched(print):
    run_trial({str(SAMPLE)!r}).view
modules = [importlib.import_module(f"biodyn.kernels.{{m.name}}") for m in pkgutil.iter_modules(biodyn.kernels.__path__)]
found = [one for module in modules for one in vars(module).values()]
kernels = {{one for one in found if isinstance(getattr(one, "_cache", None), _KernelCache)}}
print(sorted(kernel.__qualname__ for kernel in kernels if kernel.signatures))
print(sorted(kernel.__qualname__ for kernel in compilation.trial_kernels()))
print(compilation.is_compiled())
"""


def run(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_after_warming_up_a_trial_compiles_nothing_and_calls_no_other_kernel() -> None:
    called, known, compiled = run(CALLED)  # one line more would be "Compiling ..."
    assert called == known
    assert compiled == "True"


def test_each_sentence_is_heard_once_and_only_within() -> None:
    heard: list[str] = []
    tell("nobody")
    with watched(heard.append):
        tell("compiling")
        tell("")
        tell("compiling")
        tell("not kept")
    tell("too late")
    assert heard == ["compiling", "not kept"]
