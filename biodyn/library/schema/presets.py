"""Presets: settings that make an analysis as another program does it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Strict, Text


@SCHEMAS.register("presets")
class Preset(Strict):
    """A preset: its settings are checked as any others, when they are used."""

    title: Text
    citation: Text
    settings: dict[str, dict[str, Any]] = Field(min_length=1)
