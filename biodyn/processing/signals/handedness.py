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
    outlined = [plate for plate in plates if plate.outlined]
    return bool(outlined) and all(z_points_up(plate) for plate in outlined)


def z_points_up(plate: ForcePlate) -> bool:
    """Whether the z axis that the corners (World, Y up) of a plate tell points up. False where the file does not tell corners."""
    normal = np.cross(plate.corners[0] - plate.corners[2], plate.corners[1] - plate.corners[3])
    return bool(plate.outlined and normal[1] > 0.0)


def mirrored_note() -> Diagnostic:
    """What is said where a recording was mirrored."""
    return Diagnostic(
        "laboratory-mirrored",
        "warning",
        "The recording is a mirror image: every marker of one side lies where a body has that of the other, and the corners "
        "of the force plates run the wrong way round. It was mirrored for this analysis, labels and sides are as in the file.",
        hint="Two axes were probably swapped in the export without turning one round: correct that, and compare one side.",
    )
