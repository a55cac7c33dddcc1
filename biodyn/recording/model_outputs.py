"""What the laboratory's own software computed and stored in the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from biodyn.conventions import FloatArray


@dataclass(frozen=True)
class ModelOutput:
    """A computed point channel of the laboratory's own software (angles, moments, powers ...), as stored.

    `values` is (T, 3) in file units `unit`, NaN where not computed; kind from POINT:ANGLES/MOMENTS/... or the label.
    """

    label: str
    kind: Literal["angle", "moment", "force", "power", "scalar", "virtual_point", "other"]
    values: FloatArray
    unit: str
