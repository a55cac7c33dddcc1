"""Norms from a study: each curve and number of the stride as a function of speed, with the band of a new person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from biodyn.conventions import FloatArray
from biodyn.errors import StudyError, printable
from biodyn.statistics.prediction_bands import LEAST_FOR_BAND, LEAST_FOR_MEAN, CurveModel, curve_model
from biodyn.study.own_norms.people import Means, People, people_of
from biodyn.study.own_norms.write import write_norms
from biodyn.variables import NormSet, is_known
from biodyn.variables.meaning import PERCENT
from biodyn.variables.norm_choice import SIZE_FREE

_EVERY = 2  # percent of the cycle between two numbers of the file
_NORMAL_95 = 1.96
_LONGEST_NAME = 80
#: Numbers of the stride that norms hold besides the dimensionless ones.
_STRIDES = {"stance_percent": "%", "single_support_percent": "%", "double_support_percent": "%"}
_TITLES = {
    "stance_percent": "Stance",
    "single_support_percent": "Single support",
    "double_support_percent": "Double support",
}


def build_norms(
    study: str | Path,
    out: str | Path | None = None,
    *,
    name: str | None = None,
    groups: Sequence[str] | None = None,
    conditions: Sequence[str] | None = None,
    licence: str = "own data, not published",
    seed: int = 0,
    replace: bool = False,
) -> NormSet:
    """Make norms of the healthy people of a study.

    Parameters:
        study: output folder of a finished study. out: TOML file to write; None = none.
        name: of the norms; None = that of the study. groups, conditions: only these. licence: written into the file.
        seed: of the bootstrap of the bands. replace: an existing file is replaced.

    Raises StudyError for too few people or an unknown group or condition, or where `out` exists; ResultError where the folder
    holds no finished study.
    """
    folder = Path(study)
    target = None if out is None else Path(out)
    if target is not None and target.suffix.lower() != ".toml":
        raise StudyError(f"'{target}' is no TOML file.", "Let the name end in .toml.")
    if target is not None and target.exists() and not replace:
        raise StudyError(f"'{target}' exists.", "Choose another name, or say that it shall be replaced.")
    name = printable(name or folder.resolve().name)
    if not 0 < len(name) <= _LONGEST_NAME:
        raise StudyError(f"A name of norms has 1 to {_LONGEST_NAME} characters.", "Choose another name.")
    people = people_of(folder, groups, conditions)
    if len(people.names) < LEAST_FOR_MEAN:
        raise StudyError(
            f"Norms need {LEAST_FOR_MEAN} people with gait cycles; the study has {len(people.names)}.",
            "Trials that failed their checks are left out.",
        )
    table = norm_table(people, name, printable(licence) or "not stated", seed)
    if target is not None:
        write_norms(table, target)
    return NormSet(table, "" if target is None else str(target))


def norm_table(people: People, name: str, licence: str, seed: int) -> dict[str, Any]:
    """Return what a file of norms says."""
    count, banded = len(people.names), len(people.names) >= LEAST_FOR_BAND
    speeds = np.array([one.speed for one in people.means])
    reference = float(np.average(speeds, weights=[one.weight for one in people.means]))
    ages = [one.age_years for one in people.walkers if one.age_years is not None]
    aged = len(ages) == count
    words = f", {min(ages):.0f}-{max(ages):.0f} years" if aged else ""
    table: dict[str, Any] = {
        "name": name,
        "group": f"{name}{words} (n = {count})",
        "short": name,
        "band": "95 % of people" if banded else "mean ± 1 SD",
        "citation": f"own norms of {count} people of the study '{name}', made {datetime.now(UTC):%Y-%m-%d}",
        "licence": licence,
        "made_by": "biodyn norms build",
        "percent": PERCENT[::_EVERY].tolist(),
        "speed": {
            "measure": "dimensionless",
            "reference": reference,
            "range": [float(speeds.min()), float(speeds.max())],
            "people": [count],
        },
        "curve": {},
        "scalar": {},
    }
    if aged:
        table |= {"ages": [min(ages), max(ages)], "serves": [float(np.floor(min(ages))), float(np.ceil(max(ages) + 1))]}
    for variable in sorted(name for name in people.units if is_known(name)):
        own = [one for one in people.means if variable in one.curves]
        if len({one.person for one in own}) >= LEAST_FOR_MEAN:
            curves = np.stack([one.curves[variable][::_EVERY] for one in own])
            model = _model(own, curves, seed)
            if banded and not np.isfinite(
                model.reach
            ):  # too few of the people have it for the band that the file tells of
                continue
            table["curve"][variable] = _curve(model, people.units[variable], reference, banded)
    for key, title, unit in _numbers():
        own = [one for one in people.means if np.isfinite(one.strides.get(key, np.nan))]
        if len({one.person for one in own}) >= LEAST_FOR_MEAN:
            values = np.array([[one.strides[key]] for one in own])
            table["scalar"][key] = _scalar(_model(own, values, seed, band=False), title, unit, reference)
    return table


def _numbers() -> list[tuple[str, str, str]]:
    """Name, title and unit of the numbers of the stride; the speed itself is what they depend on."""
    own = [(one.name, f"{one.title}, dimensionless", "1") for one in SIZE_FREE[1:]]
    return [*own, *((name, _TITLES[name], unit) for name, unit in _STRIDES.items())]


def _model(own: Sequence[Means], values: FloatArray, seed: int, band: bool = True) -> CurveModel:
    people = np.unique([one.person for one in own], return_inverse=True)[1]
    speed, weight = np.array([one.speed for one in own]), np.array([one.weight for one in own])
    return curve_model(values, speed, people, weight, seed=seed, band=band)


def _moved(model: CurveModel, reference: float) -> tuple[FloatArray, FloatArray]:
    """The coefficients and the spread about another reference."""
    offset = reference - model.reference
    rows = [*model.mean, *[np.zeros_like(model.mean[0])] * (3 - len(model.mean))]
    mean = np.stack([rows[0] + rows[1] * offset + rows[2] * offset**2, rows[1] + 2 * rows[2] * offset, rows[2]])
    return mean[: len(model.mean)], model.sd * np.exp(model.growth * offset)


def _curve(model: CurveModel, unit: str, reference: float, banded: bool) -> dict[str, Any]:
    mean, sd = _moved(model, reference)
    reach = model.reach if banded else 1.0
    return {"unit": unit, "mean": mean, "sd": sd[None], "sd_growth": model.growth, "reach": reach}


def _scalar(model: CurveModel, title: str, unit: str, reference: float) -> dict[str, Any]:
    """A number; its spread is widened so that 1.96 of it hold 95 % of new people (Student's t)."""
    mean, sd = _moved(model, reference)
    freedom = max(model.people - len(model.mean), 1)
    wider = float(stats.t.ppf(0.975, freedom)) / _NORMAL_95 * np.sqrt(1.0 + len(model.mean) / model.people)
    return {"title": title, "unit": unit, "mean": mean[:, 0], "sd": [float(sd[0] * wider)]}
