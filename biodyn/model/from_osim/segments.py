"""Which segment of the library's tables a body of an OpenSim model is: by its name, its joint's, else its place in a leg."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from biodyn.model.from_osim.names import segment_of_joint, segment_of_name, segments_of_a_leg

# A leg ends where a body's origin lies in the lowest part of the standing model, as a share of the root's height above its lowest
# origin: feet do, patellas and hanging hands do not.
_LOW: Final = 0.25


def segments_of(
    parents: Mapping[str, str], joints: Mapping[str, str], heights: Mapping[str, float], feet: Iterable[str]
) -> dict[str, str]:
    """Return the segment, without side, of every body that is known to be one.

    parents: of every body, "" of the root, parents first. joints: name of the joint that moves a body against its parent; bodies
    that nothing moves have none. heights: m, of every body's origin in the standing model. feet: bodies known as feet.
    """
    leg = segments_of_a_leg()
    legs = [_path(parents, end, joints) for end in (*feet, *_lowest(parents, heights))]
    by_leg = {name: leg[min(k, len(leg) - 1)] for path in legs if len(path) >= len(leg) for k, name in enumerate(path)}
    found = {}
    for name in parents:
        segment = segment_of_name(name) or segment_of_joint(joints.get(name, "")) or by_leg.get(name, "")
        if segment:
            found[name] = segment
    return found


def _path(parents: Mapping[str, str], end: str, moved: Mapping[str, str]) -> list[str]:
    """Bodies from the root, without it, to a body, those that a joint moves."""
    path: list[str] = []
    at = end
    while parents[at]:
        path.insert(0, at)
        at = parents[at]
    return [name for name in path if name in moved]


def _lowest(parents: Mapping[str, str], heights: Mapping[str, float]) -> Sequence[str]:
    """Bodies that carry no other and lie low in the standing model."""
    root = next(name for name, parent in parents.items() if not parent)
    floor = min(heights.values())
    low = floor + _LOW * (heights[root] - floor)
    return [name for name in parents if name not in parents.values() and heights[name] <= low]
