"""The two decorators of the kernels: `kernel` for an algorithm over frames, `inline` for its small helpers.

Floating point: products and sums may be fused (fma), nothing else: NaN stays NaN, the order of sums stays.
"""

from __future__ import annotations

from pathlib import Path

from numba import njit
from numba.core.caching import IndexDataCacheFile

# no reference counting: kernels allocate nothing, and counting would cost more than the arithmetic
_OPTIONS = {"fastmath": {"contract"}, "error_model": "numpy", "_nrt": False}

#: Options of helpers that disappear into the kernel that calls them.
INLINE_OPTIONS = {"forceinline": True, **_OPTIONS}
inline = njit(**INLINE_OPTIONS)

#: A long part of a kernel, called, not copied in: it keeps the compilation short.
part = njit(**_OPTIONS)


def sources_stamp() -> tuple[float, int]:
    """Return (newest modification time, total size) of the kernel sources.

    Numba renews a cached kernel only when the kernel's own file changes, not when a helper in another file does;
    with this stamp a change of any kernel source renews them all.
    """
    states = [path.stat() for path in Path(__file__).parent.glob("*.py")]
    return max(state.st_mtime for state in states), sum(state.st_size for state in states)


def kernel(function):
    """Compile `function` on first call, cache it on disk, release the interpreter lock while it runs."""
    dispatcher = njit(cache=True, nogil=True, **_OPTIONS)(function)
    cache_file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if isinstance(cache_file, IndexDataCacheFile):
        cache_file._source_stamp = sources_stamp()
    return dispatcher
