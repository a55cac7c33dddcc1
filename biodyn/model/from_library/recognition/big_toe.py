"""A toe marker that sits over the big toe, where its label means the second metatarsal: told by the other markers of the foot.

"TOE" is the second metatarsal's head in most laboratories and the big toe in some. Taken for the wrong one the foot points
inwards: centres of pressure come to lie beside its middle, and a plate is blamed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biodyn.conventions import SIDES, Side
from biodyn.diagnostics import Diagnostic
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.recording import Markers

CODE = "toe-marker"
# Seen from the heel, away from the head of the fifth metatarsal, degrees: the second one's head 14.7 to 21.7 (mean 17.3; ten
# feet of five people, four of them children), the big toe's 28.5 to 33.7 and the first one's head 33 to 40; TOE of two people
# in the Rajagopal set, which sits over the big toe, 26.2 and 29.7.
_BIG_TOE_DEG = 24.0


def with_big_toes(mapping: MarkerMapping, markers: Markers) -> tuple[MarkerMapping, tuple[Diagnostic, ...]]:
    """Return the mapping with the toe markers over the big toe as such, and what is said of them.

    Parameters: `markers` of the static trial, or of the walk where that has to do. Both feet are read alike: from their mean.
    """
    feet = {side: foot for side in SIDES if (foot := _foot(mapping, side))}
    seen = [degrees for foot in feet.values() if np.isfinite(degrees := _degrees(markers, foot))]
    degrees = float(np.mean(seen)) if seen else 0.0
    if degrees <= _BIG_TOE_DEG:
        return mapping, ()
    toes = {foot[1].label: f"toe_medial_{side}" for side, foot in feet.items()}
    roles = tuple(replace(role, landmark=toes[role.label]) if role.label in toes else role for role in mapping.roles)
    note = Diagnostic(
        CODE,
        "info",
        f"{' and '.join(toes)} {'sit' if len(toes) > 1 else 'sits'} over the big toe: seen from the heel {degrees:.0f} degrees "
        f"beside the fifth metatarsal, where the second one is less than {_BIG_TOE_DEG:.0f}. The foot points between both.",
        value=degrees,
        limit=_BIG_TOE_DEG,
        unit="deg",
        about=next(iter(toes)),
    )
    return replace(mapping, roles=roles), (note,)


def _foot(mapping: MarkerMapping, side: Side) -> tuple[MarkerRole, MarkerRole, MarkerRole] | None:
    """The roles of heel, toe and fifth metatarsal; None where one is missing, or another marker is on the big toe."""
    by_landmark = {role.landmark: role for role in mapping.roles}
    heel, toe, met5, hallux = (by_landmark.get(f"{name}_{side}") for name in ("heel", "toe", "met5", "hallux"))
    return None if heel is None or toe is None or met5 is None or hallux else (heel, toe, met5)


def _degrees(markers: Markers, foot: tuple[MarkerRole, MarkerRole, MarkerRole]) -> float:
    """Angle between toe and fifth metatarsal, seen from the heel: median of the frames; NaN where none shows all three."""
    labels = [role.label for role in foot]
    if not set(labels) <= set(markers.labels):
        return float("nan")
    heel, toe, met5 = (markers.positions[:, markers.labels.index(label)] for label in labels)
    one, other = toe - heel, met5 - heel
    cosine = np.sum(one * other, axis=1) / (np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1))
    known = cosine[np.isfinite(cosine)]
    return float(np.degrees(np.arccos(np.clip(np.median(known), -1.0, 1.0)))) if len(known) else float("nan")
