"""Values as JSON can say them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biodyn.errors import printable


def json_ready(value: Any) -> Any:
    """Return nested values as plain JSON types; NaN and infinities become None."""
    if isinstance(value, Mapping):
        return {printable(str(key)): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    if isinstance(value, np.ndarray):
        return json_ready(value.tolist())
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value if value is None else printable(str(value), keep="\n\t")
