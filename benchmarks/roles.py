"""Which file is what, over made folders: share of files, people, sessions, conditions, sites and statics that are right.

    python benchmarks/roles.py [layouts] [--first SEED] [--wrong] [--habit NAME]

Words, limits and rules were mended on failures of seeds below MENDED_BELOW: the numbers that count are those of the others.
Layouts of even seeds know half of the words only.
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

MENDED_BELOW = 172


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layouts", nargs="?", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed of the first layout")
    parser.add_argument("--wrong", action="store_true", help="name what is wrong")
    parser.add_argument("--habit")
    options = parser.parse_args()
    start = time.perf_counter()
    counts: dict[str, Counter[str]] = {"mended": Counter(), "held out": Counter()}
    for done, seed in enumerate(range(options.first, options.first + options.layouts), 1):
        part = "mended" if seed < MENDED_BELOW else "held out"
        layout = made_layout(seed)
        if options.habit not in (None, layout.habit):
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "Study of walking"
            root.mkdir()
            result = judged(layout, layout.write(root))
        counts[part] += result.counts
        counts[part]["layouts of"] += 1
        counts[part]["layouts"] += not result.wrong
        if options.wrong and result.wrong:
            print(f"{seed} {layout.habit}")
            for line in result.wrong:
                print(f"    {line}", flush=True)
        if done % 100 == 0:
            print(f"{done} layouts, {time.perf_counter() - start:.0f} s", flush=True)
            _print(counts)
    _print(counts)
    print(f"{time.perf_counter() - start:.0f} s")


def _print(counts: dict[str, Counter[str]]) -> None:
    for part, count in counts.items():
        if not count:
            continue
        print(f"{part}, {count['layouts of']} layouts:")
        for key in sorted(key for key in count if key.endswith(" of")):
            name = key.removesuffix(" of")
            print(f"  {name:32s} {count[name]:5d} of {count[key]:5d} right  {100 * count[name] / count[key]:6.2f} %")
        print(f"  {'wrong static taken silently':32s} {count['silent']:5d}")


if __name__ == "__main__":
    main()
