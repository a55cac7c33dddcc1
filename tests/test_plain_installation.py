"""What the plain installation holds, and what it says of what it does not."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import biodyn
from biodyn.cli.run import SAMPLE_WALK, sample_folder
from biodyn.errors import InputFileError
from biodyn.io.b3d import read_archive

PROJECT = Path(__file__).parents[1]

# Stands for an environment without a library: it cannot be found.
WITHOUT = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {missing!r} else find(name, package)
sys.argv = {words!r}
from biodyn.cli import main
main()
"""


def test_a_study_without_its_extra_says_what_to_install(tmp_path: Path) -> None:
    code = WITHOUT.format(missing=("pyarrow", "statsmodels"), words=["biodyn", "study", str(tmp_path)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, said
    assert "pyarrow and statsmodels" in said
    assert "biodyn[study]" in said
    assert "Traceback" not in said


def test_an_archive_without_its_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf.message", None)  # as if it were not installed
    (tmp_path / "trial.b3d").touch()
    with pytest.raises(InputFileError, match="protobuf") as caught:
        read_archive(tmp_path / "trial.b3d")
    assert "biodyn[b3d]" in caught.value.hint


def test_the_sample_walk_and_its_static_trial_are_at_hand() -> None:
    folder = sample_folder(Path(biodyn.__file__).parent)
    assert (folder / SAMPLE_WALK).is_file()
    assert (folder / "static.c3d").is_file()


def test_the_sample_of_an_installed_package_comes_first(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="Install biodyn again"):
        sample_folder(tmp_path / "biodyn")
    for place in ("sample_data/subject01", "biodyn/sample"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / SAMPLE_WALK).touch()
        assert sample_folder(tmp_path / "biodyn") == tmp_path / place


def declared() -> dict[str, Any]:
    return tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))


def bounds(lines: str) -> dict[str, str]:
    """Of lines of the recipe: package and its bounds."""
    return dict(re.findall(r"^    - ([\w-]+) (\S+)$", lines, re.MULTILINE))


def test_the_recipe_for_conda_asks_for_what_the_package_asks_for() -> None:
    recipe = (PROJECT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    build, _, run = recipe.partition("  host:\n")[2].partition("  run:\n")
    python = {"python": declared()["project"]["requires-python"]}
    needed = bounds(run)
    needed["matplotlib"] = needed.pop("matplotlib-base")  # without windows of its own
    wanted = dict(re.findall(r"^([\w-]+)(\S+)$", "\n".join(declared()["project"]["dependencies"]), re.MULTILINE))
    assert needed == python | wanted
    (tool,) = declared()["build-system"]["requires"]
    assert {f"{name}{version}" for name, version in bounds(build).items()} == {f"python{python['python']}", tool}
    assert f'default="{biodyn.__version__}"' in recipe


def test_every_python_that_the_package_names_is_tested() -> None:
    named = {line.rpartition(" :: ")[2] for line in declared()["project"]["classifiers"] if "Python :: 3." in line}
    workflow = (PROJECT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    tried = [set(re.findall(r'"([\d.]+)"', line)) for line in re.findall(r"python: \[(.+)\]", workflow)]
    assert tried == [named]
