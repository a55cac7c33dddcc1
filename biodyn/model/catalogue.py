"""What the library offers, for people."""

from __future__ import annotations

from biodyn.model.library import entry_names, load_table

_HEADINGS = {"skeletons": "Skeletons", "markersets": "Marker sets", "anthropometry": "Anthropometric tables"}


def catalogue() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (heading, [(name, title), ...]) of everything a settings file can name."""
    listing = [
        (heading, [(name, str(load_table(f"{kind}/{name}")["title"])) for name in entry_names(kind)])
        for kind, heading in _HEADINGS.items()
    ]
    hips = [(name, str(row["title"])) for name, row in load_table("hip_centres").items()]
    return [*listing, ("Hip joint centre regressions", hips)]
