"""What a test assumes when its caller does not say otherwise: error rate, confidence, number of permutations."""

from __future__ import annotations

from typing import Final

ALPHA: Final = 0.05
CONFIDENCE: Final = 0.95
PERMUTATIONS: Final = 10_000
SEED: Final = 0
