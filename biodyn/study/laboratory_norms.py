"""Build norms of a laboratory from a study of its healthy people, as a TOML file (docs/norms.md).

Curves are functions of the dimensionless walking speed with 95 % prediction bands (`biodyn.statistics.prediction_bands`). A
person has equal weight in each condition, by the mean of the cycles of each side; trials that failed their checks are excluded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.special import stdtrit

from biodyn.conventions import FloatArray
from biodyn.errors import StudyError, printable_text
from biodyn.library.entry_faults import require_valid_table
from biodyn.library.toml_files import read_user_toml, toml_text
from biodyn.statistics.gait_measures import GaitDeviationIndex, fit_deviation_index, gait_vector
from biodyn.statistics.prediction_bands import LEAST_FOR_BAND, LEAST_FOR_MEAN, CurveModel, fit_curve_model
from biodyn.study.collecting.data_set_reader import iterate_subjects
from biodyn.study.group.group_data import mean_covariates
from biodyn.study.group.statistics.gait_scores import score_names
from biodyn.study.group.subject_cycles import CYCLE_VALUES, SubjectCycles, mean_curves
from biodyn.study.report.pages import cycles_with_strides
from biodyn.study.report.report_inputs import StudySource
from biodyn.variables import NormCovariates, NormSet, is_known_variable, side_sign_factors
from biodyn.variables.cycle_parameters import nan_statistics
from biodyn.variables.gait_variables import PERCENT
from biodyn.variables.norms import DIMENSIONLESS, DIMENSIONLESS_SPEED, dimensionless_parameters, read_covariates

_SPEED = "speed_m_s"


_Labels: TypeAlias = Sequence[str] | None  # None = all


@dataclass(frozen=True)
class PersonMeans:
    """Means of a person in one condition and side.

    Attributes:
        person: number from 0. speed: dimensionless speed. curves: (101,) by variable, with the signs of a right side.
        strides: stride parameters by name, including dimensionless ones. weight: weight, 1 in total per person and condition.
    """

    person: int
    speed: float
    curves: Mapping[str, FloatArray]
    strides: Mapping[str, float]
    weight: float


@dataclass(frozen=True)
class StudyPeople:
    """Healthy people of a study: their means, units by variable, names, `norm_covariates`, and number of excluded walks.

    gait_vectors: (N, 459) gait vectors (nine angles) of every person, condition and side of the study, including patients.
    """

    means: tuple[PersonMeans, ...]
    units: Mapping[str, str]
    names: tuple[str, ...]
    norm_covariates: tuple[NormCovariates, ...]
    left_out: int
    gait_vectors: FloatArray = field(default_factory=lambda: np.empty((0, 0)))


def read_people(study: Path, groups: Sequence[str] | None, conditions: Sequence[str] | None) -> StudyPeople:
    """Return the people in a study folder, only of the given groups and conditions (None = all).

    Raises StudyError for a group or condition that the study does not have; ResultError if the study is not finished.
    """
    source = StudySource(study)
    _require_known_labels("group", groups, {trial.group for trial in source.trials})
    _require_known_labels("condition", conditions, {trial.condition for trial in source.trials})
    means: list[PersonMeans] = []
    units: dict[str, str] = {}
    names: list[str] = []
    norm_covariates: list[NormCovariates] = []
    gait_vectors: list[FloatArray] = []
    for frame in iterate_subjects(study, CYCLE_VALUES):
        data = cycles_with_strides(source, frame)
        if data is None:
            continue
        gait_vectors += _gait_vectors(data)
        covariates = _subject_norm_covariates(source, data)
        person_means = list(_subject_means(data, covariates, len(names), groups, conditions)) if covariates else []
        if covariates is None or not person_means:
            continue
        means += person_means
        units |= data.units
        names.append(data.subject)
        norm_covariates.append(covariates)
    left_out = sum(bool(trial.excluded) or not trial.has_result for trial in source.trials)
    return StudyPeople(tuple(means), units, tuple(names), tuple(norm_covariates), left_out, np.array(gait_vectors))


def _gait_vectors(data: SubjectCycles) -> list[FloatArray]:
    """Return one row (459,) of nine angle curves per session, condition and side, with the signs of a right side."""
    nine = score_names()
    if not set(nine) <= set(data.variables):
        return []
    curves = (
        side_sign_factors(nine, mean_curve.key[3])[:, None] * data.select_variables(mean_curve.mean, nine)
        for mean_curve in mean_curves(data)
    )
    return [gait_vector(nine) for nine in curves if np.isfinite(nine).all()]


def _require_known_labels(what: str, wanted: Sequence[str] | None, known: set[str]) -> None:
    for name in wanted or ():
        if name not in known:
            listed = ", ".join(sorted(filter(None, known))) or "none"
            raise StudyError(f"The study has no {what} '{name}'.", f"There are {listed}.")


def _subject_norm_covariates(source: StudySource, data: SubjectCycles) -> NormCovariates | None:
    """Return the properties of a person from the records of their trials; None if no trial is a walk."""
    used = set(data.cycles["trial"])
    trials = [trial for trial in source.subjects[data.subject] if trial.has_result and trial.trial in used]
    norm_covariates = [read_covariates(source.run_record(trial), trial.metric(_SPEED)) for trial in trials]
    return mean_covariates([covariates for covariates in norm_covariates if covariates.activity == "walking"])


def _subject_means(
    data: SubjectCycles, covariates: NormCovariates, person: int, groups: _Labels, conditions: _Labels
) -> Iterator[PersonMeans]:
    """Yield the mean curves and stride parameters of one person for each session, condition and side."""
    selected = [
        mean_curve
        for mean_curve in mean_curves(data)
        if (groups is None or mean_curve.key[2] in groups) and (conditions is None or mean_curve.key[1] in conditions)
    ]
    counts: dict[str, int] = {}
    for mean_curve in selected:
        counts[mean_curve.key[1]] = counts.get(mean_curve.key[1], 0) + 1
    for mean_curve in selected:
        _, condition, _, side = mean_curve.key
        strides = {name: float(nan_statistics(data.stride(name)[mean_curve.rows])[0]) for name in data.stride_columns}
        strides |= dimensionless_parameters(strides, covariates)
        speed = strides.get(DIMENSIONLESS_SPEED, float("nan"))
        if not np.isfinite(speed):
            continue
        signs = side_sign_factors(data.variables, side)
        curves = {name: signs[i] * mean_curve.mean[i] for i, name in enumerate(data.variables)}
        whole = {name: curve for name, curve in curves.items() if np.isfinite(curve).all()}
        yield PersonMeans(person, speed, whole, strides, 1.0 / counts[condition])


# -- The TOML file --------------------------------------------------------------------------------------------------


_HEAD = """\
# Norms built by biodyn; format: docs/norms.md. Signs follow biodyn's tables for the right side.
# A curve is mean[0] + mean[1] (v - reference) + mean[2] (v - reference)^2 at the dimensionless speed v; its band reaches
# reach * sd * exp(sd_growth (v - reference)) to either side."""


def write_norms(table: Mapping[str, Any], path: Path) -> None:
    """Write the norms file atomically; StudyError if it cannot be written, TableError if it is invalid."""
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text("\n".join(_toml_lines(table)) + "\n", encoding="utf-8")
        require_valid_table(read_user_toml(part, "table of norms"), "norms")
        os.replace(part, path)
    except OSError as error:
        raise StudyError(f"'{path}' cannot be written: {error.strerror}.", "Choose another path.") from error
    finally:
        part.unlink(missing_ok=True)


def _toml_lines(table: Mapping[str, Any]) -> Iterator[str]:
    yield _HEAD
    sections = {"": {key: value for key, value in table.items() if not isinstance(value, Mapping)}}
    sections |= {f"\n[{name}]\n": table[name] for name in ("speed", "gdi") if name in table}
    for kind in ("curve", "scalar"):
        sections |= {f"\n[{kind}.{toml_text(name)}]\n": entry for name, entry in table[kind].items()}
    for heading, section in sections.items():
        yield heading + "\n".join(f"{key} = {toml_text(value, digits=5)}" for key, value in section.items())


# -- Curves and numbers of the norms --------------------------------------------------------------------------------


#: Stride parameters in norms in addition to the dimensionless ones.
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
    """Build norms from the healthy people of a study.

    Parameters:
        study: output folder of a finished study. out: TOML file to write; None = no file.
        name: name of the norms; None = name of the study. groups, conditions: included groups and conditions; None = all.
        licence: licence stated in the file. seed: seed of the bootstrap of the bands. replace: whether to replace an existing
        file.

    Raises StudyError for too few people, an unknown group or condition, or an existing `out`; ResultError if the folder has no
    finished study.
    """
    max_length = 80
    folder = Path(study)
    target = None if out is None else Path(out)
    if target is not None and target.suffix.lower() != ".toml":
        raise StudyError(f"'{target}' is not a TOML file.", "Use a name that ends in .toml.")
    if target is not None and target.exists() and not replace:
        raise StudyError(f"'{target}' exists.", "Choose another name, or request that it is replaced.")
    name = printable_text(name or folder.resolve().name)
    if not 0 < len(name) <= max_length:
        raise StudyError(f"The name of norms must have 1 to {max_length} characters.", "Choose another name.")
    people = read_people(folder, groups, conditions)
    if len(people.names) < LEAST_FOR_MEAN:
        raise StudyError(
            f"Norms need {LEAST_FOR_MEAN} people with gait cycles; the study has {len(people.names)}.",
            "Trials that failed their checks are excluded.",
        )
    table = norms_file_content(people, name, printable_text(licence) or "not stated", seed)
    if target is not None:
        write_norms(table, target)
    return NormSet(table, "" if target is None else str(target))


def norms_file_content(people: StudyPeople, name: str, licence: str, seed: int) -> dict[str, Any]:
    """Return the content of a norms file as a table, from the means of the people; `seed`: seed of the bootstrap of the bands."""
    step_percent = 2  # percent of the cycle between two stored values
    count, banded = len(people.names), len(people.names) >= LEAST_FOR_BAND
    speeds = np.array([person.speed for person in people.means])
    reference = float(np.average(speeds, weights=[person.weight for person in people.means]))
    ages = [person.age_years for person in people.norm_covariates if person.age_years is not None]
    aged = len(ages) == count
    words = f", {min(ages):.0f}-{max(ages):.0f} years" if aged else ""
    table: dict[str, Any] = {
        "name": name,
        "group": f"{name}{words} (n = {count})",
        "short": name,
        "band": "95 % of people" if banded else "mean ± 1 SD",
        "citation": f"norms of {count} people of the study '{name}', built {datetime.now(UTC):%Y-%m-%d}",
        "licence": licence,
        "made_by": "biodyn norms build",
        "percent": PERCENT[::step_percent].tolist(),
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
    for variable in sorted(name for name in people.units if is_known_variable(name)):
        sources = [person for person in people.means if variable in person.curves]
        if len({person.person for person in sources}) >= LEAST_FOR_MEAN:
            curves = np.stack([person.curves[variable][::step_percent] for person in sources])
            model = _fit_model(sources, curves, seed)
            if banded and not np.isfinite(model.reach):  # too few people have this value for the stated band
                continue
            table["curve"][variable] = _curve_entry(model, people.units[variable], reference, banded)
    index = _deviation_index(people, NormSet(table)) if banded else None
    if index is not None:
        table["gdi"] = {"vectors": index.vectors, "log_mean": index.log_mean, "log_sd": index.log_sd}
    for key, title, unit in _stride_parameter_titles():
        sources = [person for person in people.means if np.isfinite(person.strides.get(key, np.nan))]
        if len({person.person for person in sources}) >= LEAST_FOR_MEAN:
            values = np.array([[person.strides[key]] for person in sources])
            table["scalar"][key] = _scalar_entry(_fit_model(sources, values, seed, band=False), title, unit, reference)
    return table


def _deviation_index(people: StudyPeople, norms: NormSet) -> GaitDeviationIndex | None:
    """Return the scale of the gait deviation index, for walks compared with the mean of the norms at their speed; None for too
    few people."""
    nine = score_names()
    sources = [person for person in people.means if set(nine) <= set(person.curves)]
    count = len({person.person for person in sources})
    if count < LEAST_FOR_BAND or not set(nine) <= set(norms.table["curve"]):
        return None
    means = [norms.norms_at_speed(person.speed).curves for person in sources]
    deviations = [
        gait_vector([person.curves[name] - mean[name].mean for name in nine])
        for person, mean in zip(sources, means, strict=True)
    ]
    # relative to a mean with p coefficients over n people, the squared distance is 1 - p/n for these, 1 + p/n for new people
    share = float(np.mean([len(norms.table["curve"][name]["mean"]) for name in nine])) / count
    prediction = np.sqrt((1.0 + share) / (1.0 - share))
    return fit_deviation_index(
        people.gait_vectors, np.array(deviations), [person.weight for person in sources], prediction
    )


def _stride_parameter_titles() -> list[tuple[str, str, str]]:
    """Return name, title and unit of the stride parameters, without the speed, on which they depend."""
    dimensionless = [
        (name, f"{item[0]}, dimensionless", "1") for name, item in DIMENSIONLESS.items() if name != DIMENSIONLESS_SPEED
    ]
    return [*dimensionless, *((name, _TITLES[name], unit) for name, unit in _STRIDES.items())]


def _fit_model(sources: Sequence[PersonMeans], values: FloatArray, seed: int, band: bool = True) -> CurveModel:
    people = np.unique([source.person for source in sources], return_inverse=True)[1]
    speed, weight = np.array([source.speed for source in sources]), np.array([source.weight for source in sources])
    return fit_curve_model(values, speed, people, weight, seed=seed, band=band)


def _shift_reference_speed(model: CurveModel, reference: float) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients of the mean, and the SD, of a curve model expressed about another reference speed."""
    offset = reference - model.reference
    rows = [*model.mean, *[np.zeros_like(model.mean[0])] * (3 - len(model.mean))]
    mean = np.stack([rows[0] + rows[1] * offset + rows[2] * offset**2, rows[1] + 2 * rows[2] * offset, rows[2]])
    return mean[: len(model.mean)], model.sd * np.exp(model.growth * offset)


def _curve_entry(model: CurveModel, unit: str, reference: float, banded: bool) -> dict[str, Any]:
    mean, sd = _shift_reference_speed(model, reference)
    reach = model.reach if banded else 1.0
    return {"unit": unit, "mean": mean, "sd": sd[None], "sd_growth": model.growth, "reach": reach}


def _scalar_entry(model: CurveModel, title: str, unit: str, reference: float) -> dict[str, Any]:
    """Return the norms of a stride parameter as a table; the SD is increased so that 1.96 SD include 95 % of new people
    (Student's t)."""
    normal_95 = 1.96
    mean, sd = _shift_reference_speed(model, reference)
    freedom = max(model.people - len(model.mean), 1)
    wider = float(stdtrit(freedom, 0.975)) / normal_95 * np.sqrt(1.0 + len(model.mean) / model.people)
    return {"title": title, "unit": unit, "mean": mean[:, 0], "sd": [float(sd[0] * wider)]}
