"""The only file that imports ezc3d: parse one C3D file and write what is in it to a pipe.

ezc3d can bring the whole process down on a damaged file, so this runs in a process that may die: either a fork of the
reader's (`serve` is called in the child) or a fresh interpreter (this file run as a script, which is why it imports
nothing of biodyn but how a process ends with its parent). The answer is never pickled: a length, that many bytes of
JSON, then raw little-endian float64 arrays whose shapes the JSON tells.
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import signal
import sys
from typing import Any

ANSWER_LENGTH_BYTES = 8
# A parameter with more values than this is no label list and no plate geometry; it is not handed over.
MAX_VALUES = 100_000
_GRACE_S = 5


def preload() -> None:
    """Import what parsing needs, so that a fork of this process need not."""
    import ezc3d  # noqa: F401

    if sys.platform != "win32":
        import resource  # noqa: F401


def _parameters(parsed: Any, ezc3d: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """Return {group: {name: {dims, values}}}, values flat with the first dimension fastest, names in upper case."""
    getter = {ezc3d.BYTE: "valuesAsByte", ezc3d.INT: "valuesAsInt", ezc3d.FLOAT: "valuesAsDouble"}
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for group in parsed.parameters().groups():
        entries = groups.setdefault(group.name().strip().upper(), {})
        for parameter in group.parameters():
            values = list(getattr(parameter, getter.get(parameter.type(), "valuesAsString"))())
            if len(values) <= MAX_VALUES:
                entries[parameter.name().strip().upper()] = {"dims": list(parameter.dimension()), "values": values}
    return groups


def _plate_channels(groups: dict[str, dict[str, dict[str, Any]]], channel_count: int) -> list[int]:
    """Return the sorted 0-based analog channels the force plates use, those that exist."""
    channels = groups.get("FORCE_PLATFORM", {}).get("CHANNEL", {}).get("values", [])
    return sorted({int(c) - 1 for c in channels if isinstance(c, (int, float)) and 1 <= int(c) <= channel_count})


def _openable(path: str) -> str:
    """A name of the file that C++ can be given: a path whose bytes are no UTF-8 goes by an open descriptor."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return f"/dev/fd/{os.open(path, os.O_RDONLY)}"  # of a process that ends when the file is read
    return path


def parse(path: str) -> tuple[dict[str, Any], list[Any]]:
    """Return the facts of the file and its arrays: points (T, N, 3) in file units, plate channels (Ta, C).

    A point is NaN where its residual is negative, C3D's mark of a point that was not seen.
    """
    import ezc3d as package
    import numpy as np

    ezc3d = package.ezc3d  # the thin layer: the package's own class spends a third of its time on copies we do not need
    parsed = ezc3d.c3d(_openable(path), ezc3d.Options(keepParametersTrailingSpaces=False, ignoreBadFormatting=False))
    header = parsed.header()
    groups = _parameters(parsed, ezc3d)
    points = parsed.get_points()
    residuals = parsed.get_point_residuals()
    positions = np.ascontiguousarray(points[:3].transpose(2, 1, 0), dtype="<f8")
    if positions.size:
        positions[residuals[0].T < 0] = np.nan
    analogs = parsed.get_analogs()[0]
    channels = _plate_channels(groups, analogs.shape[0])
    samples = np.ascontiguousarray(analogs[channels].T, dtype="<f8")
    facts = {
        "first_frame": int(header.firstFrame()) + 1,
        "rate_hz": float(header.frameRate()),
        "channels": channels,
        "channel_count": int(analogs.shape[0]),
        "parameters": groups,
        "shapes": [list(positions.shape), list(samples.shape)],
    }
    return facts, [positions, samples]


def serve(path: str, out_fd: int) -> None:
    """Parse the file and write the answer, or ``{"error": ...}``, to the descriptor."""
    try:
        facts, arrays = parse(path)
    except Exception as error:  # whatever ezc3d throws is told to the parent, which raises InputFileError
        facts, arrays = {"error": f"{type(error).__name__}: {error}"}, []
    text = json.dumps(facts).encode()
    with os.fdopen(out_fd, "wb", closefd=False) as out:
        out.write(len(text).to_bytes(ANSWER_LENGTH_BYTES, "little"))
        out.write(text)
        for array in arrays:
            out.write(array.data)


def limit_this_process(memory_bytes: int) -> None:
    """Cap the memory of this process, write no core file, and send what libraries print to nowhere (POSIX)."""
    faulthandler.disable()  # the parent's would print a traceback for every crash
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    if sys.platform == "win32":  # the parent's time limit is what remains
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        with open("/proc/self/statm") as statm:
            memory_bytes += int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, hard))


def end_in(seconds: float) -> None:
    """Let the system end this process then and a little later, whatever it does (POSIX); whoever waits for it ends it before."""
    if sys.platform == "win32":
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(math.ceil(seconds) + _GRACE_S)


if __name__ == "__main__":
    from biodyn.threads import ending_with

    ending_with(int(sys.argv[4]))()
    end_in(float(sys.argv[3]))
    answer_fd = os.dup(1)
    preload()
    limit_this_process(int(sys.argv[2]))
    serve(sys.argv[1], answer_fd)
