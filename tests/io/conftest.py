"""Small C3D files written through ezc3d: a stick person, plates, events, parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ezc3d
import numpy as np
import pytest
from support.stick_person import LABELS, RATE_HZ, Writer, person_mm


@pytest.fixture
def write_c3d(tmp_path: Path) -> Writer:
    """Return a writer of C3D files in a temporary folder; everything has a sound default."""

    def write(
        name: str = "trial.c3d",
        points_mm: np.ndarray | None = None,
        labels: Sequence[str] = LABELS,
        analogs: np.ndarray | None = None,
        analog_labels: Sequence[str] = (),
        analog_units: Sequence[str] = (),
        parameters: dict[str, Any] | None = None,
        first_frame: int = 1,
        unseen: np.ndarray | None = None,
        rate_hz: float = RATE_HZ,
    ) -> Path:
        """`points_mm` (T, N, 3), `analogs` (Ta, C), `parameters` {"GROUP:NAME": value}, `unseen` (T, N) bool."""
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        points = person_mm() if points_mm is None else points_mm
        frames, count = points.shape[:2]
        c3d = ezc3d.c3d()
        c3d["parameters"]["POINT"]["RATE"]["value"] = [rate_hz]
        c3d["parameters"]["POINT"]["LABELS"]["value"] = list(labels)
        c3d["parameters"]["POINT"]["UNITS"]["value"] = ["mm"]
        data = np.ones((4, count, frames))
        data[:3] = points.transpose(2, 1, 0)
        c3d["data"]["points"] = data
        residuals = np.zeros((1, count, frames))
        if unseen is not None:
            residuals[0][unseen.T] = -1.0
        c3d["data"]["meta_points"]["residuals"] = residuals
        c3d["header"]["points"]["first_frame"] = first_frame - 1
        if analogs is not None:
            c3d["parameters"]["ANALOG"]["RATE"]["value"] = [rate_hz * analogs.shape[0] / frames]
            c3d["parameters"]["ANALOG"]["LABELS"]["value"] = list(analog_labels)
            c3d["parameters"]["ANALOG"]["UNITS"]["value"] = list(analog_units)
            c3d["parameters"]["ANALOG"]["SCALE"]["value"] = [1.0] * analogs.shape[1]
            c3d["parameters"]["ANALOG"]["OFFSET"]["value"] = [0] * analogs.shape[1]
            c3d["data"]["analogs"] = analogs.T[None]
        for key, value in (parameters or {}).items():
            group, parameter = key.split(":")
            c3d.add_parameter(group, parameter, value.astype(float) if isinstance(value, np.ndarray) else value)
        c3d.write(str(path))
        return path

    return write
