"""Compiled kernels wait in the user's cache folder; whatever state that is in, kernels work and nobody is alarmed."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numba
import numpy as np
import platformdirs
import pytest
from packaging.requirements import Requirement

import biodyn.kernels
from biodyn.kernels import jit, ready, storage
from biodyn.kernels.watch import COMPILING, watched

PACKAGE = Path(biodyn.kernels.__file__).parent
PROJECT = PACKAGE.parents[1] / "pyproject.toml"


def double(x):
    """Stands for a kernel: quick to compile."""
    return 2.0 * x


@pytest.fixture
def fresh() -> Iterator[None]:
    """Let the place be found anew, before and after the test."""
    storage.storage.cache_clear()
    yield
    storage.storage.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> Path:
    """An empty cache folder of the user."""
    monkeypatch.setenv(storage.FOLDER_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def call() -> list[str]:
    """Call the kernel as a new process would; what a person who waits hears."""
    heard: list[str] = []
    with watched(heard.append):
        assert jit.kernel(double)(21.0) == 42.0
    return heard


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


# -- the place ------------------------------------------------------------------------------------------------------


def test_kernels_are_kept_under_name_version_and_stamp_and_found_again(folder: Path) -> None:
    assert call() == [COMPILING]
    (kept,) = files(folder)
    assert kept.parent.parent == folder / "kernels"
    assert kept.parent.name.startswith(f"{biodyn.__version__}-")
    assert re.fullmatch(r".+-[0-9a-f]{16}", kept.parent.name)
    assert call() == []
    assert files(folder) == [kept]


def test_nothing_is_written_beside_the_sources(tmp_path: Path) -> None:
    """What pip did not write it does not remove: a folder would stay, and hide the next installation."""
    code = "from biodyn.rigid_body.compilation import _tiny, body_poses; mb, q, _ = _tiny(); body_poses(mb, q)"
    before = set(PACKAGE.rglob("*.nb?"))
    environment = {**os.environ, storage.FOLDER_VARIABLE: str(tmp_path), ready.OWN_VARIABLE: "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert len(files(tmp_path)) == 1
    assert set(PACKAGE.rglob("*.nb?")) == before


def test_the_users_own_cache_folder_by_the_platforms_convention(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(storage.FOLDER_VARIABLE, raising=False)
    assert storage.user_folder() == platformdirs.user_cache_path("biodyn", appauthor=False)
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert storage.user_folder() == tmp_path / "biodyn"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert storage.user_folder() == tmp_path / ".cache" / "biodyn"
    monkeypatch.setenv(storage.FOLDER_VARIABLE, "~/kernels")
    assert storage.user_folder() == Path("~/kernels").expanduser()


def test_the_stamp_tells_programs_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another source, another numba: another folder, so that an upgrade in place never meets old machine code."""
    stamp = storage.program_stamp.__wrapped__
    mine = stamp()
    assert stamp() == mine
    monkeypatch.setattr(storage, "_version_of", lambda package: "0.0.1" if package == "numba" else version(package))
    assert stamp() != mine
    monkeypatch.undo()
    monkeypatch.setattr(
        storage, "EXTENSION_SUFFIXES", [".cpython-313td-x86_64-linux-gnu.so"]
    )  # another build of Python
    assert stamp() != mine
    monkeypatch.undo()
    (tmp_path / "storage.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.setattr(storage, "__file__", str(tmp_path / "storage.py"))
    first = stamp()
    (tmp_path / "storage.py").write_text("x = 2\n", encoding="utf-8")
    assert len({mine, first, stamp()}) == 3


# -- kernels that an installation brings --------------------------------------------------------------------------------


def test_kernels_that_came_compiled_are_used_until_this_computers_own_are_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ready, "FOLDER", tmp_path / "ready")
    kernel = jit.kernel(double)
    codegen = kernel.targetctx.codegen()
    if ready.fitting(codegen.magic_tuple()) is None:
        pytest.skip("kernels for this processor are not brought along")
    own, brought = kernel._cache.prefixes(codegen)
    call()
    (kept,) = files(folder)
    place = ready.FOLDER / kept.parent.name / kept.name.replace(own, brought)
    place.parent.mkdir(parents=True)
    kept.rename(place)
    storage.storage.cache_clear()
    assert jit.is_cached(kernel)
    assert call() == []
    assert files(folder) == []
    monkeypatch.setenv(ready.OWN_VARIABLE, "1")
    assert not jit.is_cached(kernel)
    assert call() == [COMPILING]
    assert files(folder) == [kept]


def test_kernels_of_another_program_or_damaged_ones_are_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ready, "FOLDER", tmp_path / "ready")
    (tmp_path / "ready" / "0.1.0-0123456789abcdef").mkdir(parents=True)
    assert storage.storage().folders == (storage.storage().writable,)
    kernel = jit.kernel(double)
    place = ready.FOLDER / storage.program_stamp()
    place.mkdir()
    for prefix in kernel._cache.prefixes(kernel.targetctx.codegen()):
        (place / f"{prefix}0.kernel").write_bytes(b"nothing")
    storage.storage.cache_clear()
    assert call() == [COMPILING]


@pytest.mark.parametrize(
    ("triple", "features", "fits"),
    [
        ("x86_64-unknown-linux-gnu", f"+aes,{ready.FEATURES},+avx512f", True),
        ("x86_64-pc-windows-msvc", ready.FEATURES, True),
        ("x86_64-unknown-linux-gnu", ready.FEATURES.replace("+avx2", "-avx2"), False),
        ("x86_64-unknown-linux-gnu", "", False),
        ("arm64-apple-darwin", "+neon", False),
    ],
)
def test_a_processor_that_lacks_what_they_use_is_given_none(triple: str, features: str, fits: bool) -> None:
    found = ready.fitting((triple, "any", features))
    assert found == ((triple, ready.PROCESSOR, ready.FEATURES) if fits else None)


# -- damage and refusal -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["empty", "cut", "one bit", "garbage", "folder"])
def test_a_damaged_file_is_replaced_without_a_fuss(folder: Path, damage: str) -> None:
    call()
    (kept,) = files(folder)
    whole = kept.read_bytes()
    if damage == "folder":
        kept.unlink()
        kept.mkdir()
    else:
        half = len(whole) // 2
        spoilt = {
            "empty": b"",
            "cut": whole[:half],
            "one bit": whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :],
            "garbage": np.random.default_rng(1).bytes(len(whole)),
        }
        kept.write_bytes(spoilt[damage])
    heard = call()
    assert heard[0] == COMPILING
    if damage == "folder":
        assert len(heard) == 2
        assert "cannot be kept" in heard[1]
    else:
        assert heard == [COMPILING]
        assert call() == []


def test_without_a_folder_of_the_user_a_private_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(storage.FOLDER_VARIABLE, str(tmp_path / "file"))  # no folder can be made there, even by root
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    compiling, note = call()
    assert compiling == COMPILING
    for said in (str(tmp_path / "file"), "biodyn-", storage.FOLDER_VARIABLE):
        assert said in note
    (place,) = tmp_path.glob("biodyn-*")
    assert place.stat().st_mode & 0o077 == 0
    assert call() == []


def test_without_a_home_nothing_lands_in_a_folder_named_like_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    monkeypatch.delenv(storage.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_, **__: Path("~/.cache/biodyn"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(storage.Path, "cwd", lambda: tmp_path / "elsewhere")
    assert "no home folder is known" in call()[1]
    assert not (tmp_path / "~").exists()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes are POSIX")
@pytest.mark.parametrize("trap", ["link", "open to others"])
def test_a_temporary_folder_that_others_control_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None, trap: str
) -> None:
    """Compiled code is run: it is not loaded from where others may put theirs."""
    (tmp_path / "file").touch()
    monkeypatch.setenv(storage.FOLDER_VARIABLE, str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place = tmp_path / f"biodyn-{os.getuid()}"
    if trap == "link":
        (tmp_path / "theirs").mkdir()
        place.symlink_to(tmp_path / "theirs")
    else:
        place.mkdir()
        place.chmod(0o777)
    _, note = call()
    assert "cannot be kept for the next run" in note
    assert list(place.iterdir()) == []


def test_a_filled_cache_that_is_locked_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call()
    storage.storage.cache_clear()
    refuse = storage._refusal
    monkeypatch.setattr(storage, "_refusal", lambda path: "Read-only" if path.is_relative_to(folder) else refuse(path))
    assert call() == []


def test_a_full_disk_costs_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    storage.storage()
    monkeypatch.setattr(os, "replace", full)
    _, note = call()
    assert "No space left on device" in note
    assert files(folder) == []


def test_several_first_runs_at_once(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(
        "from biodyn.kernels.jit import kernel\n\n@kernel\ndef double(x):\n    return 2.0 * x\n\n"
        "@kernel\ndef triple(x):\n    return 3.0 * x\n\nprint(double(2.0), triple(2.0))\n",
        encoding="utf-8",
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "two.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for ended in runs:
        said, complained = ended.communicate()
        assert (ended.returncode, said.strip(), complained) == (0, "4.0 6.0", "")
    assert {path.suffix for path in files(folder)} == {".kernel"}
    names = [path.stem for path in files(folder)]
    assert len(names) == 2
    assert all(storage.read(name) is not None for name in names)


# -- what other programs left -----------------------------------------------------------------------------------------


def test_kernels_that_nobody_used_for_long_are_removed_and_nothing_else(folder: Path) -> None:
    long_ago = time.time() - 2.0 * storage._UNUSED_S
    old, used, mixed, other = (
        folder / "kernels" / name for name in ("0.0.1-" + 16 * "a", "0.0.2-" + 16 * "b", "0.0.3-" + 16 * "c", "thesis")
    )
    for place in (old, used, mixed, other):
        place.mkdir(parents=True)
        (place / "x.kernel").touch()
        (place / "x.abc.part").touch()
    (mixed / "chapter.txt").touch()
    for place in (old, mixed, other):
        os.utime(place, (long_ago, long_ago))
    call()
    assert not old.exists()
    assert [path.name for path in files(mixed)] == ["chapter.txt"]
    assert len(files(used)) == len(files(other)) == 2


# -- numba ------------------------------------------------------------------------------------------------------------


def test_numba_has_the_names_it_does_not_promise() -> None:
    assert jit.keeps_kernels()
    assert isinstance(jit.kernel(double)._cache, jit._KernelCache)
    caching = numba.core.caching._Cache
    assert {name for name in caching.__abstractmethods__ if not hasattr(jit._KernelCache, name)} == set()


def test_numba_is_bound_to_the_versions_that_were_tried() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(line) for line in project["dependencies"]]
    (bound,) = [requirement.specifier for requirement in wanted if requirement.name == "numba"]
    assert {part.operator for part in bound} == {">=", "<"}
    assert numba.__version__ in bound


def test_a_numba_without_them_compiles_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(numba.core.compiler.CompileResult, "_rebuild")
    assert not jit.keeps_kernels()
    kernel = jit.kernel(double)
    assert kernel(21.0) == 42.0
    assert not jit.is_cached(kernel)
    assert files(folder) == []
