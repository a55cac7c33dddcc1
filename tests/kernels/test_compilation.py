"""What compiles is said when it compiles, and only then; `warm_up` covers what the analysis of a trial calls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from biodyn.kernels.watch import tell, watched
from biodyn.rigid_body import compilation

SAMPLE = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"

# A process of its own: in this one other tests have called other kernels. Prints what was said, and the kernels that were
# called but are not known to be (or the other way round), then those called with types that warming up did not compile.
CALLED = f"""
import importlib, pkgutil, tempfile
from pathlib import Path
import biodyn.kernels
from biodyn.kernels.jit import _KernelCache, is_cached
from biodyn.kernels.watch import watched
from biodyn.rigid_body import compilation, warm_up
warm_up()
warmed = {{kernel: set(kernel.signatures) for kernel in compilation.trial_kernels()}}
for kernel in compilation.trial_kernels():
    assert kernel.signatures and is_cached(kernel), kernel
    kernel._reset_overloads()
from biodyn.output.store.write import write_view
from biodyn.trial.run import run_trial
with watched(print), tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
    view = run_trial({str(SAMPLE)!r}).view
    write_view(view, Path(one))
    write_view(view, Path(other), pack=True)
modules = [importlib.import_module(f"biodyn.kernels.{{m.name}}") for m in pkgutil.iter_modules(biodyn.kernels.__path__)]
found = [one for module in modules for one in vars(module).values()]
kernels = {{one for one in found if isinstance(getattr(one, "_cache", None), _KernelCache)}}
print(sorted(kernel.__qualname__ for kernel in kernels if kernel.signatures))
print(sorted(kernel.__qualname__ for kernel in compilation.trial_kernels()))
print([kernel.__qualname__ for kernel, known in warmed.items() if not set(kernel.signatures) <= known])
print(compilation.is_compiled())
"""

# What an analysis loads where its kernels are kept: what compiling needs, what tables and figures are made with, and libraries
# that take longer than a walk, stay out.
LOADED = """
import sys
import biodyn.trial.run
from biodyn.rigid_body import compilation
assert compilation.is_compiled()
compilation.warm_up()
print([name for name in ("numba.np.arraymath", "scipy.signal", "scipy.stats", "pandas", "matplotlib") if name in sys.modules])
"""

# SciPy's rotations take as long as all kernels.
KERNELS_LOADED = """
import sys
from biodyn.rigid_body import warm_up
warm_up()
print([name for name in sys.modules if name.startswith("scipy.spatial")])
"""


def run(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_after_warming_up_a_trial_compiles_nothing_and_calls_no_other_kernel() -> None:
    called, known, others, compiled = run(CALLED)  # one line more would be "Compiling ..."
    assert called == known
    assert others == "[]"
    assert compiled == "True"


def test_loading_kernels_does_not_load_what_compiling_needs() -> None:
    compilation.warm_up()  # they are on disk
    assert run(LOADED) == ["[]"]
    assert run(KERNELS_LOADED) == ["[]"]


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


def test_a_piece_of_work_is_done_by_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    work = {name: (lambda name=name: done.append(name)) for name in ("fit", "forward", "mass")}
    monkeypatch.setattr(compilation, "_work", lambda: work)
    (tmp_path / "forward").touch()  # taken by another one
    heard: list[str] = []
    compilation.compile_share(str(tmp_path), heard.append)
    assert done == ["fit", "mass"]
    assert heard == ["compiling kernels, 2 of 3", "compiling kernels, 3 of 3"]
    compilation.compile_share(str(tmp_path))
    assert done == ["fit", "mass"]


def test_no_helper_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "processors", lambda: 3)
    with compilation._helpers(str(tmp_path)) as helpers:
        assert len(helpers) == 2
    assert all(helper.poll() is not None for helper in helpers)


def test_a_helper_ends_where_the_process_that_started_it_is_killed() -> None:
    """Nobody waits for it then: its standard input is closed, and its work would take minutes."""
    work = "import time; compilation.compile_share = lambda taken: time.sleep(600)"
    code = f"from biodyn.rigid_body import compilation; {work}; compilation.help_compile('')"
    helper = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    assert helper.stdin is not None
    helper.stdin.close()
    try:
        assert helper.wait(120) == 1
    finally:
        helper.kill()


def test_where_no_process_may_be_started_this_one_does_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(compilation, "processors", lambda: 4)
    monkeypatch.setattr(compilation.subprocess, "Popen", refuse)
    with compilation._helpers(str(tmp_path)) as helpers:
        assert helpers == []


def test_where_python_is_part_of_another_program_that_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "processors", lambda: 4)
    monkeypatch.setattr(sys, "executable", "/opt/other/program")
    with compilation._helpers(str(tmp_path)) as helpers:
        assert helpers == []
