"""Record the modules that a walk passes on its way to the torques: python calls_of_a_run.py WALK OUT.json

`house.py` starts this script with any version on the path; it uses public names of biodyn only. Writes (module, depth) of all
functions in the order of their first call, from `run_trial` to the return of `solve_dynamics`, without imports, generators and
compiled kernels. The depth counts the functions of biodyn on the way from `run_trial`.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import biodyn

_LAST_FUNCTION = "solve_dynamics"


def main() -> None:
    """Analyse the walk under the profiler."""
    walk, answer = sys.argv[1:3]
    package = Path(biodyn.__path__[0])
    called: dict[CodeType, tuple[str, int]] = {}
    finished = False

    def module(code: CodeType) -> str:
        path = Path(code.co_filename)
        return ".".join(path.relative_to(package).with_suffix("").parts) if path.is_relative_to(package) else ""

    def on_event(frame: FrameType, event: str, _: object) -> None:
        nonlocal finished
        code = frame.f_code
        if finished or (code in called and event == "call"):
            return
        if event == "return" and code.co_name == _LAST_FUNCTION:
            finished = True
        elif event == "call" and not code.co_flags & inspect.CO_GENERATOR and code.co_name != "<module>":
            name = module(code)
            if name and not name.startswith("kernels."):
                called[code] = name, _depth(frame, module)

    settings = {"uncertainty": {"compute": False}}
    biodyn.run_trial(walk, settings=settings)  # compiles and imports
    sys.setprofile(on_event)
    biodyn.run_trial(walk, settings=settings)
    sys.setprofile(None)
    Path(answer).write_text(json.dumps(list(called.values())), encoding="utf-8")


def _depth(frame: FrameType, module: Callable[[CodeType], str]) -> int:
    depth, caller = 0, frame
    while caller.f_code.co_name != "run_trial" and caller.f_back is not None:
        depth += bool(module(caller.f_code))
        caller = caller.f_back
    return depth


if __name__ == "__main__":
    main()
