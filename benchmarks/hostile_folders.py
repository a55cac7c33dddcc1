"""Folders as nobody should hand them over: is there one clear account, and no wrong torque without a word? By hand:

    python benchmarks/hostile_folders.py [FOLDER ...] [--seed 1]     sessions below; default: all at hand

A session is a walk and the static trial that is found for it. Each is spoilt in every way below, and analysed without
options. `refused`: one sentence. `warned`: analysed, and the verdict is not pass. `same`: analysed, joint torques of the legs
within 0.1 Nm/kg RMS of the sound session's. `silent`: analysed, verdict pass, and not the same. `fault`: any other end.
One more folder holds all of it together, as a study: every file must be in its account.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Table, parser_of, recordings_at_hand, tell, walks_below
from support.relabelled import point_labels, relabelled

import biodyn
from biodyn.conventions import FloatArray
from biodyn.errors import BiodynError, printable_text
from biodyn.io import read
from biodyn.session import find_static

SAME_NM_KG = 0.1
_FAST = {"uncertainty": {"compute": False}}
_LEGS = ("hip_flexion", "knee_angle", "ankle_angle")


@dataclass(frozen=True)
class Session:
    """A sound session: its files, marker labels, and the joint torques of the legs by coordinate, Nm/kg."""

    walk: Path
    static: Path
    torques: dict[str, FloatArray]


@dataclass
class Folder:
    """A folder with copies of a session's walk and static trial, to be spoilt."""

    root: Path
    session: Session
    other: Session
    rng: np.random.Generator

    @property
    def walk(self) -> Path:
        """The copy of the walk."""
        return self.root / self.session.walk.name

    @property
    def static(self) -> Path:
        """The copy of the static trial."""
        return self.root / self.session.static.name

    def relabel(self, change: Callable[[list[str]], dict[str, str]], walk: bool = True, static: bool = True) -> None:
        """Change the labels of the markers, in both files alike."""
        chosen = [path for path, wanted in ((self.walk, walk), (self.static, static)) if wanted]
        meant = change(sorted(set(read(self.walk).markers.labels) & set(read(self.static).markers.labels)))
        for path in chosen:
            bare = {label.rsplit(":", 1)[-1]: label for label in point_labels(path)}
            path.write_bytes(relabelled(path.read_bytes(), {bare[a]: b for a, b in meant.items() if a in bare}))


Spoil = Callable[[Folder], None]


def _numbered(folder: Folder) -> None:
    folder.relabel(lambda labels: {label: f"M{i:02d}" for i, label in enumerate(labels)})


def _unlabelled(folder: Folder) -> None:
    folder.relabel(lambda labels: {label: f"*{i}" for i, label in enumerate(labels)})


def _shuffled(folder: Folder) -> None:
    folder.relabel(lambda labels: dict(zip(labels, folder.rng.permutation(labels).tolist(), strict=True)))


def _two_exchanged(folder: Folder) -> None:
    def change(labels: list[str]) -> dict[str, str]:
        a, b = folder.rng.choice(labels, 2, replace=False).tolist()
        return {a: b, b: a}

    folder.relabel(change)


def _exchanged_in_walk(folder: Folder) -> None:
    def change(labels: list[str]) -> dict[str, str]:
        a, b = folder.rng.choice(labels, 2, replace=False).tolist()
        return {a: b, b: a}

    folder.relabel(change, static=False)


def _sides_exchanged(folder: Folder) -> None:
    def change(labels: list[str]) -> dict[str, str]:
        pairs = {label: ("R" if label[0] == "L" else "L") + label[1:] for label in labels if label[:1] in "LR"}
        return {a: b for a, b in pairs.items() if b in labels}

    folder.relabel(change)


def _one_lost(folder: Folder) -> None:
    folder.relabel(lambda labels: {str(folder.rng.choice(labels)): "*99"})


def _alone(folder: Folder) -> None:
    folder.static.unlink()


def _stranger(folder: Folder) -> None:
    folder.static.unlink()
    shutil.copy(folder.other.static, folder.root / f"other_{folder.other.static.name}")


def _crowd(folder: Folder) -> None:
    for path in (folder.other.static, folder.other.walk):
        shutil.copy(path, folder.root / f"other_{path.name}")


def _rubbish(folder: Folder) -> None:
    whole = folder.walk.read_bytes()
    (folder.root / "static_cut.c3d").write_bytes(whole[: len(whole) // 3])
    (folder.root / "static_empty.c3d").write_bytes(b"")
    (folder.root / "static notes.c3d").write_text("not a recording", encoding="utf-8")
    (folder.root / "static_folder.c3d").mkdir()
    (folder.root / "loop").symlink_to(folder.root, target_is_directory=True)
    (folder.root / "static_gone.c3d").symlink_to(folder.root / "nowhere")
    (folder.root / "static ü \u202e,=1+1.c3d").write_bytes(folder.rng.bytes(2048))


def _static_cut(folder: Folder) -> None:
    whole = folder.static.read_bytes()
    folder.static.write_bytes(whole[: int(0.6 * len(whole))])


CASES: dict[str, Spoil] = {
    "labels M01, M02 ...": _numbered,
    "unlabelled": _unlabelled,
    "labels shuffled": _shuffled,
    "two labels exchanged": _two_exchanged,
    "two exchanged in the walk only": _exchanged_in_walk,
    "left and right exchanged": _sides_exchanged,
    "one label lost": _one_lost,
    "no static trial": _alone,
    "a stranger's static trial": _stranger,
    "two people in one folder": _crowd,
    "damaged and foreign files beside": _rubbish,
    "static trial cut off": _static_cut,
}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)
    record, watch = Record("hostile_folders", vars(arguments)), Stopwatch()
    sessions = _sessions(arguments.folders or recordings_at_hand())
    if len({session.static.parent for session in sessions}) < 2:
        sys.exit("Name folders with sessions of two people or more: one is the other's stranger.")
    table, totals = Table(("session", *CASES)), Counter[str]()
    with tempfile.TemporaryDirectory() as temporary:
        for number, session in enumerate(sessions):
            ends = []
            for case, spoil in CASES.items():
                root = Path(temporary) / f"{number}" / case.replace(",", "").replace(" ", "_")
                ends.append(_end_of(root, session, _somebody_else(session, sessions), spoil, arguments.seed + number))
            totals.update(end.split(":")[0] for end in ends)
            table.row(session.walk.stem, *ends)
        tell()
        for end in ("same", "warned", "refused", "silent", "fault"):
            record.add(end, totals[end], "sessions")
        _study(Path(temporary), record)
    record.add("whole run", watch.seconds)
    record.close()


def _sessions(folders: list[Path]) -> list[Session]:
    found = []
    for walk in walks_below(*folders):
        static = find_static(walk).path
        if static is not None and "opensim" not in walk.parts and "reader" not in walk.parts:
            found.append(Session(walk, static, _torques(walk, static)))
    return found


def _somebody_else(session: Session, sessions: list[Session]) -> Session:
    place = sessions.index(session)
    return next(s for s in sessions[place + 1 :] + sessions[:place] if s.static.parent != session.static.parent)


def _torques(walk: Path, static: Path | None = None) -> dict[str, FloatArray]:
    return _leg_torques(biodyn.run_trial(walk, static=static, settings=_FAST))


def _leg_torques(result: biodyn.TrialResult) -> dict[str, FloatArray]:
    table, mass = result.joint_torques, result.analysis.subject.mass_kg
    names = [f"{joint}_{side}_Nm" for joint in _LEGS for side in "lr"]
    return {name: table[name].to_numpy() / mass for name in names if name in table}


def _end_of(root: Path, session: Session, other: Session, spoil: Spoil, seed: int) -> str:
    root.mkdir(parents=True)
    folder = Folder(root, session, other, np.random.default_rng(seed))
    shutil.copy(session.walk, folder.walk)
    shutil.copy(session.static, folder.static)
    spoil(folder)
    try:
        result = biodyn.run_trial(folder.walk, settings=_FAST)
        verdict = result.analysis.verdict
        worst = _difference(_leg_torques(result), session.torques)
    except BiodynError:
        return "refused"
    except Exception as error:
        return f"fault: {type(error).__name__}: {error}"
    if worst <= SAME_NM_KG:
        return f"same: {worst:.3f}"
    return f"{'silent' if verdict is not None and verdict.status == 'pass' else 'warned'}: {worst:.2f}"


def _difference(mine: dict[str, FloatArray], sound: dict[str, FloatArray]) -> float:
    """Largest RMS difference of a joint torque over the frames that both have, Nm/kg; NaN where nothing can be compared."""
    worst = float("nan")
    for name in mine.keys() & sound.keys():
        both = np.isfinite(mine[name]) & np.isfinite(sound[name])
        if both.any():
            worst = float(np.fmax(worst, np.sqrt(np.mean((mine[name][both] - sound[name][both]) ** 2))))
    return worst


def _study(root: Path, record: Record) -> None:
    """A study of everything: how it ends, and which files its account does not name."""
    out = root.parent / f"{root.name}_study"
    program = [sys.executable, "-c", "from biodyn.cli import main; main()"]
    command = [*program, "study", str(root), "--out", str(out)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    tell(f"study of all of it: exit code {ended.returncode}; {ended.stdout.strip().splitlines()[-1:]}")
    account = json.dumps(json.loads((out / "study.json").read_text(encoding="utf-8")), ensure_ascii=False)
    missing = [path for path in root.rglob("*.c3d") if path.is_file() and "/loop/" not in str(path)]
    missing = [
        path for path in missing if json.dumps(printable_text(path.name), ensure_ascii=False)[1:-1] not in account
    ]
    for path in missing:
        tell(f"not named: {path.relative_to(root)}")
    record.add("study exit code", ended.returncode, "")
    record.add("files a study does not name", len(missing), "files")
    if "Traceback" in ended.stderr:
        tell(ended.stderr[-2000:])
    shutil.rmtree(out, ignore_errors=True)


if __name__ == "__main__":
    main()
