"""The state of compilation is told truly, and a change of any kernel source renews the kernels on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import biodyn.kernels
from biodyn.kernels.jit import sources_stamp

TELL = "from biodyn.rigid_body import is_compiled; print(is_compiled())"


def test_an_empty_cache_is_not_compiled(tmp_path):
    environment = dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", TELL], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_stamp_covers_every_kernel_source():
    newest, size = sources_stamp()
    sources = list(Path(biodyn.kernels.__file__).parent.glob("*.py"))
    assert newest == max(path.stat().st_mtime for path in sources)
    assert size == sum(path.stat().st_size for path in sources)
