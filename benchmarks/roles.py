"""Which file is what, over made folders: share of files, people, sessions, conditions, sites and statics that are right.

    python benchmarks/roles.py [layouts] [--wrong] [--only even|odd] [--habit NAME]

Layouts of even seeds are those that words and limits were chosen on; the numbers that count are those of the odd ones.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.folder_habits import made_layout
from support.judged_layout import judged


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layouts", nargs="?", type=int, default=500)
    parser.add_argument("--wrong", action="store_true", help="name what is wrong")
    parser.add_argument("--only", choices=("even", "odd"))
    parser.add_argument("--habit")
    options = parser.parse_args()
    start = time.perf_counter()
    counts: dict[str, Counter[str]] = {"even": Counter(), "odd": Counter()}
    for seed in range(options.layouts):
        half = "odd" if seed % 2 else "even"
        layout = made_layout(seed)
        if options.only not in (None, half) or options.habit not in (None, layout.habit):
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "Study of walking"
            root.mkdir()
            result = judged(layout, layout.write(root))
        counts[half] += result.counts
        counts[half]["layouts of"] += 1
        counts[half]["layouts"] += not result.wrong
        if options.wrong and result.wrong:
            print(f"{seed} {layout.habit}")
            for line in result.wrong:
                print(f"    {line}", flush=True)
        if seed % 100 == 99:
            print(f"{seed + 1} layouts, {time.perf_counter() - start:.0f} s", flush=True)
            _print(counts)
    _print(counts)
    print(f"{time.perf_counter() - start:.0f} s")


def _print(counts: dict[str, Counter[str]]) -> None:
    for half, title in (("even", "chosen on"), ("odd", "reported on")):
        count = counts[half]
        print(f"{title} {count['layouts of']} layouts:")
        for key in sorted(key for key in count if key.endswith(" of")):
            name = key.removesuffix(" of")
            print(f"  {name:32s} {count[name]:5d} of {count[key]:5d} right  {100 * count[name] / count[key]:6.2f} %")
        print(f"  {'wrong static taken silently':32s} {count['silent']:5d}")


if __name__ == "__main__":
    main()
