"""Record the modules that a walk passes on its way to the torques: python calls_of_a_run.py WALK OUT.json

`house.py` starts this script with any version on the path; it uses public names of biodyn only. Writes the modules of all
functions in the order of their first call, from `run_trial` to the return of `solve_dynamics`, without imports and generators.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from types import CodeType, FrameType

import biodyn

_LAST_FUNCTION = "solve_dynamics"


def main() -> None:
    """Analyse the walk under the profiler."""
    walk, answer = sys.argv[1:3]
    package = Path(biodyn.__path__[0])
    called: dict[CodeType, str] = {}
    finished = False

    def on_event(frame: FrameType, event: str, _: object) -> None:
        nonlocal finished
        code = frame.f_code
        if finished or (code in called and event == "call"):
            return
        if event == "return" and code.co_name == _LAST_FUNCTION:
            finished = True
        elif event == "call" and not code.co_flags & inspect.CO_GENERATOR and code.co_name != "<module>":
            path = Path(code.co_filename)
            if path.is_relative_to(package):
                called[code] = ".".join(path.relative_to(package).with_suffix("").parts)

    settings = {"uncertainty": {"compute": False}}
    biodyn.run_trial(walk, settings=settings)  # compiles and imports
    sys.setprofile(on_event)
    biodyn.run_trial(walk, settings=settings)
    sys.setprofile(None)
    Path(answer).write_text(json.dumps(list(called.values())), encoding="utf-8")


if __name__ == "__main__":
    main()
