"""A force plate as a file stores it, before anything is computed from its channels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.recording.cop_correction import CopCorrection


def sides_of(corners: FloatArray) -> FloatArray:
    """Return the lengths (2,) of a plate along its x and y axes, by its corners (4, 3) in their unit, see `ForcePlate`."""
    return np.asarray(np.linalg.norm([corners[0] - corners[1], corners[0] - corners[3]], axis=1))


@dataclass(frozen=True)
class ForcePlate:
    """One force plate as stored: channels in N and Nm (CoP channels of type 1 in m), geometry in the file's frame.

    Attributes:
        number: 1-based number in the file.
        type: C3D FORCE_PLATFORM:TYPE.
        corners: (4, 3) m, in the C3D order (+x+y, -x+y, -x-y, +x-y of the plate's own axes).
        origin: (3,) m, FORCE_PLATFORM:ORIGIN of this plate, plate axes.
        channels: (Ta, C) analog samples at `rate_hz`, scaled to physical units; offset not removed.
        rate_hz: analog samples per second; an integer multiple of the marker rate.
        cal_matrix: (6, C) of types 4 and 5, (C, C) of types 6 and 7, already for SI units; None for all others.
        zero_frames: first and last marker frame (0-based, inclusive) of the unloaded baseline, None if the file names none.
        channel_labels: the analog labels, for messages.
        outlined: whether `corners` are the plate's. False: of a table of forces, which does not tell them; they lie around the
            centre of pressure, and say nothing of the plate's edge.
        cop_correction: of the centre of pressure, where the manufacturer gives one and the file holds it.
        side: of the foot on which the file says that the force acts, None where it does not say.
    """

    number: int
    type: int
    corners: FloatArray
    origin: FloatArray
    channels: FloatArray
    rate_hz: float
    cal_matrix: FloatArray | None = None
    zero_frames: tuple[int, int] | None = None
    channel_labels: tuple[str, ...] = ()
    cop_correction: CopCorrection | None = None
    outlined: bool = True
    side: Side | None = None

    @property
    def outputs(self) -> FloatArray:
        """The channels as stored, or what the calibration matrix makes of them where there is one: (Ta, 6) or (Ta, C)."""
        return self.channels if self.cal_matrix is None else self.channels @ self.cal_matrix.T

    def rotated(self, R: FloatArray) -> ForcePlate:
        """Return the same plate with its corners multiplied by R (3, 3)."""
        return replace(self, corners=self.corners @ R.T)
