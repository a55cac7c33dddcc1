"""What pyproject.toml cannot say: the wheel carries the first walk of the sample data, for `biodyn demo`."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SAMPLE = Path("sample_data", "subject01")
CARRIED = ("static.c3d", "walk01.c3d")


class WithSample(build_py):
    """Copies the sample into the built package; an editable installation finds it in the copy it stands in."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        place = Path(self.build_lib, "biodyn", "sample")
        place.mkdir(parents=True, exist_ok=True)
        for name in CARRIED:
            shutil.copyfile(SAMPLE / name, place / name)


setup(cmdclass={"build_py": WithSample})
