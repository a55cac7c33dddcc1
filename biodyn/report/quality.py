"""Is the result to be trusted? Each check in plain words, with its number, its limit and where the limit comes from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDE_NAMES, SIDES, STANDARD_GRAVITY_M_S2
from biodyn.processing.data_checks import residual
from biodyn.processing.data_checks.evidence import centre_of_mass
from biodyn.processing.data_checks.residual import ResidualLimits
from biodyn.tables.time_series import rms

Status = Literal["good", "look", "bad", "unknown"]


@dataclass(frozen=True)
class Check:
    """One check: `good` (within limits), `look` (partly beyond), `bad` (beyond), `unknown` (could not be checked).

    Attributes:
        code: stable short name; title: for people; text: the finding in one or two plain sentences.
        value, limit, unit: the deciding number against its limit, where there is one.
        source: where the limit comes from; hint: what to do if it is not good.
    """

    code: str
    title: str
    status: Status
    text: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    source: str = ""
    hint: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the check as plain values; a hint only where there is something to do."""
        return asdict(self) | {"hint": self.hint if self.status in ("look", "bad") else ""}


def residual_limits(analysis: TrialAnalysis) -> ResidualLimits:
    """Limits of the residual of this trial, from the frames in which both feet's ground reaction is known."""
    limits = analysis.settings.limits
    return residual.residual_limits(
        analysis.dynamics,
        analysis.reaction,
        centre_of_mass(analysis.fit),
        analysis.plates,
        limits.residual_force_fraction,
        limits.residual_moment_fraction,
    )


def quality_checks(analysis: TrialAnalysis) -> tuple[Check, ...]:
    """Return all checks of a trial, those that matter most first."""
    limits = residual_limits(analysis)
    return (
        _marker_fit(analysis),
        _residual(analysis, limits, "force"),
        _residual(analysis, limits, "moment"),
        _contacts(analysis),
        _unmeasured(analysis),
        _gaps(analysis),
        _solved(analysis),
        _body_weight(analysis, limits),
    )


def _marker_fit(analysis: TrialAnalysis) -> Check:
    limits = analysis.settings.limits
    error = analysis.fit.marker_error
    overall = float(rms(error.reshape(-1)))
    source = "OpenSim checklist; Hicks et al. 2015"
    if not np.isfinite(overall):
        return Check("marker-fit", "Fit to the markers", "unknown", "No frame could be fitted.", source=source)
    worst = int(np.nanargmax(error))
    frame, marker = divmod(worst, error.shape[1])
    largest = float(error[frame, marker])
    within = (overall <= limits.marker_rms_m, largest <= limits.marker_max_m)
    status: Status = "good" if all(within) else ("look" if any(within) else "bad")
    text = (
        f"Measured and model markers lie {1000 * overall:.0f} mm apart (RMS; limit {1000 * limits.marker_rms_m:.0f}), "
        f"at most {1000 * largest:.0f} mm: marker {analysis.fit.labels[marker]} at {analysis.time_s[frame]:.2f} s "
        f"(limit {1000 * limits.marker_max_m:.0f} mm)."
    )
    hint = "Look at this marker: swapped label, moved after the static trial, or loose clothing."
    return Check("marker-fit", "Fit to the markers", status, text, overall, limits.marker_rms_m, "m", source, hint)


def _residual(analysis: TrialAnalysis, limits: ResidualLimits, kind: Literal["force", "moment"]) -> Check:
    force = kind == "force"
    vector = analysis.dynamics.residual_force if force else analysis.dynamics.residual_moment
    size = np.linalg.norm(vector, axis=1)
    unit = "N" if force else "Nm"
    limit = limits.force_n if force else limits.moment_nm
    reference = limits.peak_force_n if force else limits.peak_force_n * limits.com_height_m
    fraction = (
        analysis.settings.limits.residual_force_fraction if force else analysis.settings.limits.residual_moment_fraction
    )
    of = "of the peak ground force" if force else "of peak ground force times height of the centre of mass"
    checklist = analysis.settings.limits.residual_force_n if force else analysis.settings.limits.residual_moment_nm
    code, title = f"residual-{kind}", f"Residual {kind}"
    source = "Hicks et al. 2015, doi 10.1115/1.4029304"
    if not (np.isfinite(size).any() and np.isfinite(limit)):
        text = "The ground reaction of both feet was never known together: motion and forces cannot be compared."
        return Check(code, title, "unknown", text, source=source)
    mean, peak = float(rms(size)), float(np.nanmax(size))
    model = analysis.model
    unseen = residual.unseen_share(model)
    ridden = unseen if unseen > residual.MUCH_UNSEEN else 0.0
    near = mean <= residual.LOOK_FACTOR * limit or peak <= checklist
    status: Status = "good" if peak <= limit else ("look" if near or ridden else "bad")
    text = (
        f"To make motion and measured forces agree, {mean:.1f} {unit} RMS and {peak:.1f} {unit} at most must be added "
        f"at the pelvis: {100 * mean / reference:.1f} % and {100 * peak / reference:.1f} % {of} "
        f"(limit {100 * fraction:.0f} %, {limit:.1f} {unit}; OpenSim's checklist: peak {checklist:.0f} {unit})."
    )
    hint = "Usual causes: body mass, skin movement of trunk and thigh markers, untracked arms, plate position or zero."
    if ridden:
        hint = (
            f"{100 * ridden:.0f} % of the body has no markers and rides on the rest ({', '.join(model.carried)}): what it does "
            "of its own is in the residual. Torques of the legs do not depend on it."
        )
    return Check(code, title, status, text, mean, limit, unit, source, hint)


def _contacts(analysis: TrialAnalysis) -> Check:
    decisions = [contact.decision for contact in analysis.contacts]
    used = {side: sum(c.decision == "assigned" and c.side == side for c in analysis.contacts) for side in SIDES}
    not_used = [c for c in analysis.contacts if c.decision != "assigned"]
    if not any(used.values()):
        status: Status = "bad"
    else:
        status = "look" if not_used or not all(used.values()) else "good"
    text = "Contacts used: " + ", ".join(f"{used[side]} of the {SIDE_NAMES[side]} foot" for side in SIDES) + "."
    if not_used:
        text += " Not used: " + "; ".join(f"plate {c.plate} at {c.start_s:.2f} s, {c.reason}" for c in not_used) + "."
    hint = "Only a contact of one whole foot with the plates gives torques of that leg's stance."
    return Check("contacts", "Contacts with the plates", status, text, float(decisions.count("assigned")), hint=hint)


def _unmeasured(analysis: TrialAnalysis) -> Check:
    parts, shares = [], []
    for side in SIDES:
        if side not in analysis.reaction.measured:
            continue
        on_floor = analysis.reaction.on_floor[side]
        measured = analysis.reaction.measured[side]
        if on_floor.any():
            shares.append(float(np.mean(measured[on_floor])))
            parts.append(f"{100 * shares[-1]:.0f} % of the {SIDE_NAMES[side]} foot's time on the ground")
    whole = float(np.mean(analysis.dynamics.residual_valid))
    text = "Measured: " + (", ".join(parts) if parts else "no time on the ground was seen") + "."
    text += (
        f" All contacts were known in {100 * whole:.0f} % of the frames; elsewhere torques of the stance leg are empty."
    )
    # Overground walks always begin and end beside the plates: this informs, it does not judge.
    status: Status = "good" if any(share > 0.0 for share in shares) else "bad"
    return Check("measured", "How much was measured", status, text, whole)


def _gaps(analysis: TrialAnalysis) -> Check:
    left = [gap for gap in analysis.gaps if gap.method == "left"]
    filled = len(analysis.gaps) - len(left)
    rate_hz = analysis.recording.markers.rate_hz
    text = (
        f"Gaps in marker trajectories: {filled} filled, {len(left)} left." if analysis.gaps else "No marker had a gap."
    )
    if left:
        longest = max((gap.last - gap.first + 1) / rate_hz for gap in left)
        text += f" The longest that was left lasts {longest:.2f} s; the marker has no weight there."
    return Check("gaps", "Gaps", "look" if left else "good", text, float(len(left)), 0.0)


def _solved(analysis: TrialAnalysis) -> Check:
    share = float(np.mean(analysis.fit.solved))
    usable = float(np.mean(analysis.fit.reliable))
    text = (
        f"The skeleton was fitted in {100 * share:.0f} % of the frames; {100 * usable:.0f} % have accelerations that can be "
        "used for torques (not those at the ends of the trial and of gaps)."
    )
    model = analysis.model
    if model.carried:
        text += " Segments without markers, which ride on their parent: " + ", ".join(model.carried) + "."
    riding = {s.coordinate for b in model.bodies if b.definition.name in model.carried for s in b.definition.rotations}
    locked = [name for name in model.locked if name not in riding]
    if locked:
        text += " Coordinates that no marker sees, kept as in the static trial: " + ", ".join(locked) + "."
    status: Status = "good" if share == 1.0 else ("look" if share > 0.5 else "bad")
    hint = "Too few markers are visible in the other frames."
    return Check("solved", "Frames fitted", status, text, share, 1.0, "", "", hint)


def _body_weight(analysis: TrialAnalysis, limits: ResidualLimits) -> Check:
    """Mean vertical residual: a body that is too light or too heavy shows here first."""
    vertical = analysis.dynamics.residual_force[:, 1]
    weight = analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2
    limit = analysis.settings.limits.mass_mismatch_fraction
    if not np.isfinite(vertical).any():
        text = "Could not be compared: both feet's contacts were never known together."
        return Check("body-weight", "Body mass against the plates", "unknown", text)
    mismatch = float(np.nanmean(vertical)) / weight
    status: Status = "good" if abs(mismatch) <= limit else "look"
    text = (
        f"While both feet were measured, the plates carried {abs(100 * mismatch):.1f} % of body weight "
        f"{'less' if mismatch > 0 else 'more'} than {analysis.subject.mass_kg:.1f} kg in this motion ask for "
        f"(limit {100 * limit:.0f} %)."
    )
    hint = "Check body mass, and the zero and gain of the plates."
    return Check("body-weight", "Body mass against the plates", status, text, abs(mismatch), limit, "", "", hint)
