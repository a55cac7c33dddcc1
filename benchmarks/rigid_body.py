"""Time the rigid-body algorithms against Pinocchio and MuJoCo in one run, one thread; run by hand.

    BIODYN_TEST_REFERENCE=... python benchmarks/rigid_body.py [frames ...] [--only TEXT] [--turns N]

The other engines run in loops of their own language over all frames (native/, compiled on first use for this processor:
needs a compiler and the headers of Pinocchio, Eigen and MuJoCo, see common/native.py), so no call from Python counts.
Their states are converted beforehand, Pinocchio's wrenches also turned into joint axes. Of every peer two times: results
left in its own memory, which is faster, and results kept for every frame, which is what biodyn does. The first ratio is
to the fastest of all, the second to the fastest that keeps. Before that, all engines must give the same numbers. Both
sides take turns, processor time counts, and lowest and median are given. MuJoCo's Jacobians are the axes of all
coordinates.

Then what bounds each kernel: its operations and transports, counted by running it as Python (common/counting.py), and
its arrays' bytes against what this processor can do (common/roofline.py). At the end, chains of 10 to 80 bodies: the
cost a body should not grow.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from common import Record, take_turns
from common.engines import TASKS, MuJoCo, Peer, Pinocchio, States
from common.roofline import Ceilings, Work, ceilings, copied_bytes_a_second, counted, shares
from common.timing import Timing
from support.reference_vectors import MODELS, reference
from support.trees import random_state, random_tree, relative

from biodyn.conventions import FloatArray
from biodyn.rigid_body import Multibody, compile_kernels, forward_dynamics, inverse_dynamics, mass_matrix
from biodyn.rigid_body.kinematics import joint_jacobians

# forward dynamics passes through the inverse of mass matrices of condition 1e5
SAME = {"forward dynamics": 1e-9}
REPEATS = 4  # calls in a turn: the first finds its arrays out of the caches where another engine has been


def states_of(name: str, frames: int) -> tuple[Multibody, States]:
    """Return a reference model and its states, repeated to so many frames; torques fit the first two wrenches."""
    mb, ref = reference(name)
    times = -(-frames // len(ref["q"]))
    q, v, vdot, loads = (
        np.ascontiguousarray(np.concatenate([x] * times)[:frames])
        for x in (ref["q"], ref["v"], ref["a"], ref["wrenches"][:, :2])
    )
    links = np.ascontiguousarray(ref["ext_link_index"][:2], dtype=np.int64)
    return mb, States(q, v, vdot, inverse_dynamics(mb, q, v, vdot, loads, links), loads, links)


def our_calls(mb: Multibody, s: States) -> dict[str, Callable[[], FloatArray]]:
    """Return biodyn's call of each task."""
    return {
        "inverse dynamics": lambda: inverse_dynamics(mb, s.q, s.v, s.vdot, s.wrenches, s.links),
        "forward dynamics": lambda: forward_dynamics(mb, s.q, s.v, s.tau, s.wrenches, s.links),
        "mass matrix": lambda: mass_matrix(mb, s.q),
        "joint Jacobians": lambda: joint_jacobians(mb, s.q),
    }


def same_numbers(task: str, peer: Peer, mb: Multibody, ours: FloatArray) -> None:
    """End the benchmark where a peer computes something else."""
    theirs = peer.in_our_terms(task, peer.result(task, mb.nv))
    difference = relative(theirs, peer.comparable(task, ours))
    if not difference < SAME.get(task, 1e-11):
        sys.exit(f"{peer.name} gives another {task}: relative difference {difference:.1e}.")


def compared(task: str, timings: dict[str, Timing], frames: int, title: str, record: Record) -> float:
    """Print and record a task's times and ratios; return our lowest seconds a frame."""
    us = {name: Timing(*(1e6 * x / frames / REPEATS for x in vars(t).values())) for name, t in timings.items()}
    ours = us.pop("biodyn")
    text = "".join(f"   {name} {t.lowest:.2f}/{t.median:.2f}" for name, t in us.items())
    ratios = []
    record.add(f"{title}, {task}", ours, "us")
    for what, names in {"": list(us), ", kept": [name for name in us if name.endswith("kept")]}.items():
        lowest, median = (min(getattr(us[n], k) for n in names) / getattr(ours, k) for k in ("lowest", "median"))
        record.add(f"{title}, {task}, ratio{what}", lowest, "x, larger is better")
        ratios.append(f"{lowest:.1f} x (medians {median:.1f} x){what}")
    print(f"{title:24} {task:17} {ours.lowest:.2f}/{ours.median:.2f}{text}   {'; '.join(ratios)}")
    return 1e-6 * ours.lowest


def repeated(call: Callable[[], object]) -> Callable[[], None]:
    """Return a call that is made REPEATS times."""

    def calls() -> None:
        for _ in range(REPEATS):
            call()

    return calls


def bounded(task: str, work: Work, seconds: float, found: Ceilings, title: str, record: Record) -> str:
    """Return a line that says what share of each ceiling a task reaches."""
    memory = copied_bytes_a_second(work.bytes * int(title.split(", ")[1].split()[0]))
    reached = shares(work, seconds, found, memory)
    for name in ("eight lanes", "first cache", "memory"):
        record.add(f"{title}, {task}, of {name}", reached[name], "%, larger is better")
    most = max(("eight lanes", "first cache", "memory"), key=lambda name: reached[name])
    text = ", ".join(f"{share:.0f} % of {name}" for name, share in reached.items())
    return (
        f"{title:24} {task:17} {work.operations} operations, {work.transports} transports, {work.bytes} bytes a frame:"
        f" {work.operations / seconds / 1e9:.0f} Gflop/s, {text}; nearest: {most}"
    )


def one(name: str, frames: int, turns: int, found: Ceilings, counts: dict, record: Record) -> None:
    """Print the figures of one model."""
    title, lines = f"{name}, {frames} frames", []
    mb, states = states_of(name, frames)
    peers = [Pinocchio(name, mb, states), MuJoCo(name, mb, states)]
    ours = our_calls(mb, states)
    sizes = {"mass matrix": mb.nv**2, "joint Jacobians": 6 * mb.nv}
    read = {"inverse dynamics": mb.nq + 2 * mb.nv + 12, "forward dynamics": mb.nq + 2 * mb.nv + 12}
    for task in TASKS:
        result = ours[task]()
        if relative(np.ravel(result[0]), np.array(counts[task]["result"])) > SAME.get(task, 1e-11):
            sys.exit(f"The operations of {task} were counted on another computation.")
        kept = np.empty((frames, sizes.get(task, mb.nv)))
        calls: dict[str, Callable[[], object]] = {"biodyn": ours[task]}
        for peer in peers:
            same_numbers(task, peer, mb, result)
            calls[peer.name] = peer.call(task, None)
            calls[f"{peer.name}, kept"] = peer.call(task, kept)
        timings = take_turns({n: repeated(c) for n, c in calls.items()}, turns, warm_up=1, clock=time.thread_time)
        seconds = compared(task, timings, frames, title, record)
        numbers = sizes.get(task, mb.nv) + read.get(task, mb.nq)
        work = Work(counts[task]["operations"], counts[task]["transports"], 8 * numbers)
        lines.append(bounded(task, work, seconds, found, title, record))
    print("\n".join(lines))


def growth(frames: int = 2000) -> None:
    """Print the cost a body of chains of growing length."""
    for count in (10, 20, 40, 80):
        mb = random_tree(1, count, kinds=("revolute",))
        q, v, vdot = random_state(mb, 1, frames)
        calls: dict[str, Callable[[], object]] = {
            "inverse": lambda mb=mb, q=q, v=v, a=vdot: inverse_dynamics(mb, q, v, a),
            "forward": lambda mb=mb, q=q, v=v, a=vdot: forward_dynamics(mb, q, v, a),
        }
        timings = take_turns(calls, 7, clock=time.thread_time)
        each = {key: 1e9 * t.lowest / frames / count for key, t in timings.items()}
        print(f"{count:3d} bodies: inverse {each['inverse']:5.1f}, forward dynamics {each['forward']:5.1f} ns a body")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frames", nargs="*", type=int, default=[1000, 10_000], help="frames a call")
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument(
        "--turns", type=int, default=0, help="turns of each call; enough for some seconds where omitted"
    )
    asked = parser.parse_args()
    compile_kernels()
    record = Record("rigid_body", {"frames": asked.frames, "only": asked.only})
    found = ceilings()
    for name, value in vars(found).items():
        record.add(f"ceiling, {name}", value / 1e9, "G a second, larger is better")
    print("Microseconds a frame, lowest/median. Ceilings, 1e9 a second: ", end="")
    print(", ".join(f"{name} {value / 1e9:.1f}" for name, value in vars(found).items()))
    for name in (model for model in MODELS if asked.only in model):
        counts = counted(name)
        for frames in asked.frames:
            one(name, frames, asked.turns or max(5, 20_000 // frames), found, counts, record)
    growth()
    record.close()


if __name__ == "__main__":
    main()
