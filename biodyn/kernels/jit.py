"""The decorators of the kernels: `kernel` for an algorithm over frames, the others for its parts.

Floating point: products and sums may be fused (fma), nothing else: NaN stays NaN, the order of sums stays.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile

_njit: Any = numba.njit  # its annotations leave out the options used here
# no reference counting: kernels allocate nothing, and counting would cost more than the arithmetic
_OPTIONS: dict[str, Any] = {"fastmath": {"contract"}, "error_model": "numpy", "_nrt": False}

# what Python never calls needs no wrappers: half the compilation time
_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_OPTIONS}

#: Options of helpers that disappear into the kernel that calls them.
INLINE_OPTIONS: Any = {"forceinline": True, **_INTERNAL}
inline: Any = _njit(**INLINE_OPTIONS)

#: A long part of a kernel, called, not copied in. Numba optimises a part again with everything that calls it, so parts
#: do not call parts.
part: Any = _njit(**_INTERNAL)

#: A part that does call parts: copied into its caller before compilation.
merged: Any = _njit(inline="always", **_INTERNAL)


@cache
def sources_stamp() -> tuple[float, int]:
    """Return (newest modification time, total size) of the kernel sources.

    Numba renews a cached kernel only when the kernel's own file changes, not when a helper in another file does;
    with this stamp a change of any kernel source renews them all.
    """
    states = [path.stat() for path in Path(__file__).parent.glob("*.py")]
    return max(state.st_mtime for state in states), sum(state.st_size for state in states)


def _cache_file(dispatcher) -> IndexDataCacheFile | None:
    """Return where numba keeps a kernel on disk; None where this version of numba does not tell."""
    found = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    return found if isinstance(found, IndexDataCacheFile) else None


def is_cached(dispatcher) -> bool:
    """Tell whether a compiled form of the kernel for this processor waits on disk (False where unknown)."""
    cache_file = _cache_file(dispatcher)
    if cache_file is None:
        return False
    processor = dispatcher.targetctx.codegen().magic_tuple()
    return any(key[1] == processor for key in cache_file._load_index())


def kernel(function: Any) -> Any:
    """Compile `function` on first call, cache it on disk, release the interpreter lock while it runs."""
    dispatcher = _njit(cache=True, nogil=True, no_cfunc_wrapper=True, **_OPTIONS)(function)
    cache_file = _cache_file(dispatcher)
    if cache_file is not None:
        cache_file._source_stamp = sources_stamp()
    return dispatcher
