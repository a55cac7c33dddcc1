"""Parameters of the forward replay: the section [replay] of the settings."""

from __future__ import annotations

from typing import Annotated, Literal

from biodyn.library.section import Field, Section


class ReplaySettings(Section):
    """Forward dynamics with the recorded torques (`biodyn replay`)."""

    windows_s: tuple[Annotated[float, Field(ge=0.001, le=60)], ...] = Field(
        (0.05, 0.1, 0.2, 0.3, 0.5), min_length=1, max_length=50, strict=False, description="lengths of windows, s"
    )
    start_every_s: float = Field(0.02, ge=0.001, le=60, description="a window starts this often, s")
    method: Literal["euler", "rk4", "solve_ivp"] = Field(
        "rk4", description="integrator: semi-implicit Euler, Runge-Kutta of fourth order, or adaptive"
    )
    step_s: float = Field(0.0025, ge=1e-5, le=0.1, description="longest step of an integrator with fixed steps, s")
    angle_deg: float = Field(1.0, gt=0, description="a replay within this angle and position counts as on the motion")
    position_m: float = Field(0.01, gt=0, description="distance of the pelvis that counts as on the motion, m")
    feedback_hz: float = Field(
        # an error of a standing foot doubles in 10-20 ms: a feedback below some 10 Hz cannot hold it
        20.0,
        gt=0,
        le=1000,
        description="bandwidth of the tracked replay's feedback, Hz",
    )
    rest_s: float = Field(0.5, ge=0.01, le=60, description="duration of the rest case, s")
    animation: bool = Field(True, description="draw the replay as an animation beside the recorded motion")
