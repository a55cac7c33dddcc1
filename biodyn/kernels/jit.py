"""Decorators of the kernels: `kernel` for an algorithm over frames, the others for its parts.

Floating point: products and sums may be fused (fma); the order of sums and NaN are preserved. An `exact_kernel` has no fused
operations.

Numba caches compiled kernels in a folder of the user instead of next to the sources, because an installation may be read-only and
pip does not remove files that it did not write. Numba has no public way to select the folder for some functions only. A test
checks the non-public names that are used here; with a version of numba without them, every process compiles the kernels.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numba
import platformdirs
from llvmlite import binding
from numba.core import caching

from biodyn.version import VERSION

#: Environment variable that names the cache folder.
FOLDER_VARIABLE: Final = "BIODYN_CACHE_DIR"

_njit: Any = numba.njit  # its annotations do not contain the options used here
# no reference counting, because kernels allocate no memory and counting would take longer than the arithmetic
_OPTIONS: dict[str, Any] = {"fastmath": {"contract"}, "error_model": "numpy", "_nrt": False}

# functions that Python does not call need no wrappers, which saves half the compilation time
_INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_OPTIONS}

#: Options of helpers that are inlined into the kernel that calls them.
INLINE_OPTIONS: Any = {"forceinline": True, **_INTERNAL}
inline: Any = _njit(**INLINE_OPTIONS)

#: A long part of a kernel, which is called and not inlined. Numba optimises a part again with every caller, so that
#: parts call small parts only.
part: Any = _njit(**_INTERNAL)

#: A part that calls long parts: copied into its caller before compilation.
merged: Any = _njit(inline="always", **_INTERNAL)


# -- the cache folder ---------------------------------------------------------------------------------------------------


def cache_folder() -> Path | None:
    """Return the folder for compiled kernels of this program; None if there is no trustworthy one.

    It is below the folder that `FOLDER_VARIABLE` specifies, else in the user's cache folder, else, if that is not writable, in
    a private folder in the system's temporary folder. Because code is loaded from it, a folder that belongs to another user
    (except root) or that others can write is not used. A read-only folder is used if it contains kernels.
    """
    named = os.environ.get(FOLDER_VARIABLE, "").strip()
    usual = Path(named).expanduser().absolute() if named else platformdirs.user_cache_path("biodyn", appauthor=False)
    private = Path(tempfile.gettempdir(), f"biodyn-{os.getuid()}" if hasattr(os, "getuid") else "biodyn")
    for folder, private_parts in ((usual, ()), (private, (private,))):
        place = folder / "kernels" / _cache_version()
        parts = (*private_parts, place.parent, place)
        if folder.is_absolute():  # "~/.cache" is unchanged without a home folder
            with suppress(OSError):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                for level in parts:
                    level.mkdir(mode=0o700, exist_ok=True)
            if all(map(_is_trustworthy, parts)) and (os.access(place, os.W_OK) or any(place.iterdir())):
                return place
    return None


def _is_trustworthy(folder: Path) -> bool:
    try:
        state = folder.stat()
    except OSError:
        return False
    return not hasattr(os, "getuid") or (state.st_uid in (0, os.getuid()) and not state.st_mode & 0o022)


def _cache_version() -> str:
    """Return the version and a digest of all sources and versions that determine the machine code.

    Numba itself checks only one source file.
    """
    digest = hashlib.sha256(
        f"{numba.__version__} {sys.implementation.cache_tag} {binding.get_host_cpu_name()}".encode()
    )
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return f"{VERSION}-{digest.hexdigest()[:16]}"


CACHE_FOLDER: Final = cache_folder()


# -- numba's cache in that folder ---------------------------------------------------------------------------------------

_UNREADABLE: Final = (OSError, EOFError, ValueError, TypeError, AttributeError, pickle.UnpicklingError)
_KernelCache: Any = None
with suppress(AttributeError):  # a version of numba with other names
    _Base: Any = getattr(caching, "UserProvidedCacheLocator", None) or getattr(caching, "_UserProvidedCacheLocator")  # noqa: B009 (the name before numba 0.61)

    class _Locator(_Base):  # type: ignore[misc, no-redef]
        """Locator of the cache folder, which may be read-only."""

        def get_cache_path(self) -> str:
            return str(CACHE_FOLDER)

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Any:
            return cls(py_func, py_file)

    class _Implementation(caching.CompileResultCacheImpl):
        _locator_classes: Any = (_Locator,)

    class _FunctionCache(caching.FunctionCache):
        """Numba's cache of a function; files that cannot be read or written are ignored."""

        _impl_class = _Implementation

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            # numba's own function first loads the implementations of NumPy (0.4 s), which only compilation needs
            with suppress(*_UNREADABLE):
                return self._load_overload(sig, target_context)
            return None

        def save_overload(self, sig: Any, data: Any) -> None:
            with suppress(*_UNREADABLE):
                super().save_overload(sig, data)

    _KernelCache = _FunctionCache


def kernel(function: Any) -> Any:
    """Compile `function` on its first call and cache it on disk; it releases the interpreter lock while it runs."""
    return _compile_with_cache(function, _OPTIONS)


def exact_kernel(function: Any) -> Any:
    """Compile a `kernel` that rounds every product and sum separately, so that results are identical on every processor."""
    return _compile_with_cache(function, {**_OPTIONS, "fastmath": False})


def _compile_with_cache(function: Any, options: dict[str, Any]) -> Any:
    dispatcher = _njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    if CACHE_FOLDER is not None and _KernelCache is not None and Path(function.__code__.co_filename).parent == _SOURCES:
        dispatcher._cache = _KernelCache(function)
    return dispatcher


_SOURCES: Final = Path(__file__).parent
