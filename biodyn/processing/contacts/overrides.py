"""What the user says about a contact, over what was decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from biodyn.conventions import SIDE_NAMES, SIDES, Side
from biodyn.errors import SettingsError
from biodyn.processing.contacts.load import PlateContact
from biodyn.processing.contacts.parameters import ContactOverride

# A time that a person reads off a table or figure is this near to a load's begin.
MATCHES_S = 0.1
REASON = "set by the user"


def with_overrides(
    found: Sequence[PlateContact], numbers: Sequence[int], overrides: Sequence[ContactOverride], rate_hz: float
) -> list[PlateContact]:
    """Return the contacts with those of the user; `numbers` of the plates in the file.

    An override holds for the load of its plate at `from_s`, from there (from the load's begin, where that is near) to
    `until_s` or the load's end. Raises SettingsError with the loads there are where it matches none.
    """
    result = list(found)
    for entry in overrides:
        result = _applied(result, numbers, entry, rate_hz)
    return sorted(result, key=lambda item: (item.contact.start_s, item.contact.plate))


def _applied(
    found: list[PlateContact], numbers: Sequence[int], entry: ContactOverride, rate_hz: float
) -> list[PlateContact]:
    load = _load_at(found, entry)
    if not load:
        raise _no_load(found, numbers, entry)
    start_s, end_s = load[0].contact.start_s, load[-1].contact.end_s
    near = entry.from_s <= start_s + MATCHES_S
    begin_s = start_s if near else entry.from_s
    stop_s = end_s if entry.until_s is None else min(entry.until_s, end_s)
    if stop_s <= begin_s:
        raise _no_load(found, numbers, entry)
    first = load[0].first if near else round(begin_s * rate_hz)
    stop = load[-1].stop if stop_s == end_s else round(stop_s * rate_hz)
    kept = [item for item in found if not any(item is part for part in load)]
    for item in load:
        if item.first < first:
            end = min(item.stop, first)
            kept.append(_part(item, item.first, end, item.contact.start_s, min(item.contact.end_s, begin_s)))
        if item.stop > stop:
            at = max(item.first, stop)
            kept.append(_part(item, at, item.stop, max(item.contact.start_s, stop_s), item.contact.end_s))
    side: Side | None = next((side for side in SIDES if SIDE_NAMES[side] == entry.side), None)
    model = max(load, key=lambda item: min(item.stop, stop) - max(item.first, first))
    contact = replace(
        model.contact,
        start_s=begin_s,
        end_s=stop_s,
        side=side,
        decision="assigned" if side else "rejected",
        reason=REASON,
    )
    # Given to no foot, the feet that might have stood there stay unknown.
    feet = (side,) if side else tuple(dict.fromkeys(foot for item in load for foot in item.feet))
    kept.append(
        PlateContact(
            contact,
            model.plate,
            first,
            stop,
            feet,
            cut_before=load[0].cut_before if near else True,
            cut_after=load[-1].cut_after if stop_s == end_s else True,
        )
    )
    return kept


def _part(item: PlateContact, first: int, stop: int, start_s: float, end_s: float) -> PlateContact:
    """A piece of a contact, beside the one that the user set."""
    contact = replace(item.contact, start_s=start_s, end_s=end_s)
    return replace(
        item,
        contact=contact,
        first=first,
        stop=stop,
        cut_before=item.cut_before or first > item.first,
        cut_after=item.cut_after or stop < item.stop,
    )


def _load_at(found: Sequence[PlateContact], entry: ContactOverride) -> list[PlateContact]:
    """The pieces, in order, of the unbroken load of the plate at `from_s`; of several, the one that begins nearest."""
    own = sorted((item for item in found if item.contact.plate == entry.plate), key=lambda item: item.first)
    loads: list[list[PlateContact]] = []
    for item in own:
        if loads and item.cut_before and loads[-1][-1].cut_after:
            loads[-1].append(item)
        else:
            loads.append([item])
    fitting = [load for load in loads if load[0].contact.start_s - MATCHES_S <= entry.from_s < load[-1].contact.end_s]
    return min(fitting, key=lambda load: abs(load[0].contact.start_s - entry.from_s), default=[])


def _no_load(found: Sequence[PlateContact], numbers: Sequence[int], entry: ContactOverride) -> SettingsError:
    own = sorted({(item.contact.start_s, item.contact.end_s) for item in found if item.contact.plate == entry.plate})
    span = f"from {entry.from_s:g} s" + (f" until {entry.until_s:g} s" if entry.until_s is not None else "")
    if entry.plate not in numbers:
        known = ", ".join(str(number) for number in numbers) or "none"
        hint = f"Plates with a wrench: {known}."
    elif own:
        hint = "Loads of the plate: " + ", ".join(f"{start:.2f} to {end:.2f} s" for start, end in own) + "."
    else:
        hint = "The plate was never loaded."
    return SettingsError(f"contacts.override names plate {entry.plate} {span}, where it carries no load.", hint)
