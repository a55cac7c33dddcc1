"""A result folder as an object: its record, tables, arrays, figures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biodyn.conventions import SIDE_NAMES
from biodyn.output.report.in_python import ShownResult
from biodyn.output.store.read import ResultFolder, read_view
from biodyn.output.tables.lazy import LazyTables, OwnNames

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from biodyn.output.report.view import TrialView


class StoredResult(ShownResult):
    """A trial's result as it lies in its folder, whatever version wrote it.

    Every table is an attribute of its name (`result.joint_torques`), read when first asked for. `table_names` lists
    those there are: an older folder may lack some.

    Attributes:
        folder: where it lies. record: the values of `run.json`.
    """

    def __init__(self, folder: str | Path) -> None:
        self._source = ResultFolder(folder)
        self._source.require_whole()
        self.folder = self._source.folder
        self.record: Mapping[str, Any] = self._source.record

    @property
    def table_names(self) -> tuple[str, ...]:
        """Names of the tables."""
        return self._source.table_names

    @cached_property
    def _kept(self) -> Mapping[str, pd.DataFrame]:
        return LazyTables(self.table_names, self._source.table)

    def _table(self, name: str) -> pd.DataFrame:
        """A table by name; ResultError names those there are."""
        return self._kept[name] if name in self._kept else self._source.table(name)

    def _own_names(self) -> OwnNames:
        return dict(self.record.get("model", {})).get("variables", {})

    def _table_attributes(self) -> Collection[str]:
        return self.table_names

    @cached_property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Arrays of result.npz: motion, torques, wrenches and the bodies, SI."""
        return self._source.arrays()

    @property
    def name(self) -> str:
        """Name of the walk's file."""
        return str(self.record["input"].get("file", ""))

    @property
    def version(self) -> str:
        """The version of biodyn that wrote it."""
        return str(dict(self.record.get("versions") or {}).get("biodyn", "unknown"))

    @property
    def verdict(self) -> str:
        """The verdict of the checks: pass, warn, fail or not_assessed; `record["verdict_checks"]` holds what decided it."""
        return str(self.record.get("verdict", ""))

    @property
    def checks(self) -> Sequence[Mapping[str, Any]]:
        """The checks with their numbers."""
        return list(self.record.get("checks") or ())

    @property
    def diagnostics(self) -> Sequence[Mapping[str, Any]]:
        """Everything noticed on the way."""
        return list(self.record.get("diagnostics") or ())

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that ran."""
        return dict(self.record["settings"])

    @cached_property
    def view(self) -> TrialView:
        """Record, tables, arrays and replay together: what figures and the report are made of."""
        return read_view(self.folder)

    def summary(self) -> list[str]:
        """Plain lines: whose walk it is, what was taken, and what the checks say."""
        subject, static = self.record["subject"], dict(self.record.get("static") or {})
        lines = [str(static["reason"])] if static.get("reason") else []
        mass, height = subject.get("mass_kg"), subject.get("height_m")
        if mass is not None and height is not None:
            lines.append(
                f"Subject: {mass:.1f} kg ({subject.get('mass_source', '')}), {height:.2f} m "
                f"({subject.get('height_source', '')})"
            )
        for contact in self.record.get("contacts") or ():
            side = SIDE_NAMES.get(contact.get("side"), "no")
            lines.append(
                f"Plate {contact['plate']}, {contact['start_s']:.2f}-{contact['end_s']:.2f} s: {side} foot, "
                f"{contact['decision']}: {contact['reason']}"
            )
        return lines + [f"{check['status']}: {check['title']}: {check['text']}" for check in self.checks]

    def __repr__(self) -> str:
        return (
            f"<biodyn result of {self.name or 'a walk'}: {self.verdict or 'no verdict'}, {len(self.table_names)} tables, "
            f"written by biodyn {self.version}, in '{self.folder}'>"
        )
