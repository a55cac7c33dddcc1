"""How skin moves against the bones, measured and simulated: `python benchmarks/skin_movement.py FOLDER`.

FOLDER holds walks of three people whose bones were measured with pins (OTTAWA) or by fluoroscopy (NTU, UNIMELB): markers in
the axes of the bones (Cereatti A et al. (2017) J Biomech 62:5-13, doi 10.1016/j.jbiomech.2017.02.004). The same numbers follow
for simulated people (`simulator/soft_tissue.toml`, markers of the outfit `rajagopal` with clusters on thigh and shank): root
mean square about the mean of the walk along the axes of the bone, largest displacement, root mean square above 6 Hz,
correlation between the markers of a segment (their common movement), and share of the variance that is linear in the flexion
of the knee and the inclination of the thigh.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import Record, Table, parser_of, tell
from scipy.io import loadmat
from simulator.person import Person, dressed, embody
from simulator.reaction import walk_strikes
from simulator.skin import marker_labels, soft_tissue
from simulator.walking import solve_walk
from simulator.wobble import swinging

from biodyn.conventions import FloatArray
from biodyn.processing.signals.filtering import butterworth_lowpass

_FILES = {
    "OTTAWA": ("OTTAWA_walking", "R", 120.0),
    "NTU": ("NTU_walking", "R", 30.0),
    "UNIMELB": ("UNIMELB_treadmillWalking", "L", 30.0),
}
_BONY_SHANK_OF = (
    "NTU"  # its markers of the shank are on tuberosity, fibula and malleoli; those of the others on the muscles
)
_BONY = frozenset({"fibula", "tuberosity", "ankle_lateral", "ankle_medial"})
_FAST_HZ = 6.0
_RATE_HZ = 100.0
_EDGE_FRAMES = 10


@dataclass(frozen=True)
class Movement:
    """Movement of markers on one segment: positions (T, M, 3) mm in axes of the bone; angles (T, 2) of knee and thigh or None."""

    segment: str
    positions: FloatArray
    angles: FloatArray | None
    rate_hz: float

    def numbers(self) -> FloatArray:
        """Return RMS along three axes, median largest displacement, RMS above 6 Hz, mm, correlation, share linear in flexion."""
        angles = np.zeros((len(self.positions), 2)) if self.angles is None else self.angles
        known = np.isfinite(self.positions).all(axis=(1, 2)) & np.isfinite(angles).all(axis=1)
        moved = self.positions[known] - self.positions[known].mean(axis=0)
        products = np.einsum("tma,tna->mn", moved, moved) / len(moved)
        sizes = np.sqrt(np.diag(products))
        apart = ~np.eye(len(sizes), dtype=bool)
        common = (products / np.outer(sizes, sizes))[apart].mean() if len(sizes) > 1 else np.nan
        linear, fast = np.nan, np.nan
        if self.angles is not None:
            A = np.column_stack([np.ones(len(moved)), angles[known]])
            flat = moved.reshape(len(moved), -1)
            rest = flat - A @ np.linalg.lstsq(A, flat, rcond=None)[0]
            linear = 1.0 - np.sum(rest**2) / np.sum(flat**2)
        if known.all() and self.rate_hz >= _RATE_HZ:
            quick = moved - butterworth_lowpass(moved, self.rate_hz, _FAST_HZ)
            inner = quick[_EDGE_FRAMES:-_EDGE_FRAMES]  # a filter errs at the ends
            fast = float(np.sqrt(np.mean(np.sum(inner**2, axis=2))))
        axes = np.sqrt(np.mean(moved**2, axis=(0, 1)))
        largest = np.median(np.linalg.norm(moved, axis=2).max(axis=0))
        return np.array([*axes, np.linalg.norm(axes), largest, fast, common, linear])


def measured(folder: Path) -> Iterator[tuple[str, Movement]]:
    """Yield person and movement of thigh and shank."""
    for name, (file, side, rate_hz) in _FILES.items():
        content = loadmat(folder / f"{file}.mat", squeeze_me=True, struct_as_record=False)
        trial = content[f"dataSample_{file}"].subj01.trial01
        parts = {part: getattr(trial, f"{side}_{part}") for part in ("thigh", "shank")}
        angles = None
        if hasattr(parts["thigh"], "gRa"):
            R = {part: entry.gRa.reshape(-1, 3, 3) for part, entry in parts.items()}
            knee = R["thigh"].transpose(0, 2, 1) @ R["shank"]
            up = int(np.argmax(np.abs(np.nanmean(R["thigh"][:, :, 1], axis=0))))
            thigh = np.arctan2(R["thigh"][:, 0, 1], R["thigh"][:, up, 1])
            angles = np.stack([np.arctan2(knee[:, 0, 1], knee[:, 0, 0]), thigh], axis=1)
        for part, entry in parts.items():
            positions = np.stack([getattr(entry.mrk, marker) for marker in entry.mrk._fieldnames], axis=1)
            label = f"{part}, bony points" if part == "shank" and name == _BONY_SHANK_OF else part
            yield name, Movement(label, positions, angles, rate_hz)


def simulated(people: int, skins: int) -> Iterator[Movement]:
    """Yield the movements of thigh and shank of the right leg over one cycle, of several skins of some people."""
    for number in range(people):
        person = Person("Skin", height_m=1.66 + 0.04 * number, mass_kg=62.0 + 6.0 * number, sex="male")
        body = dressed(embody(person), "rajagopal")
        walk = solve_walk(body, 1.3, 1.1)
        time_s = np.arange(-0.15 * walk.stride_s, 1.15 * walk.stride_s, 1.0 / _RATE_HZ)
        q, _, _ = walk.motion(time_s)
        phase, struck = time_s / walk.stride_s, walk_strikes(walk, time_s)
        angle = {name: q[:, body.model.coordinate(name).q_index] for name in ("knee_angle_r", "hip_flexion_r")}
        angles = np.stack(list(angle.values()), axis=1)
        labels = marker_labels(body)
        for seed in range(skins):
            moved = 1e3 * (soft_tissue(body, q, phase, seed) + swinging(body, time_s, struck, seed))
            for segment, title in (("femur_r", "thigh"), ("tibia_r", "shank")):
                bony = [body.patches[label].landmark.removesuffix("_r") in _BONY for label in labels]
                for where in (False, True):
                    on = [
                        i
                        for i, label in enumerate(labels)
                        if body.patches[label].body == segment and (segment == "tibia_r" and bony[i]) == where
                    ]
                    if on:
                        yield Movement(title + (", bony points" if where else ""), moved[:, on], angles, _RATE_HZ)


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path, help="folder of the measured walks")
    parser.add_argument("--people", type=int, default=3, help="simulated people")
    parser.add_argument("--skins", type=int, default=20, help="skins of each")
    arguments = parser.parse_args()
    table = Table(
        [
            "segment",
            "whose",
            "RMS forward / along / sideways, mm",
            "RMS",
            "largest",
            "above 6 Hz",
            "common",
            "with flexion",
        ]
    )
    record = Record("skin_movement", vars(arguments))
    rows: dict[str, list[tuple[str, FloatArray]]] = {}
    for name, movement in measured(arguments.folder):
        rows.setdefault(movement.segment, []).append((name, movement.numbers()))
    of_simulated: dict[str, list[FloatArray]] = {}
    for movement in simulated(arguments.people, arguments.skins):
        of_simulated.setdefault(movement.segment, []).append(movement.numbers())
    for segment, found in rows.items():
        numbers = np.array(of_simulated.get(segment, [np.full(8, np.nan)]))
        low, high = np.nanpercentile(numbers[:, 3], [5.0, 95.0])
        every = [*found, ("simulated, median", np.nanmedian(numbers, axis=0))]
        for name, values in every:
            axes = " / ".join(f"{value:.1f}" for value in values[:3])
            size = f"{values[3]:.1f}" + (f" ({low:.1f}-{high:.1f})" if name.startswith("simulated") else "")
            table.row(
                segment,
                name,
                axes,
                size,
                *(f"{value:.{d}f}" for value, d in zip(values[4:], (1, 2, 2, 2), strict=True)),
            )
        record.add(f"{segment}: simulated RMS", float(np.nanmedian(numbers[:, 3])), "mm")
    tell("RMS of simulated people: median and 5th to 95th percentile")
    record.close()


if __name__ == "__main__":
    main()
