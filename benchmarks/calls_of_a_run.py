"""Which functions of biodyn call which while one walk is analysed on the command line: python calls_of_a_run.py WALK OUT.json

benchmarks/house.py starts it with any version of biodyn on the path; it imports nothing else of the project. Writes a list of
[module of the caller, module of the callee, name of the callee, calls], for calls that lead directly from one module of biodyn
to another. The execution of modules (imports) does not count, nor a generator that goes on where it is read.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType


def main() -> None:
    """Run `biodyn run WALK` under the profiler."""
    walk, answer = sys.argv[1:3]
    spec = find_spec("biodyn")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    calls: Counter[tuple[str, str, str]] = Counter()
    names: dict[str, str] = {}

    def module_of(code: CodeType) -> str:
        file = code.co_filename
        if file not in names:
            path = Path(file)
            inside = path.is_relative_to(package)
            parts = path.relative_to(package.parent).with_suffix("").parts if inside else ()
            names[file] = ".".join(parts).removesuffix(".__init__")
        return names[file]

    def on_event(frame: FrameType, event: str, _: object) -> None:
        code, back = frame.f_code, frame.f_back
        if event != "call" or back is None or code.co_flags & inspect.CO_GENERATOR:
            return
        if "<module>" in (code.co_name, back.f_code.co_name):
            return
        callee = module_of(code)
        caller = module_of(back.f_code) if callee else ""
        if caller and caller != callee:
            calls[caller, callee, code.co_qualname] += 1

    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["biodyn", "run", walk, "--out", str(Path(folder) / "result")]
        from biodyn.cli import main as command

        sys.setprofile(on_event)
        try:
            command()
        except SystemExit:
            pass
        finally:
            sys.setprofile(None)
    Path(answer).write_text(json.dumps([[*key, count] for key, count in sorted(calls.items())]), encoding="utf-8")


if __name__ == "__main__":
    main()
