"""Make the pictures of the README and the documentation from the sample data: `python docs/pictures.py`.

Needs a Chromium on the path. Writes PNG files of at most 64 colours into docs/pictures.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import biodyn
from biodyn.rigid_body import body_poses

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
WALK = ROOT / "sample_data" / "subject01" / "walk01.c3d"
#: Name of the picture: file of the page within the results, width and height of the window in pixels.
PAGES = {
    "report": ("trial/report.html", 1200, 1330),
    "session": ("session/report.html", 1200, 900),
    "study": ("study/report.html", 1200, 900),
}
#: Axes of a segment: colour by name, and their length in m.
AXES = {"X": "#d55e00", "Y": "#009e73", "Z": "#0072b2"}
AXIS_M = 0.16
SEGMENTS = ("pelvis", "femur_r", "tibia_r", "calcn_r")


def main() -> None:
    """Analyse the sample walks and store pictures of their pages, of one curve and of the segment axes."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("docs/pictures.py needs Chromium or Chrome on the path.")
    with tempfile.TemporaryDirectory() as name:
        results = Path(name)
        trial = biodyn.run_trial(WALK)
        trial.save(results / "trial")
        biodyn.run_session(sorted(WALK.parent.glob("walk*.c3d")), results / "session")
        biodyn.run_study(ROOT / "sample_data", results / "study")
        for picture, (page, width, height) in PAGES.items():
            screenshot = results / f"{picture}.png"
            take_screenshot(browser, results / page, screenshot, (width, height))
            store(screenshot, PICTURES / f"{picture}.png")
        figure = trial.plot("knee_angle", "knee_angle_moment")
        figure.savefig(results / "curve.png", dpi=80)
        store(results / "curve.png", PICTURES / "curve.png")
        draw_axes(trial, results / "trial", results / "axes.png")
        store(results / "axes.png", PICTURES / "axes.png")


def draw_axes(trial: biodyn.TrialResult, result: Path, picture: Path) -> None:
    """Draw the axes of World and of the segments of the right leg in mid-stance, with the fitted markers."""
    arrays = np.load(result / "result.npz")
    frame = int(len(arrays["time_s"]) * 0.37)
    R, p = body_poses(trial.analysis.model.multibody, arrays["q"][frame : frame + 1])
    figure = Figure(figsize=(5.5, 7.0), dpi=80)
    axes = figure.add_subplot(projection="3d")
    markers = arrays["markers_W"][frame]
    markers = markers[markers[:, 1] < 1.1]
    axes.scatter(*_drawn(markers).T, color="0.6", s=8, clip_on=False)
    floor = np.array([markers[:, 0].mean() - 0.35, 0.0, markers[:, 2].mean() + 0.3])
    frames = {"World": (np.eye(3), floor)}
    for name in SEGMENTS:
        row = list(arrays["segment_names"]).index(name)
        link = arrays["segment_links"][row]
        frames[name] = (R[0, link] @ arrays["segment_R_LB"][row], p[0, link] + R[0, link] @ arrays["segment_p_LB"][row])
    for name, (rotation, origin) in frames.items():
        axes.text(*_drawn(origin - [0.0, 0.06, 0.0]), name, fontsize=8)
        for column, (axis, colour) in enumerate(AXES.items()):
            tip = origin + AXIS_M * rotation[:, column]
            axes.plot(*_drawn(np.array([origin, tip])).T, color=colour, linewidth=2, clip_on=False)
            axes.text(*_drawn(tip), axis, color=colour, fontsize=8)
    axes.plot(
        *_drawn(np.array([frames[name][1] for name in SEGMENTS[1:]])).T,
        color="0.75",
        linewidth=3,
        zorder=0,
        clip_on=False,
    )
    axes.set_aspect("equal")
    axes.set_box_aspect(axes.get_box_aspect(), zoom=1.4)
    axes.view_init(elev=14, azim=-55)
    axes.set_axis_off()
    figure.savefig(picture)


def _drawn(points: np.ndarray) -> np.ndarray:
    """Return points (..., 3) of World (X forward, Y up, Z right) in the axes of matplotlib, whose z is up."""
    return points[..., [0, 2, 1]] * [1.0, -1.0, 1.0]


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
