"""Which norms fit a person and a walk: by age and by walking speed. What is chosen, or why nothing is, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from biodyn.conventions import STANDARD_GRAVITY_M_S2
from biodyn.library.load import load_table
from biodyn.variables.norms import AUTO, NONE, SPEED_WORDS, Norms, NormSet, load_norm_set, score_norms, tried_norms

_ADULT_YEARS = 18.0


@dataclass(frozen=True)
class Walker:
    """What the choice of norms depends on.

    Attributes:
        age_years: None where nobody tells it. height_m; leg_length_m: ASIS to ankle, None = a share of the height.
        speed_m_s: mean of the walk, NaN without a gait cycle. activity: what the person does.
    """

    age_years: float | None
    height_m: float
    leg_length_m: float | None
    speed_m_s: float
    activity: str = "walking"

    @property
    def leg_m(self) -> float:
        """Leg length; where it was not measured, 0.530 of the height (Winter 2009, after Drillis & Contini 1966)."""
        share = load_table("variables/variables")["norms"]["leg_share_of_height"]
        return self.leg_length_m if self.leg_length_m else share * self.height_m

    def speed(self, measure: str) -> float:
        """The speed as norms measure it; dimensionless: v / sqrt(g l) (Hof 1996, Gait Posture 4:222-223)."""
        if measure == "dimensionless":
            return self.speed_m_s / math.sqrt(STANDARD_GRAVITY_M_S2 * self.leg_m)
        return self.speed_m_s / self.height_m if measure == "heights_per_s" else self.speed_m_s

    @property
    def stage(self) -> Literal["adult", "child", ""]:
        """Adult or child by the age, else by the height where that tells it, else ""."""
        if self.age_years is not None:
            return "adult" if self.age_years >= _ADULT_YEARS else "child"
        limits = load_table("variables/variables")["norms"]
        if self.height_m >= limits["adult_from_m"]:
            return "adult"
        return "child" if self.height_m < limits["child_below_m"] else ""

    @property
    def age_words(self) -> str:
        """The age, or what it was taken for."""
        if self.age_years is not None:
            return f"{self.age_years:.0f} years old"
        if not math.isfinite(self.height_m):
            return "age and body height not known"
        taken = {
            "adult": "is taken for an adult's",
            "child": "is taken for a child's",
            "": "may be an adult's or a child's",
        }
        return f"age not known; a body of {self.height_m:.2f} m {taken[self.stage]}"

    def is_served(self, serves: tuple[float, float]) -> bool:
        """Whether the age, or what the height says of it, lies in a range of years (the last excluded)."""
        if self.age_years is not None:
            return serves[0] <= self.age_years < serves[1]
        return serves[1] > _ADULT_YEARS if self.stage == "adult" else self.stage == "child" and serves[0] < _ADULT_YEARS


@dataclass(frozen=True)
class ChosenSet:
    """Norms at the speed of a walk: the set, the speed in its measure, and the norms themselves."""

    source: NormSet
    speed: float
    norms: Norms


@dataclass(frozen=True)
class NormChoice:
    """Norms that are shown beside a walk, and sentences that say why these, or why none."""

    chosen: tuple[ChosenSet, ...]
    reasons: tuple[str, ...]

    @property
    def norms(self) -> tuple[Norms, ...]:
        """What is shown."""
        return tuple(one.norms for one in self.chosen)


def choose_norms(setting: str, walker: Walker) -> NormChoice:
    """Return the norms that stand beside a walk.

    Parameters: `setting`: "auto" = every published set that fits age and speed; "none"; or a name or TOML path: that set
    whatever the person's age, as long as it knows the speed.
    """
    if setting == NONE:
        return NormChoice((), ("No norms were asked for.",))
    if walker.activity != "walking":
        return NormChoice((), (f"No norms are shown: they are of people who walk, and this is {walker.activity}.",))
    if not math.isfinite(walker.speed_m_s):
        return NormChoice((), ("No norms are shown: without a gait cycle the walking speed is not known.",))
    if setting == AUTO and not walker.stage:
        return NormChoice((), (f"No norms are shown: {walker.age_words}. Say the age: [report] age_years.",))
    sets = [load_norm_set(name) for name in (tried_norms() if setting == AUTO else (setting,))]
    chosen: list[ChosenSet] = []
    reasons: list[str] = []
    for one in sets:
        why_not = _why_not(one, walker, setting == AUTO)
        if why_not:
            reasons.append(why_not)
            continue
        speed = walker.speed(one.measure)
        norms = one.at(speed, walker.age_years)
        chosen.append(ChosenSet(one, speed, norms))
        reasons.append(f"Shown: {norms.words}; this walk: {speed:.2f} {SPEED_WORDS[one.measure]}.")
    shown = [reason for reason in reasons if reason.startswith("Shown")]
    if not chosen:
        shown = ["No norms are shown.", *reasons]
    return NormChoice(tuple(chosen), (f"The person: {walker.age_words}.", *shown, *_beside(sets, walker, setting)))


def _why_not(norms: NormSet, walker: Walker, by_age: bool) -> str:
    """Why norms do not fit, "" where they do."""
    serves = norms.table.get("serves")
    if by_age and serves is not None and not walker.is_served((serves[0], serves[1])):
        return f"{_capital(norms.group)} are of another age."
    low, high = norms.speeds
    speed, unit = walker.speed(norms.measure), SPEED_WORDS[norms.measure]
    if not math.isfinite(speed):  # by the size of the body, which need not be known of an OpenSim model
        return f"{_capital(norms.group)} are chosen by the speed for the body's size, which is not known."
    if not low <= speed <= high:
        far = "slower" if speed < low else "faster"
        return (
            f"{_capital(norms.group)} are known from {low:.2f} to {high:.2f} {unit}; this walk is {far}: {speed:.2f}."
        )
    return ""


def _beside(sets: list[NormSet], walker: Walker, setting: str) -> Iterator[str]:
    """What must be said of norms that the user named."""
    for one in sets if setting != AUTO else ():
        serves = one.table.get("serves")
        if serves is not None and not walker.is_served((serves[0], serves[1])):
            yield "They were named in the settings and are of another age than the person."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class ScoreReference:
    """Whose gait the scores are taken against: norms, the people in words, and whether the person is of another age."""

    norms: Norms
    words: str
    of_another_age: bool = False


def score_reference(setting: str, walker: Walker | None) -> ScoreReference:
    """Return the norms that gait scores are taken against.

    A score is the distance to one fixed reference, so that conditions and sessions can be compared: children at their free
    speed, the only published norms with all nine variables on axes as ours, or those that the settings name, at the walker's
    speed. (Bovi 2011 has nine variables of adults; the zero of pelvic tilt, hip flexion and ankle is its own protocol's.)
    """
    automatic = setting in (AUTO, NONE)
    own = score_norms() if automatic else load_norm_set(setting)
    serves = own.table.get("serves")
    other = False
    if walker is not None and walker.stage and serves is not None:
        other = not walker.is_served((serves[0], serves[1]))
    if automatic:
        norms = own.at(own.usual_speed)
        beside = "; no published norms of adults have all nine variables on comparable axes"
        return ScoreReference(norms, norms.words + (beside if other else ""), other)
    speed = own.usual_speed if walker is None else walker.speed(own.measure)
    low, high = own.speeds
    norms = own.at(min(max(speed if math.isfinite(speed) else own.usual_speed, low), high))
    return ScoreReference(norms, norms.words, other)
