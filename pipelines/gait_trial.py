"""One walk from its C3D file to a result folder, and the two or three numbers one looks at first.

    python pipelines/gait_trial.py WALK.c3d [--static STATIC.c3d] [--mass KG] [--out DIR] [--settings FILE.toml] [--force]

Copy this file and gait_trial.toml, and change what you need; `result` holds every table as a pandas DataFrame.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import biodyn
from biodyn.errors import BiodynError

SETTINGS = Path(__file__).with_suffix(".toml")


def main(arguments: list[str] | None = None) -> int:
    """Run the pipeline; returns 0, or 1 where a check failed."""
    parser = argparse.ArgumentParser(description="One walk from its C3D file to a result folder.")
    parser.add_argument("walk", type=Path)
    parser.add_argument("--static", type=Path, help="static trial; by default it is looked for beside the walk")
    parser.add_argument("--mass", type=float, help="body mass, kg; by default the file's, else measured")
    parser.add_argument("--settings", type=Path, default=SETTINGS)
    parser.add_argument("--out", type=Path, help="result folder; by default reports/<name of the walk>")
    parser.add_argument("--force", action="store_true", help="replace an older result")
    given = parser.parse_args(arguments)

    result = biodyn.run_trial(given.walk, static=given.static, mass_kg=given.mass, settings=given.settings)

    torques = result.joint_torques  # time_s, a column per coordinate, residual, reason
    measured = torques["reason"].eq("") | torques["reason"].isna()
    print(f"{given.walk.name}: torques of all joints in {measured.sum()} of {len(torques)} frames")
    print(result.spatiotemporal[["side", "cycle", "speed_m_s", "step_length_m"]].round(2).to_string(index=False))
    for finding in result.diagnostics:
        if finding.severity != "info":
            print(f"{finding.severity}: {finding.message} {finding.hint}")

    folder = result.save(given.out or Path("reports") / given.walk.stem, force=given.force)
    print(f"Result: {folder}")
    return 1 if result.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BiodynError as error:
        print(f"{error.message} {error.hint}", file=sys.stderr)
        sys.exit(2)
