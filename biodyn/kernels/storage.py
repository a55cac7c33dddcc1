"""Where compiled kernels wait on disk: a cache folder of the user, one file for each compiled form of a kernel.

    <cache folder of the user>/kernels/<version of biodyn>-<stamp>/<kernel>-<processor>-<key>.kernel
    <this folder>/ready/<version of biodyn>-<stamp>/...          those that an installation brings (`ready`)

The stamp is a digest of the kernel sources, of numba, llvmlite, numpy and of Python: another program never meets these
files, whatever is installed in which place. A file is written beside its place and renamed, so that several processes may
compile at once; a digest in front of its content tells a whole file from a damaged one, which counts as not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import platformdirs

from biodyn.kernels import ready
from biodyn.version import VERSION

#: Environment variable that names the cache folder.
FOLDER_VARIABLE = "BIODYN_CACHE_DIR"
_KERNELS = "kernels"
_SUFFIX, _UNFINISHED = ".kernel", ".part"
_MAGIC = b"biodyn kernel 1\n"
_DIGEST_BYTES = 32
# What determines machine code beside the kernels' own sources.
_COMPILERS = ("numba", "llvmlite", "numpy")
_OF_ANY_PROGRAM = re.compile(r"\S+-[0-9a-f]{16}")
_DAY_S = 86400.0
_UNUSED_S = 60.0 * _DAY_S  # kernels of another program that nobody loaded for so long are removed


@dataclass(frozen=True)
class Storage:
    """Folders for compiled kernels of this program.

    Attributes:
        folders: looked through in this order. writable: one of them, None where nothing can be kept.
        note: one sentence where compiled kernels are not kept where they should be, else empty.
    """

    folders: tuple[Path, ...]
    writable: Path | None
    note: str = ""


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from its sources
        return "unknown"


@cache
def program_stamp() -> str:
    """Return version and digest of everything that determines the machine code of the kernels."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(f"{path.name}\0".encode())
        digest.update(path.read_bytes())
    for package in _COMPILERS:
        digest.update(f"{package} {_version_of(package)}\0".encode())
    # the suffix of extension modules tells builds of one Python apart whose objects are not alike (debugging, without GIL)
    digest.update(f"{sys.implementation.cache_tag} {sys.platform} {EXTENSION_SUFFIXES[0]}".encode())
    return f"{VERSION}-{digest.hexdigest()[:16]}"


def user_folder() -> Path | None:
    """Return the cache folder of the user, None where neither BIODYN_CACHE_DIR nor a home folder names one."""
    named = os.environ.get(FOLDER_VARIABLE, "").strip()
    if named:
        return Path(named).expanduser().absolute()
    found = platformdirs.user_cache_path("biodyn", appauthor=False)
    return found if found.is_absolute() else None  # "~/.cache" stays as it is where there is no home


def _private_temporary() -> Path | None:
    """Return a folder for this user alone below the system's temporary one; None where that cannot be had.

    What is loaded from there is run: a folder that belongs to somebody else, or that others may write, is not taken.
    """
    try:
        place = Path(tempfile.gettempdir()).absolute()
    except FileNotFoundError:
        return None
    if place == Path.cwd():  # Python's last resort, which would litter the user's own folder
        return None
    folder = place / (f"biodyn-{os.getuid()}" if hasattr(os, "getuid") else "biodyn")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return None
    if not stat.S_ISDIR(state.st_mode):
        return None
    if hasattr(os, "getuid") and (state.st_uid != os.getuid() or state.st_mode & 0o022):
        return None
    return folder


def _refusal(folder: Path) -> str:
    """Make a folder and try to write into it; returns why that is not possible, empty where it is."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


@cache
def storage() -> Storage:
    """Return where compiled kernels of this program are looked for and kept; what the installation brings comes last."""
    stamp = program_stamp()
    found = _of_this_computer(stamp)
    brought = ready.FOLDER / stamp
    return replace(found, folders=(*found.folders, brought)) if brought.is_dir() else found


def _of_this_computer(stamp: str) -> Storage:
    usual = user_folder()
    if usual is None:
        trouble = "no home folder is known"
    else:
        trouble = _refusal(usual / _KERNELS / stamp)
        if not trouble:
            _freshen(usual / _KERNELS, stamp)
            return Storage((usual / _KERNELS / stamp,), usual / _KERNELS / stamp)
        trouble = f"'{usual}' cannot be written ({trouble})"
    # A cache that was filled for everybody and locked is read all the same.
    folders = () if usual is None else (usual / _KERNELS / stamp,)
    private = _private_temporary()
    if private is not None and not _refusal(private / _KERNELS / stamp):
        _freshen(private / _KERNELS, stamp)
        place = private / _KERNELS / stamp
        kept = f"Compiled kernels are kept in '{private}', because {trouble}"
        return Storage((*folders, place), place, f"{kept}; {FOLDER_VARIABLE} names another folder.")
    kept = f"Compiled kernels cannot be kept for the next run, because {trouble}"
    return Storage(folders, None, f"{kept}; name a folder that can be written with {FOLDER_VARIABLE}.")


# -- files ----------------------------------------------------------------------------------------------------------


def read(name: str) -> bytes | None:
    """Return the content kept under a name; None where there is none, or a damaged one."""
    for folder in storage().folders:
        try:
            content = (folder / f"{name}{_SUFFIX}").read_bytes()
        except OSError:  # not there, or not for us
            continue
        body = content[len(_MAGIC) + _DIGEST_BYTES :]
        if content[: len(_MAGIC) + _DIGEST_BYTES] == _MAGIC + hashlib.sha256(body).digest():
            return body
    return None


def write(name: str, content: bytes) -> str:
    """Keep content under a name; returns why that was not possible, empty where it was (or nothing can be kept)."""
    folder = storage().writable
    if folder is None:
        return ""
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f"{name}.", suffix=_UNFINISHED, dir=folder)
        with os.fdopen(handle, "wb") as stream:
            stream.write(_MAGIC + hashlib.sha256(content).digest() + content)
        os.replace(temporary, folder / f"{name}{_SUFFIX}")
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if read(name) is not None:  # another process was quicker, and Windows replaces no file that is open
            return ""
        return f"Compiled kernels cannot be kept in '{folder}': {error.strerror or error}."
    return ""


def holds(prefix: str) -> bool:
    """Tell whether there is content under a name that begins with `prefix`."""
    return any(_names(prefix))


def _names(prefix: str) -> Iterator[str]:
    for folder in storage().folders:
        try:
            entries = os.listdir(folder)
        except OSError:
            continue
        yield from (name for name in entries if name.startswith(prefix) and name.endswith(_SUFFIX))


# -- what other programs left ---------------------------------------------------------------------------------------


def _freshen(kernels: Path, stamp: str) -> None:
    """Note that the folder of `stamp` is in use, and once a day remove those that nobody used for two months."""
    own = kernels / stamp
    now = time.time()
    try:
        if now - own.stat().st_mtime < _DAY_S and any(own.iterdir()):
            return
        os.utime(own)
        others = [path for path in kernels.iterdir() if path != own and _OF_ANY_PROGRAM.fullmatch(path.name)]
    except OSError:
        return
    for folder in others:
        with contextlib.suppress(OSError):
            if now - folder.stat().st_mtime > _UNUSED_S:
                remove_kernels(folder)


def remove_kernels(folder: Path) -> None:
    """Remove compiled kernels from a folder, and the folder if nothing else is in it."""
    for path in folder.iterdir():
        if path.suffix in (_SUFFIX, _UNFINISHED):
            path.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()
