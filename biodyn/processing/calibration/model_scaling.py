"""Scale factors of the bodies of an OpenSim model, from recorded and modelled distances between markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.geometry.points import all_finite
from biodyn.rigid_body.osim.model import OpenSimModel


@dataclass(frozen=True, eq=False)
class StandingMarkers:
    """Markers of a static trial: labels, positions (T, M, 3) m (NaN = not visible), times (T,) s."""

    labels: tuple[str, ...]
    positions: FloatArray
    time_s: FloatArray

    def select_time_range(self, range_s: tuple[float, float] | None) -> StandingMarkers:
        """Return the markers in a time range (None = all), extended to the frames that enclose its start and end."""
        if range_s is None:
            return self
        slack = 1e-6
        before = np.flatnonzero(self.time_s <= range_s[0] + slack)
        first = int(before[-1]) if before.size else 0
        behind = np.flatnonzero(self.time_s >= range_s[1] - slack)
        last = int(behind[behind >= first][0]) if (behind >= first).any() else len(self.time_s) - 1
        return StandingMarkers(self.labels, self.positions[first : last + 1], self.time_s[first : last + 1])

    def mean(self) -> FloatArray:
        """Return the mean position (M, 3) m of each marker over its visible frames, NaN for a marker that is never visible."""
        seen = all_finite(self.positions)
        total = np.where(seen[..., None], self.positions, 0.0).sum(axis=0)
        count = seen.sum(axis=0)[:, None]
        return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)

    def distance(self, a: str, b: str) -> float:
        """Return the mean distance of two markers, m; NaN where they are missing or never visible together."""
        if a not in self.labels or b not in self.labels:
            return float("nan")
        ends = [self.positions[:, self.labels.index(name)] for name in (a, b)]
        lengths = np.linalg.norm(ends[0] - ends[1], axis=1)
        return float(np.nanmean(lengths)) if np.isfinite(lengths).any() else float("nan")


def default_marker_positions(model: OpenSimModel) -> dict[str, FloatArray]:
    """Return the positions (3,) m of the markers of a model in ground, with all coordinates at their default values."""
    R, p = model.coupled.body_poses(model.default_configuration()[None])
    places = {}
    for marker in model.markers:
        place = np.array(marker.place_m)
        if marker.body is None:
            places[marker.name] = place
        else:
            b = model.multibody.body_index(marker.body)
            places[marker.name] = R[0, b] @ place + p[0, b]
    return places


def measured_scale_factor(
    pairs: Sequence[tuple[str, str]], places: Mapping[str, FloatArray], standing: StandingMarkers
) -> float:
    """Return the mean ratio of recorded to modelled distance of the marker pairs; NaN if a marker is missing.

    places: positions (3,) m of the markers of the model in its default configuration.
    """
    ratios = []
    for a, b in pairs:
        if a not in places or b not in places:
            return float("nan")
        modelled = float(np.linalg.norm(places[a] - places[b]))
        ratios.append(standing.distance(a, b) / modelled if modelled > 0.0 else float("nan"))
    return float(np.mean(ratios)) if ratios else float("nan")


def scale_factors_by_body(
    model: OpenSimModel, standing: StandingMarkers
) -> tuple[dict[str, float], float, tuple[str, ...]]:
    """Return the scale factor of every body, the factor of the whole body, and the names of the bodies with measured factors.

    A body with markers in both files is scaled by the least-squares ratio of the distances between its markers, which do not
    depend on the pose. Opposite sides (names ending in _r and _l) share one factor. Bodies without two common markers are
    scaled by the ratio over the distances of all bodies, which is also the factor of the whole body. Raises ModelError if no
    body has two common markers.
    """
    # Shorter distances depend more on marker placement than on the size of the body.
    least_pair_m = 0.05
    sums: dict[str, FloatArray] = {}
    for body in {marker.body for marker in model.markers if marker.body is not None}:
        common = [m for m in model.markers if m.body == body and m.name in standing.labels]
        total = np.zeros(2)
        for i, a in enumerate(common):
            for b in common[:i]:
                modelled = float(np.linalg.norm(np.subtract(a.place_m, b.place_m)))
                recorded = standing.distance(a.name, b.name)
                if modelled >= least_pair_m and np.isfinite(recorded):
                    total += (recorded * modelled, modelled**2)
        sums[str(body)] = total
    whole = np.sum(list(sums.values()), axis=0) if sums else np.zeros(2)
    if not whole[1] > 0.0:
        raise ModelError(
            "No body of the model has two markers in common with the static trial: its size cannot be measured.",
            "Use the marker names of the model, or specify an OpenSim scale set-up file (--scale-setup SETUP.xml).",
        )
    overall = float(whole[0] / whole[1])
    factors, measured = {}, []
    for body in (b.name for b in model.multibody.bodies if "/" not in b.name):
        both = sums.get(body, np.zeros(2)) + sums.get(_other_side(body), np.zeros(2))
        factors[body] = float(both[0] / both[1]) if both[1] > 0.0 else overall
        if both[1] > 0.0:
            measured.append(body)
    return factors, overall, tuple(measured)


def _other_side(body: str) -> str:
    swap = {"_r": "_l", "_l": "_r"}
    return body[:-2] + swap[body[-2:]] if body[-2:] in swap else ""
