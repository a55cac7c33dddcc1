"""Compare the results of two versions: `python benchmarks/same_numbers.py BEFORE [--only TEXT] [--keep FOLDER] [--wording]`

BEFORE is the folder of another version, or a folder of results that `--keep` wrote: a version is then analysed only once.
Cases: every C3D of sample_data and of the real recordings with default settings (static trials and damaged files included, their
refusals count as results), other smoothing methods, presets and sessions on some walks, OpenSim models from markers and from
coordinates. Compared are all tables, findings (code and severity), verdicts and refusals; with `--wording` also the sentences of
findings, refusals and table cells. A difference of a number is relative to the largest magnitude of its column; a column below
1e-9 throughout is compared with 1e-9.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import REPOSITORY, Record, files_below, in_tree, parser_of, real_recordings, sample_walks, tell

_SCRIPT = Path(__file__).with_name("numbers_of_walks.py")
# Largest relative difference that round-off explains. The estimate amplifies it: markers moved by 1e-15 m change torques of
# shared walks by up to 3.1e-7 and their standard deviations by up to 1.1e-4.
ROUND_OFF = 1e-7
ROUND_OFF_OF_SD = 1e-4
#: Columns of sentences: without `--wording` only whether a cell is empty is compared.
SENTENCES = frozenset({"reason", "reason_r", "reason_l"})

Case = dict[str, Any]


def main() -> None:
    """Print the differences of every case, and the largest of each table."""
    parser = parser_of(__doc__)
    parser.add_argument("before", type=Path, metavar="BEFORE", help="folder of another version, or of its kept results")
    parser.add_argument("--tree", type=Path, default=REPOSITORY, help="folder of this version")
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--quick", action="store_true", help="one case of each kind")
    parser.add_argument("--wording", action="store_true", help="compare sentences, too")
    parser.add_argument("--keep", type=Path, help="write the results of BEFORE into this folder and stop")
    options = parser.parse_args()
    cases = [case for case in all_cases() if options.only in case["name"] and (case["quick"] or not options.quick)]
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        _analyse(options.before.resolve(), cases, options.keep)
        return
    record = Record("same_numbers", {"before": str(options.before), "only": options.only})
    with tempfile.TemporaryDirectory() as mine, tempfile.TemporaryDirectory() as other:
        _analyse(options.tree.resolve(), cases, Path(mine))
        before = options.before
        if (before / "biodyn").is_dir():
            before = Path(other)
            _analyse(options.before.resolve(), cases, before)
        _compare(cases, Path(mine), before, record, options.wording)
    record.close()


def all_cases() -> list[Case]:
    """Return the cases: name, path, arguments of `run_trial`, and whether it belongs to the quick selection."""
    data = real_recordings()
    return [*_default_cases(data), *_other_settings(data), *_model_cases(data)]


def _case(path: Path, label: str = "", quick: bool = False, **arguments: Any) -> Case:
    root = REPOSITORY if path.is_relative_to(REPOSITORY) else real_recordings()
    name = "-".join(path.relative_to(root).with_suffix("").parts).replace(" ", "_")
    return {"name": f"{name}{'+' + label if label else ''}", "path": str(path), "arguments": arguments, "quick": quick}


def _default_cases(data: Path) -> Iterator[Case]:
    quick = ("HC030A05", "S4-AMGait03", "MH0222_BP06", "2014001_C1_01")
    for path in [*sample_walks(), *files_below(data)]:
        if path.parent.name == "foot_on_step":
            yield _case(path, "override", settings=str(path.parent / "stairs.toml"))
        yield _case(path, quick=path.stem in quick or path in sample_walks()[:1])
    for name in ("DM_ngait_og3", "DM_ngait_og4"):
        folder = data / "truth" / "dm_knee"
        yield _case(folder / f"{name}_new.trc", forces=str(folder / f"{name}_external_loads.xml"))
    folder = data / "truth" / "healthy_knee"
    walk = {"static": str(folder / "static1.trc"), "forces": str(folder / "overground_17_grf.mot")}
    yield _case(folder / "overground_17.trc", quick=True, **walk)


def _other_settings(data: Path) -> Iterator[Case]:
    child = data / "gait/biomechzoo/HC030A/Straight/HC030A05.c3d"
    adult = data / "gait/sydney/dynamic/S4-AMGait03.c3d"
    for walk in (child, adult):
        yield _case(walk, "butterworth", walk is child, settings={"signals": {"method": "butterworth"}})
        yield _case(walk, "8Hz", settings={"signals": {"method": "butterworth", "cutoff_hz": 8.0}})
        for preset in ("plug_in_gait", "visual3d", "opensim"):
            yield _case(walk, preset, walk is child and preset == "plug_in_gait", preset=preset)
        yield _case(walk, "session", walk is adult, settings={"model": {"fit": "session"}})
        yield _case(walk, "no_fit", settings={"model": {"fit": "none"}})
        yield _case(walk, "no_static", static="none")


def _model_cases(data: Path) -> Iterator[Case]:
    opensim = data / "opensim"

    def on(model: Path, path: Path, label: str = "", quick: bool = False, method: str = "", **arguments: Any) -> Case:
        settings = {"model": {"osim": str(model)}, **({"signals": {"method": method}} if method else {})}
        return _case(path, label or "model", quick, settings=settings, **arguments)

    core = opensim / "core_id"
    motion, loads = core / "subject01_walk1_ik.mot", str(core / "subject01_walk1_grf.xml")
    yield on(core / "subject01.osim", motion, quick=True, forces=loads)
    yield on(core / "subject01.osim", motion, "model_estimate", method="estimate", forces=loads)
    yield on(core / "arm26.osim", core / "arm26_InverseKinematics.mot")
    tutorial = opensim / "gait2354_tutorial"
    grf = str(tutorial / "subject01_walk1_grf.xml")
    yield on(tutorial / "gait2354_simbody.osim", tutorial / "subject01_walk1.trc", forces=grf)
    rra = opensim / "core_rra"
    yield on(
        rra / "subject01_simbody_adjusted.osim",
        rra / "subject01_walk1_ik.mot",
        forces=str(rra / "subject01_externalForces.xml"),
    )
    for subject in ("subject18", "subject19"):
        folder = opensim / "arnold2013_synthetic" / subject
        grf = str(folder / "trials/walk2/grf.mot")
        yield on(folder / f"{subject}.osim", folder / "coordinates.sto", forces=grf)
        yield on(
            folder / f"{subject}.osim", folder / "trials/walk2/markers.trc", quick=subject == "subject18", forces=grf
        )
    folder = data / "truth" / "dm_knee"
    yield on(
        folder / "DM.osim", folder / "DM_ngait_og3_new.trc", forces=str(folder / "DM_ngait_og3_external_loads.xml")
    )
    yield on(folder / "DM.osim", folder / "DM_ngait_og1.c3d")
    yield on(
        folder / "DM.osim",
        folder / "DM_ngait_og3_new.trc",
        "model_estimate",
        method="estimate",
        forces=str(folder / "DM_ngait_og3_external_loads.xml"),
    )


def _analyse(tree: Path, cases: list[Case], out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "cases.json"
        listed.write_text(json.dumps(cases), encoding="utf-8")
        in_tree(tree, _SCRIPT, listed, out)


def _compare(cases: list[Case], mine: Path, before: Path, record: Record, wording: bool) -> None:
    largest: dict[str, float] = {}
    changed = missing = 0
    for case in cases:
        here, there = (pickle.loads((folder / f"{case['name']}.pkl").read_bytes()) for folder in (mine, before))
        words = []
        for entry in ("refusal", "verdict"):
            both = here[entry], there[entry]
            if len(set(both if wording or entry == "verdict" else map(_kind_of_refusal, both))) > 1:
                words.append(f"{entry} {there[entry]!r} -> {here[entry]!r}")
        ours, theirs = (_findings(outcome, wording) for outcome in (here, there))
        words += [f"finding gone: {finding}" for finding in theirs if finding not in ours]
        words += [f"new finding: {finding}" for finding in ours if finding not in theirs]
        for name in sorted(here["tables"].keys() | there["tables"].keys()):
            if name not in here["tables"] or name not in there["tables"]:
                words.append(f"table {name} is in one version only")
                continue
            relative, lost, text = table_difference(here["tables"][name], there["tables"][name], wording)
            largest[name] = max(largest.get(name, 0.0), relative)
            missing += lost
            if (
                relative > (ROUND_OFF_OF_SD if name in ("joint_torques_sd", "joint_powers_sd") else ROUND_OFF)
                or lost
                or text
            ):
                words.append(
                    f"table {name}: {relative:.1e} relative, {lost} values missing{', ' + text if text else ''}"
                )
        changed += bool(words)
        for word in words:
            tell(f"{case['name']}: {word}")
    record.add("cases", len(cases), "cases, larger is better")
    record.add("cases with a difference", changed, "cases")
    record.add("values missing in one version", missing, "values")
    for name, relative in sorted(largest.items(), key=lambda entry: -entry[1]):
        record.add(f"{name}, largest difference", relative, "of the column's largest value")


def _kind_of_refusal(refusal: str) -> str:
    return "" if not refusal else "error of the program" if refusal.startswith("FAULT") else "refused"


def _findings(outcome: dict[str, Any], wording: bool) -> list[str]:
    """Return the findings of an outcome; without their sentences equal ones are numbered, so that a missing one is noticed."""
    if wording:
        return [" | ".join(finding) for finding in outcome["findings"]]
    kinds = [" | ".join(finding[:2]) for finding in outcome["findings"]]
    return [f"{kind} ({kinds[:place].count(kind) + 1})" for place, kind in enumerate(kinds)]


def table_difference(a: pd.DataFrame, b: pd.DataFrame, wording: bool = True) -> tuple[float, int, str]:
    """Return the largest relative difference, how many values one table lacks, and other differences in words.

    A difference is relative to the largest magnitude of the column; in a tidy table, of the column among rows of one variable.
    """
    if list(a.columns) != list(b.columns):
        names = sorted(set(map(str, a.columns)) ^ set(map(str, b.columns)))
        return 0.0, 0, f"columns {names or 'in another order'}"
    if len(a) != len(b):
        return float("inf"), abs(len(a) - len(b)), f"rows {len(b)} -> {len(a)}"
    a, b = a.reset_index(drop=True), b.reset_index(drop=True)
    keys = [name for name in a.columns if not pd.api.types.is_numeric_dtype(a[name]) or a[name].dtype == bool]
    text = []
    for name in keys:
        texts = [table[name].astype(str) for table in (a, b)]
        if name in SENTENCES and not wording:
            texts = [cells.isin(("", "nan", "None", "<NA>")) for cells in texts]
        if not texts[0].equals(texts[1]):
            text.append(str(name))
    numbers = [name for name in a.columns if name not in keys]
    groups = [name for name in ("variable", "quantity", "name", "parameter") if name in keys]
    pieces = a.groupby(groups, observed=True).indices.values() if groups and len(a) else [np.arange(len(a))]
    relative, lost = 0.0, 0
    for name in numbers:
        one, other = (table[name].to_numpy(dtype=float) for table in (a, b))
        lost += int((np.isnan(one) != np.isnan(other)).sum())
        for rows in pieces:
            scale = max(float(np.nanmax(np.abs(one[rows]), initial=0.0)), 1e-9)
            relative = max(relative, float(np.nanmax(np.abs(one[rows] - other[rows]), initial=0.0)) / scale)
    return relative, lost, f"text of {', '.join(text)}" if text else ""


if __name__ == "__main__":
    main()
