"""Small C3D files written through ezc3d: a stick person of sixteen markers, plates, events, parameters."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ezc3d
import numpy as np
import pytest

LABELS = ["LASI", "RASI", "LPSI", "RPSI"] + [s + m for s in "LR" for m in ("THI", "KNE", "TIB", "ANK", "HEE", "TOE")]
# mm, laboratory axes: x across to the right, y ahead, z up
PERSON_MM = np.array(
    [
        [-120, 90, 950],
        [120, 90, 950],
        [-50, -80, 960],
        [50, -80, 960],
        [-180, 20, 700],
        [-130, 20, 500],
        [-170, 0, 300],
        [-120, 0, 90],
        [-100, -50, 50],
        [-110, 130, 45],
        [180, 20, 690],
        [130, 20, 500],
        [170, 0, 310],
        [120, 0, 90],
        [100, -50, 50],
        [110, 130, 45],
    ],
    dtype=float,
)
RATE_HZ = 100.0


def person_mm(frame_count: int = 60, speed_mm_s: float = 0.0) -> np.ndarray:
    """(T, 16, 3) mm: the stick person standing, or gliding ahead."""
    travel = np.arange(frame_count)[:, None, None] / RATE_HZ * np.array([0.0, speed_mm_s, 0.0])
    return PERSON_MM[None] + travel


Writer = Callable[..., Path]


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


def plate_parameters(
    kind: int = 2, count: int = 1, channels: int = 6, origin_mm: Sequence[float] = (0.0, 0.0, -40.0)
) -> dict[str, Any]:
    """FORCE_PLATFORM of plates 400 x 600 mm side by side along y, z pointing down (as Vicon and AMTI have it)."""
    corners = np.empty((3, 4, count))
    for p in range(count):
        low, high = 600.0 * p, 600.0 * (p + 1)
        corners[:, :, p] = np.array([[200, high, 0], [200, low, 0], [-200, low, 0], [-200, high, 0]]).T
    return {
        "FORCE_PLATFORM:USED": [count],
        "FORCE_PLATFORM:TYPE": [kind] * count,
        "FORCE_PLATFORM:ZERO": [1, 0],
        "FORCE_PLATFORM:CORNERS": corners,
        "FORCE_PLATFORM:ORIGIN": np.tile(np.asarray(origin_mm, dtype=float)[:, None], (1, count)),
        "FORCE_PLATFORM:CHANNEL": np.arange(1, channels * count + 1).reshape(count, channels).T,
    }


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real recordings; tests that need it skip where it is not named."""
    folder = os.environ.get("BIODYN_TEST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("BIODYN_TEST_DATA does not name the folder of real recordings")
    return Path(folder)
