"""One version number: that of the copy that runs, whatever the environment believes to be installed."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import biodyn
from biodyn.cli import app
from biodyn.cli.exit_codes import report_program_error
from biodyn.output.store.record import program_versions
from biodyn.study.running.task import program_version

_real = importlib.metadata.version


def _stale(package: str) -> str:
    return "0.0.1" if package == "biodyn" else _real(package)


def _absent(package: str) -> str:
    if package == "biodyn":
        raise importlib.metadata.PackageNotFoundError(package)
    return _real(package)


@pytest.mark.parametrize("installed", [_stale, _absent])
def test_every_place_tells_the_version_of_the_copy(
    installed: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", installed)
    program_version.cache_clear()
    said = CliRunner().invoke(app, ["--version"])
    assert (said.exit_code, said.output) == (0, f"biodyn {biodyn.__version__}\n")
    assert program_versions()["biodyn"] == biodyn.__version__
    assert program_version().startswith(f"{biodyn.__version__}+")
    report_program_error(ValueError("made up"))
    place = capsys.readouterr().err.partition("Please report it with ")[2].split(" (")[0]
    assert Path(place).read_text().startswith(f"biodyn {biodyn.__version__},")
    Path(place).unlink()
    program_version.cache_clear()


def test_no_module_asks_what_is_installed_for_the_version_of_the_program() -> None:
    package = Path(biodyn.__file__).parent
    asking = [path for path in package.rglob("*.py") if 'version("biodyn")' in path.read_text().replace("'", '"')]
    assert asking == []
    build = (package.parent / "pyproject.toml").read_text()
    assert 'attr = "biodyn.version.VERSION"' in build


def test_a_copy_that_is_not_installed_says_its_version(tmp_path: Path) -> None:
    """Isolated from what is installed: the copy alone is on the path."""
    code = (
        "import sys, importlib.metadata as m\n"
        f"sys.path.insert(0, {str(Path(biodyn.__file__).parents[1])!r})\n"
        "m.distribution = m.version = lambda name: (_ for _ in ()).throw(m.PackageNotFoundError(name))\n"
        "from biodyn.cli import main; sys.argv = ['biodyn', '--version']; main()\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (found.returncode, found.stdout.strip()) == (0, f"biodyn {biodyn.__version__}")


@pytest.mark.parametrize("module", ["biodyn", "biodyn.cli"])
def test_python_runs_the_command_by_the_names_of_its_packages(module: str) -> None:
    """Where no folder of commands is on the path, as often on Windows."""
    said = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"biodyn {biodyn.__version__}\n"
