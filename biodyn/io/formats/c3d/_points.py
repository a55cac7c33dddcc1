"""What the parameters of a C3D file say of its points: labels, lists of outputs, units of outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biodyn.conventions import FloatArray
from biodyn.io.formats.c3d._parameters import Groups, continued
from biodyn.io.labels import PointRoles
from biodyn.io.names import names
from biodyn.recording import ModelOutput


def point_texts(groups: Groups, name: str, count: int) -> list[str]:
    """POINT:LABELS (or DESCRIPTIONS) with LABELS2, LABELS3 ..., one for every point; "" where the file has none."""
    texts = [str(v) for v in continued(groups.get("POINT", {}), name)]
    return (texts + [""] * count)[:count]


def point_groups(groups: Groups) -> dict[str, list[str]]:
    """The lists of labels the POINT group holds: ANGLES, FORCES ..., continuations (ANGLES2) included.

    Also those that only POINT:TYPE_GROUPS calls groups of outputs.
    """
    announced = {str(v).strip() for v in values_of(groups, "POINT", "TYPE_GROUPS")} - {
        "LABELS",
        "DESCRIPTIONS",
        "MARKERS",
    }
    kinds = {*names()["model_outputs"]["groups"], *announced}
    lists: dict[str, list[str]] = {}
    for name, parameter in groups.get("POINT", {}).items():
        base = name.rstrip("0123456789")
        if base in kinds:
            lists.setdefault(base, []).extend(str(v) for v in parameter["values"])
    return lists


def model_outputs(groups: Groups, roles: PointRoles, points: FloatArray) -> Mapping[str, ModelOutput]:
    """Return the computed points by label, as stored; `points` (T, N, 3) file units."""
    unit_names = names()["model_outputs"]["unit_parameters"]
    units = {
        kind: str(next(iter(values_of(groups, "POINT", parameter)), "")).strip()
        for kind, parameter in unit_names.items()
    }
    return {
        roles.labels[i]: ModelOutput(roles.labels[i], roles.kinds[i], points[:, i], units.get(roles.kinds[i], ""))  # type: ignore[arg-type]
        for i in roles.outputs
    }


def values_of(groups: Groups, group: str, name: str) -> list[Any]:
    """Return the values of a parameter, none where it is missing."""
    values: list[Any] = groups.get(group, {}).get(name, {}).get("values", [])
    return values
