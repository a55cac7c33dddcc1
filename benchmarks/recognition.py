"""Are labels understood? `python benchmarks/recognition.py`.

Seeded lists of labels (tests/support/marker_corpus.py): published sets, laboratories' own lists, laboratories put together from
words of five languages; markers dropped, labels prefixed, suffixed, shuffled, in other capitals, model outputs and foreign
labels among them. A label is right where its landmark (or its segment, where it marks none) is the true one; wrong where it
is another, or where a computed point is taken for a marker; missed where it stays unknown. A file is refused rightly where a
marker that the model needs was dropped.

The rules were chosen on the published sets, the laboratories of the "first" half and the words; the laboratories of the
"held" half, and those that were gathered after the rules stood ("fresh"), are reported by themselves. So are 97 lists that were
gathered later still, in three groups: two thirds of 81, on which rules were mended; the third that was held back meanwhile; and
16 gathered after both. All have been looked at since; docs/validation.md tells what each group gave at first look.
`--tell` names every label of those that is not read right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from common import Record, parser_of
from support.marker_corpus import MarkerCase, MarkerList, Outcome, cases, gathered, lists, outcome

from biodyn.errors import MarkerSetError
from biodyn.io.point_classification import classify_points
from biodyn.model.from_library.label_reading.label_resolution import read_labels
from biodyn.model.from_library.markersets import recognise_marker_set

_SHOWN = 12


@dataclass
class Tally:
    """What became of the labels of some cases."""

    labels: Counter[Outcome] = field(default_factory=Counter)
    cases: int = 0
    whole: int = 0
    refused: int = 0
    refused_wrongly: int = 0
    analysable: int = 0
    faults: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def share(self, kind: Outcome) -> float:
        """Share of the labels that came out like this."""
        return self.labels[kind] / max(self.labels.total(), 1)


@dataclass(frozen=True)
class Judged:
    """One case: what became of each label, and whether the file was refused as not analysable."""

    outcomes: dict[str, Outcome]
    made: dict[str, str]
    refused: bool


def judge(case: MarkerCase) -> Judged:
    """Read a case as a file's labels are read, and hold what is made of each against the truth."""
    raw = list(case.labels)
    roles = classify_points(raw, np.full((3, len(raw), 3), np.nan), {}, ())
    markers = [label for label, kind in zip(roles.labels, roles.kinds, strict=True) if kind == "marker"]
    refused = False
    try:
        known = {role.label: (role.landmark, role.body) for role in recognise_marker_set(markers).roles}
    except MarkerSetError:
        refused = True
        known = {label: (point.landmark, point.body) for label, point in read_labels(markers).points.items()}
    outcomes: dict[str, Outcome] = {}
    made = {}
    for label, clean, kind in zip(raw, roles.labels, roles.kinds, strict=True):
        landmark, body = known.get(clean, ("", None)) if kind == "marker" else ("", None)
        outcomes[label] = outcome(case.truth[label], landmark, body)
        made[label] = landmark or (f"@{body}" if body else "unknown")
    return Judged(outcomes, made, refused)


def tally(some: Iterable[MarkerCase]) -> Tally:
    """Judge the cases and count."""
    total = Tally()
    for case in some:
        judged = judge(case)
        total.cases += 1
        total.labels.update(judged.outcomes.values())
        total.whole += set(judged.outcomes.values()) == {"right"}
        total.refused += judged.refused
        total.analysable += _analysable(case)
        total.refused_wrongly += judged.refused and _analysable(case)
        for label, kind in judged.outcomes.items():
            if kind != "right":
                total.faults[kind, case.origin, f"{label}: {case.truth[label]}, read {judged.made[label]}"] += 1
    return total


def _analysable(case: MarkerCase) -> bool:
    """True where the true landmarks hold what the model needs: pelvis, and on each leg knee, ankle and a toe."""
    marked = {truth.partition("|")[0] for truth in case.truth.values() if "?" not in truth.split("|")}

    def has(*names: str) -> bool:
        return not marked.isdisjoint(names)

    legs = (
        has(f"asis_{s}")
        and has(f"knee_lateral_{s}", f"knee_device_axis_{s}")
        and has(f"ankle_lateral_{s}")
        and has(f"toe_{s}", f"met1_{s}", f"met5_{s}")
        for s in "rl"
    )
    return (has("sacrum") or (has("psis_r") and has("psis_l"))) and all(legs)


def independent(half: str) -> list[MarkerCase]:
    """The laboratories' lists of one half as they are."""
    return as_they_are(entry for entry in lists() if entry.kind == "laboratory" and entry.half == half)


def as_they_are(found: Iterable[MarkerList]) -> list[MarkerCase]:
    """A case for each list, nothing changed."""
    return [
        MarkerCase(i, entry.name, tuple(entry.prefix + label for label in entry.truth),
                   {entry.prefix + label: truth for label, truth in entry.truth.items()})
        for i, entry in enumerate(found)
    ]  # fmt: skip


def _tell(name: str, total: Tally, shown: int = _SHOWN) -> None:
    print(
        f"{name}: {total.cases} files, {total.labels.total()} labels: right {100 * total.share('right'):.2f} %, wrong "
        f"{total.labels['wrong']}, missed {total.labels['missed']}; {total.whole} files without a fault; refused "
        f"{total.refused}, of them analysable {total.refused_wrongly} of {total.analysable}"
    )
    for (kind, origin, text), count in total.faults.most_common(shown):
        print(f"    {kind} {count} x  {origin}: {text}")


def main() -> None:
    """Print the numbers and keep them."""
    parser = parser_of(__doc__, count=2000, seed=1)
    parser.add_argument(
        "--tell", action="store_true", help="name every label of the lists gathered last that is not read right"
    )
    args = parser.parse_args()
    record = Record("recognition", vars(args))
    everything = list(cases(args.count, args.seed))
    total = tally(everything)
    _tell("corpus", total)
    changes = sorted({change for case in everything for change in case.changes})
    for change in changes:
        _tell(f"  {change}", tally(case for case in everything if change in case.changes))
    halves = {half: tally(independent(half)) for half in ("first", "held", "fresh")}
    for half, part in halves.items():
        _tell(f"laboratories' lists, {half} half", part)
    later = {group: tally(as_they_are(gathered(group))) for group in ("mended", "held", "later")}
    for group, part in later.items():
        shown = len(part.faults) if args.tell else 0
        _tell(f"lists gathered later still, group {group!r}", part, shown)
    record.add("labels right", 100 * total.share("right"), "%")
    record.add("labels confident and wrong", total.labels["wrong"], "")
    record.add("labels right in lists held back", 100 * halves["held"].share("right"), "%")
    record.add("wrong in lists held back", halves["held"].labels["wrong"], "")
    record.add("labels right in lists gathered later", 100 * halves["fresh"].share("right"), "%")
    record.add("wrong in lists gathered later", halves["fresh"].labels["wrong"], "")
    for group, part in later.items():
        record.add(f"labels right, group {group!r}", 100 * part.share("right"), "%")
        record.add(f"wrong, group {group!r}", part.labels["wrong"], "")
        record.add(f"analysable files refused, group {group!r}", part.refused_wrongly, "")
    record.close()


if __name__ == "__main__":
    main()
