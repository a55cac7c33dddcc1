"""The benchmark counts the operations of the computation that is timed: run as Python, the kernels give the same numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.reference_vectors import reference
from support.trees import relative

from biodyn.rigid_body import inverse_dynamics, joint_jacobians, mass_matrix

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# products and sums are fused in compiled kernels only
ROUNDING = 1e-12


@pytest.mark.slow
def test_counted_kernels_are_the_compiled_ones():
    name = "lower12_sph"
    mb, ref = reference(name)
    done = subprocess.run(
        [sys.executable, "-m", "common.counting", name],
        cwd=BENCHMARKS,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    q, v, vdot, loads = ref["q"][:1], ref["v"][:1], ref["a"][:1], ref["wrenches"][:1, :2]
    expected = {
        "inverse dynamics": inverse_dynamics(mb, q, v, vdot, loads, ref["ext_link_index"][:2]),
        "mass matrix": mass_matrix(mb, q),
        "joint Jacobians": joint_jacobians(mb, q),
    }
    for task, result in expected.items():
        assert relative(np.array(counts[task]["result"]), result.ravel()) < ROUNDING, task
        assert counts[task]["operations"] > mb.nv, task
    assert relative(np.array(counts["forward dynamics"]["result"]), vdot[0]) < 1e-9  # through the inverse of M
