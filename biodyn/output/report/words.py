"""Words of a page for the names of columns."""

from __future__ import annotations

# Units at the end of a parameter's name, longest first.
_UNITS = {
    "_steps_min": "steps/min",
    "_m_s": "m/s",
    "_percent": "% of the cycle",
    "_deg": "degrees",
    "_BW": "BW",
    "_s": "s",
    "_m": "m",
}
# Units at the end of an evidence column's name, longest first: as shown, and the factor to it.
_EVIDENCE_UNITS = {
    "_m_s": ("m/s", 1.0),
    "_bw": ("body weights", 1.0),
    "_m": ("cm", 100.0),
    "_s": ("s", 1.0),
    "_n": ("N", 1.0),
    "_kg": ("kg", 1.0),
}
# Parameters whose column name is not the field's name.
_TITLES = {
    "toe_out": "Foot progression angle (toe-out +)",
    "vertical_force_first": "Vertical GRF, first peak",
    "vertical_force_trough": "Vertical GRF, trough",
    "vertical_force_second": "Vertical GRF, second peak",
    "braking_force_max": "Peak braking GRF",
    "propulsion_force_max": "Peak propulsive GRF",
    "lateral_force_first": "Lateral GRF, first peak",
    "medial_force_max": "Peak medial GRF",
}


def parameter_label(name: str) -> tuple[str, str]:
    """Words and unit of a parameter from its column name, e.g. ("Stride length", "m")."""
    for suffix, unit in _UNITS.items():
        if name.endswith(suffix):
            stem = name.removesuffix(suffix)
            return _TITLES.get(stem, stem.replace("_", " ").capitalize()), unit
    return name.replace("_", " ").capitalize(), ""


def evidence_words(name: str, value: float) -> str:
    """A number of a contact's evidence from its column name, with its unit, e.g. "beyond the plate 1.2 cm"."""
    for suffix, (unit, factor) in _EVIDENCE_UNITS.items():
        if name.endswith(suffix):
            words = name.removesuffix(suffix).replace("_", " ").replace("overhang", "beyond the plate")
            words = words.replace("sole", "foot outline")
            return f"{words} {factor * value:.3g} {unit}".replace(" 95 ", " (95th percentile) ").replace("cop", "CoP")
    return f"{name.replace('_', ' ')} {value:.3g}"


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign; what rounds to zero is neither more nor less."""
    return f"{value:+z.{digits}f}" if round(value, digits) else f"{0.0:.{digits}f}"


def decimal(value: float, digits: int) -> str:
    """A number with so many decimals; what rounds to zero has no sign."""
    return f"{value:z.{digits}f}"
