"""What a result says of the norms beside it: whose they are, at which speed, from where and why; and back from there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.variables.norm_choice import NormChoice, Walker, choose_norms
from biodyn.variables.norms import AUTO, NormCurve, Norms, NormScalar, load_norm_set

_DIGITS: Final = 5
#: Name of the part of a record that this module writes and reads.
ENTRY: Final = "norms"


def norms_record(setting: str, walker: Walker) -> dict[str, Any]:
    """Return what `run.json` keeps of the choice; own norms keep their curves, as their file may go."""
    choice = choose_norms(setting, walker)
    return {
        "setting": setting,
        "speed": {measure: _number(walker.speed(measure)) for measure in ("m_s", "dimensionless", "heights_per_s")},
        "leg_length_m": _number(walker.leg_m),
        "shown": _shown(choice),
        "reasons": list(choice.reasons),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _shown(choice: NormChoice) -> list[dict[str, Any]]:
    found = []
    for one in choice.chosen:
        norms = one.norms
        entry: dict[str, Any] = {
            name: getattr(norms, name) for name in ("name", "group", "short", "band", "citation", "licence", "speed")
        }
        entry["at_speed"] = one.speed
        if one.source.file:
            entry["curves"] = {name: _plain(curve) for name, curve in norms.curves.items()}
            entry["scalars"] = {name: asdict(scalar) for name, scalar in norms.scalars.items()}
        found.append(entry)
    return found


def _plain(curve: NormCurve) -> dict[str, Any]:
    sd = None if curve.sd is None else np.round(curve.sd, _DIGITS).tolist()
    return {"mean": np.round(curve.mean, _DIGITS).tolist(), "sd": sd, "unit": curve.unit, "reach": curve.reach}


def walker_of(record: Mapping[str, Any], speed_m_s: float) -> Walker:
    """Return the person of a record (`run.json`); what older versions did not ask is not known."""
    subject = record["subject"]
    age, leg = subject.get("age_years"), subject.get("leg_length_m")
    kind = (record.get("activity") or {}).get("kind", "walking")
    height = subject["height_m"]  # of an OpenSim model nobody need know it
    return Walker(age, math.nan if height is None else float(height), leg, speed_m_s, kind)


def norms_of_record(record: Mapping[str, Any], speed_m_s: float) -> tuple[Norms, ...]:
    """Return the norms that a result stands beside, as its record says; of an older version those that fit by its facts."""
    if ENTRY not in record:
        return choose_norms(AUTO, walker_of(record, speed_m_s)).norms
    age = record["subject"].get("age_years")
    return tuple(_of_entry(entry, age) for entry in record[ENTRY]["shown"])


def reasons_of_record(record: Mapping[str, Any], speed_m_s: float) -> tuple[str, ...]:
    """Why these norms, or none, in sentences."""
    if ENTRY not in record:
        return choose_norms(AUTO, walker_of(record, speed_m_s)).reasons
    return tuple(record[ENTRY]["reasons"])


def _of_entry(entry: Mapping[str, Any], age_years: float | None) -> Norms:
    if "curves" not in entry:
        return load_norm_set(entry["name"]).at(entry["at_speed"], age_years)
    curves = {
        name: NormCurve(
            _array(one["mean"]), None if one["sd"] is None else _array(one["sd"]), one["unit"], one["reach"]
        )
        for name, one in entry["curves"].items()
    }
    scalars = {name: NormScalar(**one) for name, one in entry["scalars"].items()}
    words = {name: str(entry[name]) for name in ("name", "group", "short", "band", "citation", "licence", "speed")}
    return Norms(curves=curves, scalars=scalars, **words)


def _array(values: list[float]) -> FloatArray:
    return np.asarray(values, dtype=np.float64)
