"""People drawn at random, to be simulated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from simulator import Person, TrialOptions

from common.sessions import RECORDED


def someone(seed: int) -> tuple[Person, TrialOptions]:
    """Return a person, a walk and a laboratory of the seed: height, mass, sex, speed and stride differ."""
    rng = np.random.default_rng([seed, 9])
    male = bool(rng.random() < 0.5)
    height_m = float(rng.normal(1.78 if male else 1.66, 0.06))
    mass_kg = float(23.5 * height_m**2 * np.exp(0.1 * rng.normal()))
    speed = float(rng.uniform(1.1, 1.5))
    # faster walkers take quicker strides, longer legs slower ones
    stride_s = float(np.clip(1.1 * np.sqrt(1.3 / speed * height_m / 1.75), 0.95, 1.25))
    options = replace(RECORDED, gaps=4, seed=seed, speed_m_s=speed, stride_s=stride_s)
    return Person("Unlike", height_m=height_m, mass_kg=mass_kg, sex="male" if male else "female"), options
