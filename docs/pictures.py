"""Make the pictures of the README and the documentation from the sample data: `python docs/pictures.py`.

Needs a Chromium on the path. Writes PNG files of at most 64 colours into docs/pictures.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

import biodyn

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
WALK = ROOT / "sample_data" / "subject01" / "walk01.c3d"
#: Name of the picture: file of the page within the results, width and height of the window in pixels.
PAGES = {
    "report": ("trial/report.html", 1200, 1330),
    "session": ("session/report.html", 1200, 900),
}


def main() -> None:
    """Analyse the sample walks and store the pictures of their pages and of one curve."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("docs/pictures.py needs Chromium or Chrome on the path.")
    with tempfile.TemporaryDirectory() as name:
        results = Path(name)
        trial = biodyn.run_trial(WALK)
        trial.save(results / "trial")
        biodyn.run_session(sorted(WALK.parent.glob("walk*.c3d")), results / "session")
        for picture, (page, width, height) in PAGES.items():
            screenshot = results / f"{picture}.png"
            take_screenshot(browser, results / page, screenshot, (width, height))
            store(screenshot, PICTURES / f"{picture}.png")
        figure = trial.plot("knee_angle", "knee_angle_moment")
        figure.savefig(results / "curve.png", dpi=80)
        store(results / "curve.png", PICTURES / "curve.png")


def take_screenshot(browser: str, page: Path, picture: Path, size: tuple[int, int]) -> None:
    """Render a page without a display and without a network; width and height in pixels."""
    with tempfile.TemporaryDirectory() as profile:
        switches = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        switches += ["--disable-background-networking", "--virtual-time-budget=6000", f"--user-data-dir={profile}"]
        switches += [f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}", page.as_uri()]
        subprocess.run([browser, *switches], check=True, capture_output=True, timeout=120)


def store(picture: Path, target: Path) -> None:
    """Write the picture with at most 64 colours."""
    target.parent.mkdir(exist_ok=True)
    Image.open(picture).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == "__main__":
    main()
