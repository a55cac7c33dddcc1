"""Every replay of one trial, with the numbers of the section [replay]: the one call of the forward replay."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.processing.dynamics.actuated import ActuatedMotion
from biodyn.verification.integrators import replay_windows
from biodyn.verification.parameters import ReplaySettings
from biodyn.verification.replay import Convergence, OpenLoop, Tracked, convergence, open_loop, tracked
from biodyn.verification.replay_input import Torques, replay_inputs, resting

# The order of the integrators is measured over this window, with these steps a frame and relative tolerances.
_ORDER_WINDOW_S = 0.1
_ORDER_STEPS = (1, 2, 4, 8, 16)
_ORDER_TOLERANCES = (1e-4, 1e-8, 1e-12)
_TORQUES: tuple[Torques, ...] = ("recorded", "recomputed")


@dataclass(frozen=True)
class ForwardReplay:
    """A replayed trial.

    Attributes:
        walk: open-loop replay by kind of torques (recorded, recomputed); rest: the standing body, recorded torques.
        tracked: replay under feedback, one part per stretch; joints_only: without feedback at the base.
        convergence: of every integrator.
        restarted: (T, nq) open-loop replay that starts again from the recorded state in every longest window.
    """

    walk: Mapping[str, OpenLoop]
    rest: OpenLoop
    tracked: tuple[Tracked, ...]
    joints_only: tuple[Tracked, ...]
    convergence: tuple[Convergence, ...]
    restarted: FloatArray


def replay_forwards(actuated: ActuatedMotion, settings: ReplaySettings, say: Callable[[str], None]) -> ForwardReplay:
    """Integrate forward dynamics with the torques and ground wrenches of a trial; `say` is told what begins."""
    steps = max(math.ceil(1.0 / (actuated.rate_hz * settings.step_s) - 1e-9), 1)
    common: dict[str, Any] = {
        "method": settings.method,
        "steps": steps,
        "start_every_s": settings.start_every_s,
        "angle_rad": math.radians(settings.angle_deg),
        "position_m": settings.position_m,
    }
    walk: dict[str, OpenLoop] = {}
    for torques in _TORQUES:
        say(f"replaying windows with {torques} torques")
        walk[torques] = open_loop(actuated, torques, settings.windows_s, **common)
    say("standing still")
    still = resting(actuated, settings.rest_s)
    windows = tuple(window for window in settings.windows_s if window <= settings.rest_s) or (settings.rest_s,)
    rest = open_loop(still, "recorded", windows, **{**common, "start_every_s": 2.0 * settings.rest_s})
    say("replaying under feedback")
    how: dict[str, Any] = {"method": settings.method, "steps": steps, "bandwidth_hz": settings.feedback_hz}
    everywhere, joints_only = tracked(actuated, **how), tracked(actuated, **how, base=False)
    say("measuring the integrators")
    orders = convergence(actuated, _ORDER_WINDOW_S, _ORDER_STEPS, _ORDER_TOLERANCES)
    restarted = _restarted(actuated, settings, steps)
    return ForwardReplay(walk, rest, everywhere, joints_only, orders, restarted)


def _restarted(actuated: ActuatedMotion, settings: ReplaySettings, steps: int) -> FloatArray:
    """Open-loop motion (T, nq) that returns to the recorded state at the start of every longest window."""
    motion = np.full_like(actuated.q, np.nan)
    length = max(round(max(settings.windows_s) * actuated.rate_hz), 1)
    for stretch in replay_inputs(actuated, "recorded"):
        starts = np.arange(0, len(stretch.times_s) - 1, length)
        found = replay_windows(stretch, starts, length, settings.method, steps)
        for start, q in zip(starts.tolist(), found.q, strict=True):
            first = stretch.frames[0] + start
            stop = min(first + length, stretch.frames[1] + 1)
            motion[first:stop] = q[: stop - first]
    return motion
