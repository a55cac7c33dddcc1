"""Are forces and markers told that were low-passed before they were stored? `python benchmarks/smoothed_before.py [--count 6]`

Every walk of the sample data and of BIODYN_TEST_DATA (folder `gait`), and simulated rough walks of `count` seeds from 5 on of the
classes that could look smoothed: the content of plates and markers as the checks take it, as stored and through Butterworth
filters (order 2, both ways, 3 dB down at the cut-off). A row each cut-off: least, median, largest content, how many are told.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import Record, Table, parser_of, real_recordings, sample_walks, tell, walks_below
from simulator.rough_walks import rough_recording

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators.signals import force_band_ratio, marker_band_ratio
from biodyn.checks.registry import checks_of_kind
from biodyn.conventions import STANDARD_GRAVITY_M_S2
from biodyn.errors import BiodynError
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.trial.run import analyse_trial

QUICK = {"signals": {"method": "butterworth"}, "uncertainty": {"compute": False}}
CLASSES = ("smooth", "slow", "stiff_knee", "crouched", "smoothed_before", "usual_1_mm")
FORCES_HZ, MARKERS_HZ = (0, 20, 15, 12, 10, 8, 6, 5), (0, 8, 6, 5, 4, 3)
_FIRST_SEED, _ORDER = 5, 4


def real() -> Iterator[TrialAnalysis]:
    """Yield the analyses of recorded walks and of the sample's."""
    for path in (*sample_walks(), *walks_below(real_recordings() / "gait")):
        try:
            analysis = analyse_trial(path, settings=QUICK)
        except BiodynError as error:
            tell(f"{path.name}: {error.message}")
            continue
        if analysis.activity.kind == "walking":
            yield analysis


def simulated(count: int) -> Iterator[TrialAnalysis]:
    """Yield the analyses of rough walks."""
    for name in CLASSES:
        for seed in range(_FIRST_SEED, _FIRST_SEED + count):
            with tempfile.TemporaryDirectory() as folder:
                walk, static = rough_recording(name, seed).write(Path(folder))
                yield analyse_trial(walk, static, settings=QUICK)


def through(analysis: TrialAnalysis, what: str, hz: float) -> float:
    """Content of the forces or the markers of a trial through a filter, 0 = as stored."""
    if what == "markers":
        markers = analysis.recording.markers
        smooth = butterworth_lowpass(markers.positions, markers.rate_hz, hz, _ORDER) if hz else markers.positions
        return marker_band_ratio(replace(markers, positions=smooth))
    assert analysis.propagation is not None
    plates = [
        replace(
            plate,
            wrench=butterworth_lowpass(np.nan_to_num(plate.wrench), plate.rate_hz, hz, _ORDER) if hz else plate.wrench,
        )
        for plate in analysis.propagation.raw_plates
        if not hz or plate.rate_hz > 2.0 * hz
    ]
    return force_band_ratio(plates, analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2)


def main() -> None:
    """Print both tables."""
    parser = parser_of(__doc__, count=6)
    asked = parser.parse_args()
    record = Record("smoothed_before", vars(asked))
    limits = {check.code: check.limit for check in checks_of_kind("finding")}
    groups = {"real": list(real()), "simulated": list(simulated(asked.count))}
    for what, cutoffs in (("forces", FORCES_HZ), ("markers", MARKERS_HZ)):
        limit = limits[f"{what}_smoothed"]
        assert isinstance(limit, float)
        table = Table((what, "Hz", "walks", "least", "median", "largest", "told"))
        for name, analyses in groups.items():
            for hz in cutoffs:
                found = np.array([through(analysis, what, hz) for analysis in analyses])
                known = found[np.isfinite(found)]
                told = int((known < limit).sum())
                sizes = [f"{size:.3f}" for size in (known.min(), np.median(known), known.max())]
                table.row(name, hz or "as stored", len(known), *sizes, told)
                record.add(f"{what}, {name}, {hz or 'as stored'}, told", told, "walks")
        tell()
    record.close()


if __name__ == "__main__":
    main()
