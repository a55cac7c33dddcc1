"""Systems with the joint-space inertia matrix, by its Cholesky factors with the tree's sparsity (sparse.py)."""

from __future__ import annotations

from biodyn.kernels.jit import kernel
from biodyn.kernels.sparse import factorise, solve


@kernel
def solve_with_mass(dof_path, dof_depth, M, right, result, rows, diagonal):
    """Fill result (T, nv) = M^-1 right; M (T, nv, nv) as crba.py makes it, right (T, nv).

    rows (nv stride,) and diagonal (nv,) are working memory.
    """
    nv = dof_path.shape[0]
    stride = rows.shape[0] // nv
    for t in range(M.shape[0]):
        for j in range(nv):
            for d in range(dof_depth[j] + 1):
                rows[j * stride + d] = M[t, j, dof_path[j, d]]
            diagonal[j] = M[t, j, j]
            result[t, j] = right[t, j]
        factorise(dof_path, dof_depth, rows, stride, diagonal)
        solve(dof_path, dof_depth, rows, stride, result[t])
