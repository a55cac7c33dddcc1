"""`python -m simulator --out ../sample_data`, run in benchmarks/, writes the sample data set again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from biodyn.errors import BiodynError
from simulator.dataset import write_sample_data


def main() -> int:
    """Write the data set; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m simulator", description="Write the simulated sample data.")
    parser.add_argument("--out", type=Path, default=Path("sample_data"), help="folder (default: sample_data)")
    parser.add_argument("--seed", type=int, default=1, help="of noise, skin movement and gaps (default: 1)")
    arguments = parser.parse_args()
    try:
        written = write_sample_data(arguments.out, arguments.seed, print)
    except BiodynError as error:
        print(error.message, error.hint, file=sys.stderr)
        return 2
    size = sum(path.stat().st_size for path in written)
    print(f"{len(written)} files, {size / 1e6:.1f} MB in {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
