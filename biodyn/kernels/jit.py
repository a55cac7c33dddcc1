"""The decorators of the kernels: `kernel` for an algorithm over frames, the others for its parts.

Floating point: products and sums may be fused (fma), nothing else: NaN stays NaN, the order of sums stays. In an `exact_kernel`
not even that.

Compiled kernels are kept by `storage`, not beside the sources where numba would put them: an installation may be
read-only, and what pip did not write it does not remove. Numba has no public way to choose the place. The names used
here that it does not promise are guarded by a test; a version that lacks them compiles in every process.
"""

from __future__ import annotations

import hashlib
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numba

from biodyn.kernels import ready, storage
from biodyn.kernels.watch import COMPILING, COMPILING_AGAIN, tell

_njit: Any = numba.njit  # its annotations leave out the options used here
# no reference counting: kernels allocate nothing, and counting would cost more than the arithmetic
_OPTIONS: dict[str, Any] = {"fastmath": {"contract"}, "error_model": "numpy", "_nrt": False}

# what Python never calls needs no wrappers: half the compilation time
_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_OPTIONS}

#: Options of helpers that disappear into the kernel that calls them.
INLINE_OPTIONS: Any = {"forceinline": True, **_INTERNAL}
inline: Any = _njit(**INLINE_OPTIONS)

#: A long part of a kernel, called, not copied in. Numba optimises a part again with everything that calls it, so
#: parts call small parts only.
part: Any = _njit(**_INTERNAL)

#: A part that calls long parts: copied into its caller before compilation.
merged: Any = _njit(inline="always", **_INTERNAL)


class _KernelCache:
    """The compiled forms of one kernel on disk, as numba's dispatcher asks for them (`numba.core.caching._Cache`)."""

    def __init__(self, function: Any) -> None:
        self._name = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}"
        self._source = _foreign_source(function.__code__.co_filename)

    @property
    def cache_path(self) -> str | None:
        folder = storage.storage().writable
        return None if folder is None else str(folder)

    def prefixes(self, codegen: Any) -> list[str]:
        """What the names of all forms begin with that run here: those for this processor, and those that came compiled."""
        own = codegen.magic_tuple()
        return [self._prefix(processor) for processor in (own, ready.fitting(own)) if processor is not None]

    def _prefix(self, processor: tuple[Any, ...]) -> str:
        return f"{self._name}-{hashlib.sha256(repr(processor).encode()).hexdigest()[:8]}-"

    def _file_names(self, signature: Any, codegen: Any) -> list[str]:
        key = hashlib.sha256(f"{signature}\0{self._source}".encode()).hexdigest()[:24]
        return [f"{prefix}{key}" for prefix in self.prefixes(codegen)]

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled form for a signature, None where it has to be compiled: then whoever watches is told.

        Numba's implementations are not installed to load it: only compiling needs them, and does so by itself.
        """
        found = (storage.read(name) for name in self._file_names(signature, target.codegen()))
        content = next((content for content in found if content is not None), None)
        if content is None:
            tell(COMPILING if storage.storage().writable is not None else COMPILING_AGAIN)
            tell(storage.storage().note)
            return None
        return numba.core.compiler.CompileResult._rebuild(target, *pickle.loads(content))

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled form."""
        if compiled.lifted or compiled.library.has_dynamic_globals:  # holds addresses of this process
            return
        content = numba.core.serialize.dumps(compiled._reduce())
        tell(storage.write(self._file_names(signature, compiled.codegen)[0], content))

    def enable(self) -> None:
        """Part of what numba asks of a cache; this one is never off."""

    disable = flush = enable


@cache
def _foreign_source(path: str) -> str:
    """Digest of a source file outside this folder; the stamp of the storage covers those within."""
    source = Path(path)
    return "" if source.parent == Path(__file__).parent else hashlib.sha256(source.read_bytes()).hexdigest()


def keeps_kernels() -> bool:
    """Tell whether this version of numba has what keeping compiled kernels on disk needs."""
    try:
        needed = (
            numba.core.compiler.CompileResult._rebuild,
            numba.core.compiler.CompileResult._reduce,
            numba.core.serialize.dumps,
            numba.core.codegen.CPUCodegen.magic_tuple,
            numba.core.registry.CPUDispatcher.enable_caching,
        )
    except AttributeError:
        return False
    return all(callable(one) for one in needed)


def is_cached(dispatcher: Any) -> bool:
    """Tell whether a compiled form of the kernel that runs on this processor waits on disk."""
    kept = getattr(dispatcher, "_cache", None)
    return isinstance(kept, _KernelCache) and any(map(storage.holds, kept.prefixes(dispatcher.targetctx.codegen())))


def kernel(function: Any) -> Any:
    """Compile `function` on first call, keep it on disk, release the interpreter lock while it runs."""
    return _kept(function, _OPTIONS)


def exact_kernel(function: Any) -> Any:
    """A `kernel` that rounds every product and every sum by itself: the same bits on every processor."""
    return _kept(function, {**_OPTIONS, "fastmath": False})


def _kept(function: Any, options: dict[str, Any]) -> Any:
    dispatcher = _njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    if keeps_kernels() and hasattr(dispatcher, "_cache") and function.__closure__ is None:
        dispatcher._cache = _KernelCache(function)
    return dispatcher
