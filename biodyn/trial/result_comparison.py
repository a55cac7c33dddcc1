"""Compare two analyses of a recording, or an analysis with a file of other software, and determine causes of differences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from biodyn.comparison.differences import (
    UNEXPLAINED,
    UNITS,
    WORDS,
    CycleSpan,
    Difference,
    DifferenceFact,
    Quantity,
    cycle_differences,
    event_facts,
    explained_share,
    find_differences,
    list_difference_facts,
    match_analyses,
    overall_shares,
    rename_causes,
    segments_with_moments,
)
from biodyn.comparison.part_exchange import ESTIMATED, FIT, SMOOTHING
from biodyn.comparison.segments import MovingBody, moving_body_from_arrays
from biodyn.conventions import SIDE_NAMES, FloatArray
from biodyn.errors import ResultError
from biodyn.io import read
from biodyn.output.store.folder import RECORD_NAME as RESULT_RECORD
from biodyn.output.store.record import PARTS, program_versions, to_json_values
from biodyn.output.store.result_reader import StoredResult
from biodyn.output.store.result_writer import result_arrays
from biodyn.output.tables.csv import write_csv
from biodyn.output.tables.optional_tables import difference_table
from biodyn.processing.signals.signal_preparation import is_butterworth_filtered, stored_method
from biodyn.processing.signals.smoothing.butterworth import ESTIMATE
from biodyn.trial.laboratory_comparison import (
    SUFFIXES,
    TorqueTable,
    compare_torque_tables,
    compare_with_channels,
    torque_table_of_file,
    torque_table_of_folder,
    torque_table_of_frame,
)
from biodyn.trial.result import TrialResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: An analysis: a result in memory, a loaded result, or a result folder.
Result = TrialResult | StoredResult | str | Path

TABLE_NAME, RECORD_NAME, FIGURE_NAME, PAGE_NAME = "compare.csv", "compare.json", "compare.png", "report.html"
# A Butterworth filter is defined by its cut-off.
_ORDER = 4
# Entries of a record that are compared.
_PARTS = ("input", "settings", "subject", "contacts", "method", "automatic_method", "cutoff_hz", "force_cutoff_hz")
# Causes with a smaller share are omitted from sentences.
_MIN_SHARE_IN_SENTENCES = 0.02
_MAX_LISTED_CAUSES = 4
# Per cent: causes that explain less are not reported.
_MIN_REPORTED_PERCENT = 1.0


@dataclass(frozen=True)
class Comparison:
    """The differences between two analyses of one recording, and their causes.

    Attributes:
        first, other: names of the analyses. time_s: (T,) s, time of the curves in `differences` that are functions of time.
        differences: one per joint, plane and quantity; also over the gait cycle if the events differ.
        facts: numerical inputs that differ.
        settings: different settings, as section.name with both values; empty if one analysis is a file.
        notes: notes for the reader: parts that could not be compared, and reasons.
        results: the results of trials among the two. one_recording: whether both are analyses of the same recording.
    """

    first: str
    other: str
    time_s: FloatArray
    differences: tuple[Difference, ...]
    facts: tuple[DifferenceFact, ...] = ()
    settings: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    results: tuple[TrialResult | StoredResult, ...] = ()
    one_recording: bool = True

    @property
    def table(self) -> pd.DataFrame:
        """Return the RMS difference and the shares of the causes (per cent) by quantity, joint, side and plane."""
        return difference_table(self.differences)

    @property
    def causes(self) -> dict[Quantity, dict[str, float]]:
        """Return the shares of the causes in all angles and in all moments, largest first."""
        return {quantity: overall_shares(self.differences, quantity) for quantity in UNITS}

    @property
    def explained_shares(self) -> dict[Quantity, float]:
        """Return the share of the mean square of all differences that the causes explain together."""
        return {quantity: explained_share(self.differences, quantity) for quantity in UNITS}

    @property
    def _time_differences(self) -> tuple[Difference, ...]:
        """Return the differences that are functions of time; only these are shown in the figure."""
        return tuple(difference for difference in self.differences if not difference.quantity.startswith("cycle"))

    def summary(self) -> list[str]:
        """Return sentences on the largest differences and their causes."""
        lines = [f"First: {self.first}. Second: {self.other}."]
        for quantity, shares in self.causes.items():
            of_quantity = [difference for difference in self.differences if difference.quantity == quantity]
            if not of_quantity:
                continue
            if not shares:
                if all(difference.is_zero for difference in of_quantity):
                    lines.append(f"{WORDS[quantity].capitalize()} are equal.")
                continue
            causes = [f"{name} {100 * share:.0f} %" for name, share in shares.items() if _is_notable_cause(name, share)]
            explained_percent = 100 * self.explained_shares[quantity]
            lines.append(
                f"Of the difference in {WORDS[quantity]} {explained_percent:.0f} % is explained: {', '.join(causes)}."
                if causes and explained_percent >= _MIN_REPORTED_PERCENT
                else f"No cause explains the differences in {WORDS[quantity]}: {_largest_difference_text(of_quantity)}."
            )
        lines += [f"{fact.cause}: {fact.text}." for fact in self.facts]
        lines += [f"Setting {name}: {a} and {b}." for name, (a, b) in self.settings.items()]
        return [*lines, *self.notes]

    def screen_rows(self) -> list[tuple[str, str, str, str]]:
        """Return rows for the screen: variable, RMS difference, RMS of the first analysis, largest causes."""
        rows = []
        for difference in self.differences:
            why = sorted(difference.shares.items(), key=lambda item: -abs(item[1]))[:_MAX_LISTED_CAUSES]
            causes = (f"{name} {100 * share:.0f} %" for name, share in why if abs(share) >= _MIN_SHARE_IN_SENTENCES)
            rows.append(
                (
                    difference.title,
                    f"{difference.rms:.3g} {difference.unit}",
                    f"{difference.size:.3g}",
                    "equal" if difference.is_zero else ", ".join(causes),
                )
            )
        return rows

    def plot(self) -> Figure:
        """Return the figure with the curves of both analyses and their differences by cause."""
        from biodyn.output.figures.matplotlib_backend import draw_with_matplotlib
        from biodyn.output.report.comparison_page import differences_figure

        return draw_with_matplotlib(differences_figure(self._time_differences, self.time_s, (self.first, self.other)))

    @property
    def record(self) -> dict[str, Any]:
        """Return the values of `compare.json`."""
        return to_json_values(
            {
                "first": self.first,
                "second": self.other,
                "causes": self.causes,
                "explained": self.explained_shares,
                "facts": [{"cause": fact.cause, "text": fact.text} for fact in self.facts],
                "settings": {name: list(pair) for name, pair in self.settings.items()},
                "notes": list(self.notes),
                "differences": [
                    {
                        "quantity": difference.quantity,
                        "joint": difference.joint,
                        "side": difference.side,
                        "plane": difference.plane,
                        "unit": difference.unit,
                        "rms": difference.rms,
                        "mean": difference.mean,
                        "size": difference.size,
                        "shares": dict(difference.shares),
                        "unexplained_rms": difference.unexplained_rms,
                    }
                    for difference in self.differences
                ],
            }
        )

    def save(self, folder: str | Path) -> Path:
        """Write compare.csv, compare.json, compare.png and report.html into a folder, which is created if needed.

        Raises ResultError if it is a file, the folder of a result or study, or cannot be written.
        """
        from biodyn.output.figures.png import render_png
        from biodyn.output.report.comparison_page import differences_figure, render_comparison_page

        target = Path(folder)
        if target.exists() and not target.is_dir():
            raise ResultError(f"'{target}' is a file, not a folder.", "Choose another --out.")
        if any((target / name).exists() for name in (RESULT_RECORD, "study.json")):
            raise ResultError(f"'{target}' is a result folder, to which no files are added.", "Choose another --out.")
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ResultError(f"'{target}' cannot be written: {error.strerror}.", "Choose another --out.") from error
        write_csv(self.table, target / TABLE_NAME)
        text = json.dumps(self.record, indent=2, allow_nan=False) + "\n"
        (target / RECORD_NAME).write_text(text, encoding="utf-8")
        figure = differences_figure(self._time_differences, self.time_s, (self.first, self.other))
        (target / FIGURE_NAME).write_bytes(render_png(figure))
        page = render_comparison_page(
            (self.first, self.other), [result.view for result in self.results], self.one_recording, self.summary(),
            self.screen_rows(), figure, program_versions()["biodyn"],
        )  # fmt: skip
        (target / PAGE_NAME).write_text(page, encoding="utf-8")
        return target


def _largest_difference_text(differences: Sequence[Difference]) -> str:
    """Return a text on the largest difference relative to its curve."""
    most = max(differences, key=lambda difference: difference.rms)
    part = 100.0 * most.rms / most.size if most.size > 0.0 else float("inf")
    where = f"{SIDE_NAMES.get(most.side, '')} {most.joint} {most.plane}".strip()
    return f"at most {most.rms:.3g} {most.unit} RMS ({where}, {part:.2g} % of the curve)"


def _is_notable_cause(cause: str, share: float) -> bool:
    return abs(share) >= _MIN_SHARE_IN_SENTENCES and cause != UNEXPLAINED


@dataclass(frozen=True)
class _OpenedResult:
    """A result opened for comparison: its name, record (`run.json`), arrays, and tables."""

    name: str
    record: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    result: TrialResult | StoredResult

    def body(self) -> MovingBody:
        """Return the result as moving rigid segments in World, for the comparison."""
        return moving_body_from_arrays(self.arrays)


def compare(a: Result, b: Result) -> Comparison:
    """Compare two analyses of the same recording and attribute their differences to causes.

    Parameters:
        a: the result of `run_trial` or `load`, or a result folder.
        b: another result, or a file with results of other software for the recording.

    Causes are exchanged in every order and their contributions averaged (`comparison.part_exchange.shapley_parts`), so that they
    add up. Results of different recordings are compared only by the means of their gait cycles, without causes.

    Raises ResultError if nothing can be compared, InputFileError for a file that cannot be read.
    """
    tables = [_read_torque_table(source) for source in (a, b)]
    if any(table is not None for table in tables):
        ours, theirs = (
            table or _torque_table_of_result(_open_source(source)) for table, source in zip(tables, (a, b), strict=True)
        )
        return Comparison(ours.name, theirs.name, **compare_torque_tables(ours, theirs))
    first = _open_source(a)
    if isinstance(b, str | Path) and not Path(b).is_dir():
        return _compare_with_file(first, Path(b))
    second = _open_source(b)
    if _recording_identity(first) != _recording_identity(second):
        return _compare_mean_cycles(first, second)
    exchange = match_analyses(
        first.body(),
        second.body(),
        _cutoff_pair(_motion_cutoff_hz, first, second),
        _cutoff_pair(lambda record: record.get("force_cutoff_hz"), first, second),
    )
    names = _names_of_causes(first.record, second.record)
    estimated = any(stored_method(result.record) == ESTIMATE for result in (first, second))
    joints, with_causes = segments_with_moments(exchange.a), rename_causes(find_differences(exchange), names)
    time_s, spans = exchange.a.time_s, (_cycle_spans(first), _cycle_spans(second))
    return Comparison(
        first.name,
        second.name,
        time_s,
        (*with_causes, *cycle_differences(with_causes, time_s, exchange.rate_hz, *spans)),
        (
            *_method_fact(first, second),
            *_rename_facts(list_difference_facts(exchange, joints, estimated), names),
            *event_facts(*spans),
        ),
        dict(_changed_settings(first.record["settings"], second.record["settings"])),
        tuple(_omitted_frames_note(time_s, first)),
        (first.result, second.result),
    )


def _open_source(source: Result) -> _OpenedResult:
    if isinstance(source, TrialResult):
        name = source.analysis.recording.path.name
        record = {part: to_json_values(PARTS[part](source.analysis)) for part in _PARTS}
        return _OpenedResult(name, record, result_arrays(source.analysis), source)
    result = source if isinstance(source, StoredResult) else StoredResult(source)
    return _OpenedResult(str(result.folder), result.record, result.arrays, result)


def _read_torque_table(source: Result) -> TorqueTable | None:
    """Return the torques of a source that holds only torques: an OpenSim table or a result of an OpenSim model; else None."""
    if not isinstance(source, str | Path):
        return None
    path = Path(source)
    if path.suffix.lower() in SUFFIXES:
        return torque_table_of_file(path)
    return torque_table_of_folder(path)


def _torque_table_of_result(opened: _OpenedResult) -> TorqueTable:
    return torque_table_of_frame(
        opened.name, opened.result.table("joint_torques"), float(opened.record["subject"]["mass_kg"])
    )


def _compare_with_file(first: _OpenedResult, path: Path) -> Comparison:
    ours = first.body()
    recording = read(path)
    time_s, differences, facts, notes = compare_with_channels(ours, recording, first.record)
    names = {SMOOTHING: ESTIMATED} if stored_method(first.record) == ESTIMATE else {}
    causes_and_facts = rename_causes(differences, names), _rename_facts(facts, names)
    return Comparison(first.name, str(path), time_s, *causes_and_facts, {}, notes)


def _names_of_causes(first: Mapping[str, Any], second: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the names of the causes; if one analysis is an estimate, the cause is the method and not the filter."""
    estimated = [stored_method(record) == ESTIMATE for record in (first, second)]
    return {SMOOTHING: ESTIMATED, FIT: ESTIMATED} if estimated.count(True) == 1 else {}


def _method_fact(first: _OpenedResult, second: _OpenedResult) -> Iterator[DifferenceFact]:
    """Yield one fact if only one of the results was estimated from motion and forces; it names the other, with the reason."""
    by_name = {"first": first.record, "second": second.record}
    filtered = [name for name, record in by_name.items() if stored_method(record) != ESTIMATE]
    for name in filtered if len(filtered) == 1 else ():
        why = (by_name[name].get("automatic_method") or {}).get("reason", "")
        yield DifferenceFact(
            ESTIMATED, f"the {name} was not estimated from motion and forces{': ' if why else ''}{why}"
        )


def _rename_facts(facts: Sequence[DifferenceFact], names: Mapping[str, str]) -> tuple[DifferenceFact, ...]:
    return tuple(replace(fact, cause=names.get(fact.cause, fact.cause)) for fact in facts)


def _cutoff_pair(
    cutoff_hz: Callable[[Mapping[str, Any]], Any], first: _OpenedResult, second: _OpenedResult
) -> tuple[float, float] | None:
    """Return the cut-off frequencies (Hz) of both results; None unless both records state one."""
    first_hz, other = cutoff_hz(first.record), cutoff_hz(second.record)
    if not isinstance(first_hz, int | float) or not isinstance(other, int | float):
        return None
    return float(first_hz), float(other)


def _motion_cutoff_hz(record: Mapping[str, Any]) -> Any:
    """Return the cut-off of the motion filter, Hz; None if it is not a Butterworth filter."""
    signals = record["settings"].get("signals", {})
    usual = is_butterworth_filtered(record) and signals.get("filter_order", _ORDER) == _ORDER
    return record.get("cutoff_hz") if usual else None


def _recording_identity(opened: _OpenedResult) -> tuple[Any, ...]:
    entry = opened.record["input"]
    return entry.get("sha256"), entry.get("frames"), entry.get("first_frame")


def _changed_settings(
    a: Mapping[str, Any], b: Mapping[str, Any], above: str = ""
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield the name and both values of every setting that differs, except settings of figures and files."""
    for name in sorted({*a, *b}):
        # two of these are from version 0.2
        if not above and name in ("output", "replay", "uncertainty", "variation", "limits"):
            continue
        first_value, other = a.get(name), b.get(name)
        if isinstance(first_value, Mapping) and isinstance(other, Mapping):
            yield from _changed_settings(first_value, other, f"{above}{name}.")
        elif first_value != other:
            yield f"{above}{name}", (first_value, other)


def _cycle_spans(opened: _OpenedResult) -> list[CycleSpan]:
    """Return side and foot strike times of the gait cycles of a result."""
    table = opened.result.table("spatiotemporal")
    return [
        CycleSpan(str(side), float(a), float(b))
        for side, a, b in table[["side", "start_s", "end_s"]].itertuples(index=False)
    ]


def _omitted_frames_note(time_s: FloatArray, first: _OpenedResult) -> Iterator[str]:
    frames = len(first.arrays["time_s"])
    if len(time_s) < frames:
        yield f"{frames - len(time_s)} of {frames} frames are omitted because the motion is not known in both."


def _compare_mean_cycles(first: _OpenedResult, second: _OpenedResult) -> Comparison:
    """Compare the mean gait cycles of two recordings, without causes."""
    curves = [_mean_curves(opened) for opened in (first, second)]
    shared = [key for key in curves[0] if key in curves[1]]
    if not shared:
        raise ResultError(
            f"'{first.name}' and '{second.name}' are different recordings and have no common gait cycles.",
            "Compare two analyses of the same file, or walks with complete gait cycles.",
        )
    mean_differences = []
    for side, variable, unit in shared:
        first_mean, other = (mean[side, variable, unit] for mean in curves)
        whole = other - first_mean
        quantity: Quantity = "angle" if unit == "deg" else "moment"
        rms, size = (float(np.sqrt(np.nanmean(x**2))) for x in (whole, first_mean))
        mean_differences.append(
            Difference(
                variable,
                side,
                "cycle mean",
                quantity,
                unit,
                rms,
                float(np.nanmean(whole)),
                size,
                {},
                rms,
                first_mean,
                other,
            )
        )
    names = (first.record["subject"].get("name"), second.record["subject"].get("name"))
    who = f" of two people ({names[0]}, {names[1]})" if names[0] != names[1] else ""
    note = (
        f"Two different recordings{who} are compared by the means of their gait cycles. How much of the difference is "
        f"due to the gait and how much to the analysis is unknown. To compare analyses, analyse the same file twice."
    )
    settings = dict(_changed_settings(first.record["settings"], second.record["settings"]))
    results = (first.result, second.result)
    time = np.linspace(0.0, 100.0, 101)
    facts = tuple(_method_fact(first, second))
    return Comparison(
        first.name, second.name, time, tuple(mean_differences), facts, settings, (note,), results, one_recording=False
    )


def _mean_curves(opened: _OpenedResult) -> dict[tuple[str, str, str], FloatArray]:
    table = opened.result.table("gait_cycles")
    wanted = table[table["unit"].isin(["deg", "Nm/kg"])]
    means = {}
    for (side, variable, unit), part in wanted.groupby(["side", "variable", "unit"], observed=True, sort=False):
        mean = part.groupby("percent", observed=True)["value"].mean()
        if len(mean) == 101 and np.isfinite(mean.to_numpy()).any():
            means[str(side), str(variable), str(unit)] = mean.to_numpy(dtype=np.float64)
    return means
