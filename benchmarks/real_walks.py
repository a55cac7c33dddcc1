"""Run every walk below a folder of recordings without options and print what came out. Run by hand:

    python benchmarks/real_walks.py [--method butterworth] [FOLDER ...]      without a folder: folder gait of BIODYN_TEST_DATA

A walk is a C3D file with force plates that is not a static trial (standing still). Two tables in Markdown: a row each walk
(marker set, static trial, mass, marker error, base residual where every contact was measured against its limits, verdict,
agreement with the laboratory software's moments in the file), then a row each contact with the decision and why. Verdicts
and their causes: benchmarks/verdicts.py.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Table, parser_of, real_recordings, tell, walks_below
from common.laboratory_channels import compare_with_lab_software

import biodyn
from biodyn.analysis import TrialAnalysis
from biodyn.checks.trial_facts import residual_limits
from biodyn.errors import BiodynError

_HEADS = (
    "walk",
    "marker set",
    "calibrated with",
    "kg",
    "marker RMS mm",
    "contacts used",
    "residual N RMS (of limit)",
    "residual Nm RMS (of limit)",
    "verdict",
    "moments against the file: r, RMS Nm/kg (medians)",
    "s",
)
_MOMENTS = ("hip", "knee", "ankle")


def main() -> None:
    parser = parser_of(__doc__, folders=True)
    parser.add_argument("--method", default="auto", help="signals.method of the analysis")
    arguments = parser.parse_args()
    record, watch = Record("real_walks", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore", RuntimeWarning)
    folders = arguments.folders or [real_recordings() / "gait"]
    table = Table(_HEADS)
    refused, seconds, analyses = 0, [], []
    for folder, path in ((place, walk) for place in folders for walk in walks_below(place)):
        name, trial = str(path.relative_to(folder)), Stopwatch()
        try:
            analysis = biodyn.run_trial(path, settings={"signals": {"method": arguments.method}}).analysis
        except BiodynError as error:
            table.row(name, error)
            refused += 1
            continue
        seconds.append(trial.seconds)
        analyses.append((name, analysis))
        table.row(name, *_walk(analysis), f"{seconds[-1]:.2f}")
    tell()
    _contacts(analyses)
    record.add("analysed", len(seconds), "walks, larger is better")
    record.add("refused", refused, "walks")
    if seconds:
        record.add("a walk, median", float(np.median(seconds)))
        errors_mm = [_marker_rms_mm(analysis) for _, analysis in analyses]
        record.add("marker error RMS, median", float(np.median(errors_mm)), "mm")
        record.add("marker error RMS, largest", float(np.max(errors_mm)), "mm")
    record.add("whole run", watch.seconds)
    record.close()


def _walk(analysis: TrialAnalysis) -> tuple[object, ...]:
    used = sum(contact.decision == "assigned" for contact in analysis.contacts)
    verdict = analysis.verdict
    return (
        analysis.mapping.title,
        f"{Path(analysis.static.path).name}: {analysis.static.reason}",
        f"{analysis.subject.mass_kg:.1f} ({analysis.subject.mass_source})",
        f"{_marker_rms_mm(analysis):.1f}",
        f"{used} of {len(analysis.contacts)}",
        *_residual(analysis),
        "not judged" if verdict is None else verdict.status,
        _agreement(analysis),
    )


def _marker_rms_mm(analysis: TrialAnalysis) -> float:
    return 1000.0 * float(np.sqrt(np.nanmean(analysis.before_estimate.fit.marker_error**2)))


def _residual(analysis: TrialAnalysis) -> tuple[str, str]:
    """Force and moment, RMS and its share of the limit, over the frames in which every contact was measured."""
    raw = analysis.before_estimate  # which the checks judge
    dynamics, limits = raw.dynamics, residual_limits(raw)
    if not dynamics.residual_valid.any():
        return "no frame with every contact measured", ""
    told = []
    for vectors, limit in ((dynamics.residual_force, limits.force_n), (dynamics.residual_moment, limits.moment_nm)):
        rms = float(np.sqrt(np.mean(np.sum(vectors[dynamics.residual_valid] ** 2, axis=1))))
        told.append(f"{rms:.0f} ({100 * rms / limit:.0f} %)")
    return told[0], told[1]


def _agreement(analysis: TrialAnalysis) -> str:
    found = [a for a in compare_with_lab_software(analysis) if a.kind == "moment"]
    told = []
    for joint in _MOMENTS:
        of_joint = [a for a in found if a.variable.startswith(joint)]
        if of_joint:
            told.append(f"{joint} {np.median([a.r for a in of_joint]):.2f}, {np.median([a.rms for a in of_joint]):.2f}")
    return "; ".join(told) or "none in the file"


def _contacts(analyses: list[tuple[str, TrialAnalysis]]) -> None:
    table = Table(("walk", "plate", "s", "foot", "decision", "why"))
    for name, analysis in analyses:
        for contact in analysis.contacts:
            table.row(
                Path(name).stem,
                contact.plate,
                f"{contact.start_s:.2f}-{contact.end_s:.2f}",
                contact.side or "",
                contact.decision,
                contact.reason,
            )


if __name__ == "__main__":
    main()
