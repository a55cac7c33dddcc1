"""The tables of a result with what every column means, or its curves in another program's convention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from biodyn.output.tables import TABLES
from biodyn.output.tables.columns import Column, described
from biodyn.trial.export.conventions import channels, convention_named

if TYPE_CHECKING:
    from biodyn.output.report.view import TrialView

# Tables whose numbers have no convention of signs and axes.
_WITHOUT_SIGNS = ("marker_errors", "events", "contacts", "spatiotemporal")


@dataclass(frozen=True, eq=False)
class Sheet:
    """One table: its name, a sentence on it, its columns and its rows."""

    name: str
    about: str
    columns: Sequence[Column]
    rows: pd.DataFrame


def sheets(view: TrialView, convention: str = "") -> list[Sheet]:
    """Return every table of a result; with a convention its curves in that one, and the tables that know no signs.

    Raises ResultError for an unknown convention.
    """
    if not convention:
        return [_as_it_is(name, table) for name, table in view.tables.items()]
    told = convention_named(convention)
    found = channels(view, convention)
    columns, curves = (
        [described("joint_angles", "time_s")],
        {"time_s": view.tables["joint_angles"]["time_s"].to_numpy()},
    )
    for channel in found:
        for name, meaning, values in channel.columns():
            unit, _, positive = meaning.partition("; ")
            columns.append(Column(name, unit, positive))
            curves[name] = values
    about = f"The curves as {told['title']} names, signs and scales them ({told['citation']})."
    first = Sheet("curves", about, columns, pd.DataFrame(curves))
    return [first, *(_as_it_is(name, view.tables[name]) for name in _WITHOUT_SIGNS if name in view.tables)]


def _as_it_is(name: str, table: pd.DataFrame) -> Sheet:
    about = TABLES[name].description if name in TABLES else ""
    return Sheet(name, about, [described(name, str(column)) for column in table.columns], table)
