"""Left-handed laboratory frames: two axes swapped in an export without one being turned round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.recording import ForcePlate

#: Turns a mirrored World, in which Z points left, into one in which it points right.
MIRROR: FloatArray = np.diag([1.0, 1.0, -1.0])


def corners_run_backwards(plates: Sequence[ForcePlate]) -> bool:
    """Whether the corners (World, Y up) of all plates run the other way round than the format has them.

    From above they run clockwise: +x+y, -x+y, -x-y, +x-y of axes whose z points down (C3D user guide, FORCE_PLATFORM). So
    they do in every plate of some fifteen laboratories at hand; a mirror image turns them round. False without a plate.
    """
    normals = [
        np.cross(plate.corners[0] - plate.corners[2], plate.corners[1] - plate.corners[3])
        for plate in plates
        if plate.outlined
    ]
    return bool(normals) and all(normal[1] > 0.0 for normal in normals)


def mirrored_note() -> Diagnostic:
    """What is said where a recording was mirrored."""
    return Diagnostic(
        "laboratory-mirrored",
        "warning",
        "The recording is a mirror image: every marker of one side lies where a body has that of the other, and the corners "
        "of the force plates run the wrong way round. It was mirrored for this analysis, labels and sides are as in the file.",
        hint="Two axes were probably swapped in the export without turning one round: correct that, and compare one side.",
    )
